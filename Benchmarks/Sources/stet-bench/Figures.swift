import FoundationEssentials

/// One workload of one program, over all rounds.
struct Figure: Codable {
    let workload: String
    let program: String
    let median: Double
    let min: Double
    let max: Double
    let unit: String
    let rounds: Int
}

/// The unit of a measured value.
enum Unit: String {
    case objects = "objects/s"
    case commits = "commits/s"
    case reads = "reads/s"
    case queries = "queries/s"
    case rows = "rows/s"
    case milliseconds = "ms"
    case nanoseconds = "ns/object"
    case microseconds = "µs/member"
    case microsecondsAdded = "µs/commit"
    case pages = "pages/commit"
    case calls = "writes/commit"
    case bytes = "bytes"
    case mebibytes = "MiB"
    case mebibytesPerSecond = "MiB/s"
    case bytesPerObject = "bytes/object"
    case percent = "%"
    case timesMedian = "× median"
    case timesFresh = "× fresh"
    case timesSmallest = "× smallest"

    /// True when a smaller value is a faster program; nil for counts.
    var isTime: Bool? {
        switch self {
        case .milliseconds, .nanoseconds, .microseconds: true
        case .objects, .commits, .reads, .queries, .rows, .mebibytesPerSecond: false
        case .pages, .calls, .bytes, .mebibytes, .bytesPerObject, .percent, .timesMedian,
            .timesFresh, .timesSmallest, .microsecondsAdded:
            nil
        }
    }
}

/// The values of all rounds, in the order in which their workloads were first measured.
struct Measurements {
    private struct Series {
        let workload: String
        let program: Program
        let unit: Unit
        var values: [Double]
    }
    private var series: [Series] = []
    /// The failures of programs; none of their figures counts.
    private(set) var failures: [Program: String] = [:]

    mutating func add(_ value: Double, _ unit: Unit, _ workload: String, _ program: Program) {
        guard failures[program] == nil else { return }
        let index = series.firstIndex { $0.workload == workload && $0.program == program }
        if let index {
            series[index].values.append(value)
        } else {
            series.append(
                Series(workload: workload, program: program, unit: unit, values: [value]))
        }
    }

    mutating func drop(_ programs: [Program: String]) {
        failures.merge(programs) { first, _ in first }
        series.removeAll { programs[$0.program] != nil }
    }

    /// Measures `body` and adds how many nanoseconds one object took.
    mutating func time<Result>(
        _ workload: String, _ program: Program, objects: Int, _ body: () throws -> Result
    ) rethrows -> Result {
        let start = ContinuousClock.now
        let result = try body()
        let nanoseconds = start.duration(to: .now) / .nanoseconds(1)
        add(nanoseconds / Double(objects), .nanoseconds, workload, program)
        return result
    }

    /// All workloads, the programs of each in the order of their declaration.
    var figures: [Figure] {
        workloads.flatMap { workload in
            ofWorkload(workload).map { series in
                let sorted = series.values.sorted()
                return Figure(
                    workload: workload, program: series.program.rawValue,
                    median: Self.median(sorted), min: sorted[0], max: sorted[sorted.count - 1],
                    unit: series.unit.rawValue, rounds: sorted.count)
            }
        }
    }

    private var workloads: [String] {
        var seen: Set<String> = []
        return series.map(\.workload).filter { seen.insert($0).inserted }
    }

    private func ofWorkload(_ workload: String) -> [Series] {
        let found = series.filter { $0.workload == workload }
        return Program.allCases.flatMap { program in found.filter { $0.program == program } }
    }

    static func median(_ sorted: [Double]) -> Double {
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

func write(_ figures: [Figure], to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
    try encoder.encode(figures).write(to: URL(filePath: path))
}

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

/// What a measured value means.
enum Unit: String {
    case nanoseconds = "ns/object"
    case rate = "objects/s"
    case pages = "pages/commit"
    case calls = "writes/commit"
    case bytes = "bytes"

    /// True when a smaller value is a faster program; nil for counts.
    var isTime: Bool? {
        switch self {
        case .nanoseconds: true
        case .rate: false
        case .pages, .calls, .bytes: nil
        }
    }
}

/// The programs that are compared.
enum Program: String {
    case stet
    /// C that writes what Stet writes, and hashes nothing.
    case lmdbJournal = "lmdb-journal"
    /// C that copies texts into one buffer.
    case lmdb
    /// C that makes a struct of each record, with texts of its own.
    case lmdbStructs = "lmdb-structs"
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

    mutating func add(_ value: Double, _ unit: Unit, _ workload: String, _ program: Program) {
        let index = series.firstIndex { $0.workload == workload && $0.program == program }
        if let index {
            series[index].values.append(value)
        } else {
            series.append(
                Series(workload: workload, program: program, unit: unit, values: [value]))
        }
    }

    /// Measures `body` and adds what one object took, or how many went through in a second.
    mutating func time<Result>(
        _ workload: String, _ program: Program, _ unit: Unit, objects: Int,
        _ body: () throws -> Result
    ) rethrows -> Result {
        let start = ContinuousClock.now
        let result = try body()
        let seconds = start.duration(to: .now) / .seconds(1)
        let count = Double(objects)
        add(unit == .rate ? count / seconds : seconds * 1e9 / count, unit, workload, program)
        return result
    }

    /// All workloads, Stet before the others.
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
        return found.filter { $0.program == .stet } + found.filter { $0.program != .stet }
    }

    private static func median(_ sorted: [Double]) -> Double {
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

// MARK: - What the run prints and leaves behind

/// The figures as lines of text.
func table(of figures: [Figure]) -> String {
    let titles = ["workload", "unit", "program", "median", "min", "max", "Stet/bare", "speed"]
    var stet: Figure?
    let rows = figures.map { figure -> [String] in
        let isStet = figure.program == Program.stet.rawValue
        if isStet { stet = figure }
        let start = isStet ? [figure.workload, figure.unit] : ["", ""]
        let values = [figure.median, figure.min, figure.max].map(number)
        let comparison = isStet ? ["", ""] : comparison(of: stet, with: figure)
        return start + [figure.program] + values + comparison
    }
    let widths = titles.indices.map { column in
        ([titles] + rows).map { $0[column].count }.max() ?? 0
    }
    return ([titles] + rows).map { row in
        row.enumerated().map { column, text in
            let padding = String(repeating: " ", count: widths[column] - text.count)
            return column < 3 ? text + padding : padding + text
        }.joined(separator: "  ")
    }.joined(separator: "\n")
}

/// The ratio of the medians, and Stet's speed as a part of the other's.
private func comparison(of stet: Figure?, with bare: Figure) -> [String] {
    guard let stet, stet.workload == bare.workload, bare.median > 0, stet.median > 0 else {
        return ["", ""]
    }
    let ratio = stet.median / bare.median
    switch Unit(rawValue: bare.unit)?.isTime {
    case true: return [number(ratio), number(1 / ratio)]
    case false: return [number(ratio), number(ratio)]
    default: return [number(ratio), ""]
    }
}

private func number(_ value: Double) -> String {
    if value >= 100 || value == 0 { return "\(Int(value.rounded()))" }
    let hundredths = Int((value * 100).rounded())
    let fraction = hundredths % 100
    return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
}

func write(_ figures: [Figure], to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
    try encoder.encode(figures).write(to: URL(filePath: path))
}

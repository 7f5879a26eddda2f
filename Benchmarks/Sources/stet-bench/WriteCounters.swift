import FoundationEssentials

/// The data that this process has passed to the system for writing so far: /proc/self/io, see
/// proc(5).
///
/// LMDB writes its pages with write calls, and nothing else is written while a workload runs, so
/// the differences are the pages of the commits in between.
struct WriteCounters {
    let byteCount: Int
    let callCount: Int

    static func now() throws -> WriteCounters {
        let text = try String(contentsOf: URL(filePath: "/proc/self/io"), encoding: .utf8)
        func field(_ name: String) throws -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix("\(name): ") }
            guard let line, let value = Int(line.dropFirst(name.count + 2)) else {
                throw Failure("/proc/self/io has no \(name)")
            }
            return value
        }
        return WriteCounters(byteCount: try field("wchar"), callCount: try field("syscw"))
    }

    func pages(since start: WriteCounters) -> Double {
        Double(byteCount - start.byteCount) / 4_096
    }
}

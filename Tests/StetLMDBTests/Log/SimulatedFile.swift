import StetLMDB
import StetTestSupport

/// A file that loses writes in a power cut: of those after the last sync, chance keeps some.
final class SimulatedFile: LogFile, @unchecked Sendable {  // used by one test
    private static let sector = 512
    private(set) var bytes: [UInt8] = []
    private var disk: [UInt8] = []
    private var dirty: Set<Int> = []

    init() {}

    /// A file with these bytes on the disk.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        disk = bytes
    }

    func read(_ byteCount: Int, at offset: Int) throws(LMDBError) -> [UInt8] {
        Array(bytes.dropFirst(offset).prefix(byteCount))
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(LMDBError) {
        let end = offset + bytes.count
        if end > self.bytes.count {
            self.bytes += [UInt8](repeating: 0, count: end - self.bytes.count)
        }
        self.bytes.replaceSubrange(offset..<end, with: bytes)
        dirty.formUnion(offset / Self.sector...max(end - 1, offset) / Self.sector)
    }

    func sync() throws(LMDBError) {
        disk = bytes
        dirty = []
    }

    /// The file after a power cut: each sector that was written and not synced has its old bytes,
    /// its new ones, or neither.
    func afterPowerCut(_ random: inout SeededGenerator) -> SimulatedFile {
        var left = disk
        for sector in dirty.sorted() {
            let range = sector * Self.sector..<min((sector + 1) * Self.sector, bytes.count)
            if left.count < range.upperBound {
                left += [UInt8](repeating: 0, count: range.upperBound - left.count)
            }
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: break
            case 2, 3: left.replaceSubrange(range, with: bytes[range])
            default: for place in range { left[place] = UInt8.random(in: 0...255, using: &random) }
            }
        }
        return SimulatedFile(left)
    }
}

import FoundationEssentials
import Glibc
import Stet

/// Large data beside a plain file: bytes that arrive in parts are written durably, and read again;
/// and the memory that Stet takes for it.
struct LargeDataWorkloads {
    @Model fileprivate final class Recording {
        var file: LargeData?
        init(file: LargeData) { self.file = file }
    }

    private static let partByteCount = 64 << 10

    private let byteCount: Int
    private let directory: String

    init(_ options: Options, directory: String) {
        byteCount = options.largeByteCount
        self.directory = directory
    }

    func run(_ measurements: inout Measurements) async throws {
        try await runStet(&measurements)
        try runFile(&measurements)
    }

    /// The parts, each with other bytes.
    private struct Parts: AsyncSequence {
        let count: Int

        struct AsyncIterator: AsyncIteratorProtocol {
            let parts: Parts
            var number = 0

            mutating func next() async -> [UInt8]? {
                if number == parts.count { return nil }
                number += 1
                return LargeDataWorkloads.part(number)
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(parts: self) }
    }

    private func runStet(_ measurements: inout Measurements) async throws {
        let path = "\(directory)/large.stet"
        defer { for suffix in ["", "-lock"] { unlink(path + suffix) } }
        let store = try Store.open(at: path, for: Recording.self)
        defer { store.close() }
        let memory = MemoryPeak()
        let parts = Parts(count: byteCount / Self.partByteCount)
        var start = ContinuousClock.now
        let file = try await LargeData(parts, in: store)
        try await store.edit { context in context.insert(Recording(file: file)) }
        add(ContinuousClock.now - start, "large: write", .stet, &measurements)
        start = ContinuousClock.now
        var sum = 0
        for try await part in file.bytes(in: store) {
            sum += part.count + Int(part[0])
        }
        add(ContinuousClock.now - start, "large: read", .stet, &measurements)
        try expectEqual(file.byteCount, byteCount, "the size of large data")
        guard sum > byteCount else { throw Failure("large data was not read") }
        measurements.add(Double(memory.end()) / 1_048_576, .mebibytes, "large: memory", .stet)
    }

    private func runFile(_ measurements: inout Measurements) throws {
        let path = "\(directory)/large.file"
        defer { unlink(path) }
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw Failure("\(path) can't be made") }
        defer { close(descriptor) }
        var start = ContinuousClock.now
        for number in 1...byteCount / Self.partByteCount {
            let bytes = Self.part(number)
            guard write(descriptor, bytes, bytes.count) == bytes.count else {
                throw Failure("\(path) can't be written")
            }
        }
        guard fdatasync(descriptor) == 0 else { throw Failure("\(path) can't be synced") }
        add(ContinuousClock.now - start, "large: write", .file, &measurements)
        start = ContinuousClock.now
        var buffer = [UInt8](repeating: 0, count: Self.partByteCount)
        var done = 0
        while done < byteCount {
            let count = pread(descriptor, &buffer, buffer.count, done)
            guard count > 0 else { throw Failure("\(path) can't be read") }
            done += count
        }
        add(ContinuousClock.now - start, "large: read", .file, &measurements)
    }

    private func add(
        _ time: Duration, _ name: String, _ program: Program, _ measurements: inout Measurements
    ) {
        let size = Double(byteCount) / 1_048_576
        measurements.add(size / (time / .seconds(1)), .mebibytesPerSecond, name, program)
    }

    /// Returns bytes that no other part has.
    fileprivate static func part(_ number: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 7, count: partByteCount)
        withUnsafeBytes(of: number) { bytes.replaceSubrange(0..<8, with: $0) }
        return bytes
    }
}

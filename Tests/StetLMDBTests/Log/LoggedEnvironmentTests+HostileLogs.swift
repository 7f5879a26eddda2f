import Foundation
import StetLMDB
import StetTestSupport
import Testing

extension LoggedEnvironmentTests {
    /// Replaces the frames of a log by one with a correct hash.
    private func replaceFrames(_ directory: EnvironmentDirectory, by payload: [UInt8]) throws {
        let left = try log(of: directory)
        var log = CommitLog(files: left.files, continuing: left.slot, seed: left.number)
        let buffer = FrameBuffer()
        payload.withUnsafeBytes { buffer.append($0) }
        _ = try log.append(buffer)
        try log.file.sync()
    }

    @Test func aHostileLogIsRefusedOrAppliedAndLosesNothing() throws {
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        let left = try killed()
        let original = try logs(of: left)
        // The only frame of the log.
        let (files, slot, number) = try log(of: left)
        var payload: [UInt8] = []
        try CommitLog.replay(files, after: slot, seed: number) { payload = Array($0.payload) }
        #expect(payload.count > 20)
        var random = SeededGenerator(seed: 4, stream: 0)
        var codes: [Int32: Int] = [:]
        for round in 0..<300 {
            var bytes = payload
            if round % 3 == 0 {
                bytes = (0..<Int.random(in: 1...90, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
            } else {
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[place] = .random(in: 0...255, using: &random)
                }
            }
            let copy = try copied(left)
            try replaceFrames(copy, by: bytes)
            guard
                let error = lmdbError({ try Environment.open(at: copy.file(), .small()).close() })
            else { continue }
            codes[error.code, default: 0] += 1
            // The file is as it was: with its own log it opens.
            for (name, bytes) in original {
                try Data(bytes).write(to: URL(filePath: copy.file(name)))
            }
            #expect(try entries(copy) == [KeyValue([1], [1])], "round \(round)")
        }
        #expect(codes[LMDBError.damagedLog, default: 0] >= 100)
    }

    private func logs(of directory: EnvironmentDirectory) throws -> [(String, [UInt8])] {
        try ["test.mdb-log-0", "test.mdb-log-1"].map {
            ($0, [UInt8](try Data(contentsOf: URL(filePath: directory.file($0)))))
        }
    }

    private func copied(_ directory: EnvironmentDirectory) throws -> EnvironmentDirectory {
        let copy = try EnvironmentDirectory()
        for name in directory.names {
            try FileManager.default.copyItem(atPath: directory.file(name), toPath: copy.file(name))
        }
        return copy
    }

    @Test func contentsThatLookLikeAMarkAreNone() throws {
        let environment = try open()
        let table = try environment.makeTable()
        for number in 0..<20 as Range<UInt8> {
            let value = [UInt8](repeating: number, count: 3_000)
            try environment.write { try $0.set([number], value, in: table) }
        }
        let marked = try Data(contentsOf: URL(filePath: path))
        environment.close()
        var bytes = try Data(contentsOf: URL(filePath: path))
        for page in [8_192, 16_384, 32_768] {
            bytes.replaceSubrange(page + 2_048..<page + 2_080, with: marked[2_048..<2_080])
        }
        try bytes.write(to: URL(filePath: path))
        #expect(LogMark.read(path: path) == nil)
        // The mark of the second page alone is one.
        bytes.replaceSubrange(4_096 + 2_048..<4_096 + 2_080, with: marked[2_048..<2_080])
        try bytes.write(to: URL(filePath: path))
        #expect(LogMark.read(path: path)?.kind == .logged)
    }

    @Test func aFileThatIsTooShortIsRefusedBeforeItIsMapped() throws {
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        // So that the checkpoint has a page of the table.
        try environment.log.leave(erasing: false)
        try environment.write { try $0.set([2], [2], in: table) }
        let left = try killed()
        let bytes = try Data(contentsOf: URL(filePath: left.file())).prefix(8_192)
        try bytes.write(to: URL(filePath: left.file()))
        let error = try #require(lmdbError { try Environment.open(at: left.file(), .small()) })
        #expect(error.code == LMDBError.corrupted)
    }

    /// A slot and a frame with the greatest numbers.
    @Test func theNumbersOfALogMayBeTheGreatest() throws {
        let files = [SimulatedFile(), SimulatedFile()]
        let pages = [[UInt8]](repeating: [UInt8](repeating: 1, count: 152), count: 2)
        let slot = LogSlot(
            generation: .max, transaction: .max, sequence: .max, chain: .max,
            sectorByteCount: 512, metaPages: pages)
        let log = CommitLog(files: files, continuing: slot, seed: 1)
        try log.writeSlot(slot)
        #expect(try CommitLog.newestSlot(of: files, seed: 1) == slot)
        var count = 0
        try CommitLog.replay(files, after: slot, seed: 1) { _ in count += 1 }
        #expect(count == 0)
    }
}

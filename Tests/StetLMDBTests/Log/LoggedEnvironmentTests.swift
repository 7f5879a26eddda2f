import Foundation
import Glibc
import StetLMDB
import StetTestSupport
import Testing

/// Environments whose commits are durable by a log, and the files that a crash leaves of them.
struct LoggedEnvironmentTests {
    let directory: EnvironmentDirectory
    let path: String

    init() throws {
        directory = try EnvironmentDirectory()
        path = directory.file()
    }

    static func configuration(
        _ durability: Environment.Durability = .logged
    ) -> Environment.Configuration {
        var configuration = Environment.Configuration.small()
        configuration.durability = durability
        return configuration
    }

    func open(
        _ durability: Environment.Durability = .logged
    ) throws -> Environment {
        try Environment.open(at: path, Self.configuration(durability))
    }

    /// The files as a kill would leave them now, in a directory of their own.
    func killed() throws -> EnvironmentDirectory {
        let copy = try EnvironmentDirectory()
        for name in directory.names where !name.hasSuffix("-lock") {
            try FileManager.default.copyItem(atPath: directory.file(name), toPath: copy.file(name))
        }
        return copy
    }

    func entries(_ directory: EnvironmentDirectory) throws -> [KeyValue] {
        let environment = try Environment.open(at: directory.file(), Self.configuration())
        defer { environment.close() }
        return try environment.entries(in: try environment.makeTable())
    }

    /// The log of a file that was not closed: its files, its newest slot and its number.
    func log(
        of directory: EnvironmentDirectory
    ) throws -> (files: [LogFileOnDisk], slot: LogSlot, number: UInt64) {
        let number = try #require(LogMark.read(path: directory.file())).number
        let files = try (0..<2).map {
            try LogFileOnDisk(at: directory.file("test.mdb-log-\($0)"), createsFile: false)
        }
        return (files, try #require(try CommitLog.newestSlot(of: files, seed: number)), number)
    }

    // MARK: Commits

    @Test func aKillTakesNoCommit() throws {
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        var expected: [KeyValue] = []
        for number in 0..<20 as Range<UInt8> {
            let key = [number], value = [UInt8](repeating: number, count: Int(number) * 300)
            try environment.write { try $0.set(key, value, in: table) }
            expected.append(KeyValue(key, value))
        }
        let left = try killed()
        #expect(left.names == ["test.mdb", "test.mdb-log-0", "test.mdb-log-1"])
        #expect(try entries(left) == expected)
        #expect(left.names == ["test.mdb", "test.mdb-lock"])
    }

    @Test func aFileThatWasClosedNeedsNoLog() throws {
        let environment = try open()
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [2], in: table) }
        #expect(LogMark.read(path: path)?.kind == .logged)
        environment.close()
        #expect(LogMark.read(path: path) == nil)
        #expect(directory.names == ["test.mdb", "test.mdb-lock"])
        let again = try directory.open()
        defer { again.close() }
        #expect(try again.entries(in: try again.makeTable()) == [KeyValue([1], [2])])
    }

    @Test func everyKindOfChangeIsInTheLog() throws {
        let environment = try open()
        defer { environment.close() }
        let (kept, emptied) = (try environment.makeTable(), try environment.makeTable("other"))
        try environment.write { transaction in
            try transaction.set([1], [1], in: kept)
            try transaction.set([2], [2], in: kept)
            try transaction.fill([3], [3, 3], in: kept, appending: true)
            try transaction.fill([0], [0], in: kept)
            try transaction.set([9], [9], in: emptied)
            try transaction.set([200], [6], in: .unnamed)
            try transaction.set([200], [7], in: .unnamed)
        }
        try environment.write { transaction in
            _ = try transaction.unset([2], in: kept)
            #expect(try !transaction.unset([2], in: kept))
            try transaction.empty(emptied)
            try transaction.set([8], [8], in: emptied)
        }
        let left = try killed()
        let again = try Environment.open(at: left.file(), Self.configuration())
        defer { again.close() }
        let expected = [KeyValue([0], [0]), KeyValue([1], [1]), KeyValue([3], [3, 3])]
        #expect(try again.entries(in: try again.makeTable()) == expected)
        #expect(try again.entries(in: try again.makeTable("other")) == [KeyValue([8], [8])])
        #expect(try again.read { try $0.value(of: [200], in: .unnamed) } == [7])
    }

    @Test func aTransactionThatThrowsIsNotInTheLog() throws {
        struct Stop: Error {}
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        #expect(throws: Stop.self) {
            try environment.write { transaction in
                try transaction.set([2], [2], in: table)
                throw Stop()
            }
        }
        try environment.write { try $0.set([3], [3], in: table) }
        #expect(try entries(try killed()) == [KeyValue([1], [1]), KeyValue([3], [3])])
    }

    @Test func aLargeCommitIsDurableWithoutTheLog() throws {
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        let value = [UInt8](repeating: 5, count: 3 << 20)
        try environment.write { transaction in
            try transaction.set([2], value, in: table)
            try transaction.set([3], value, in: table)
            try transaction.set([4], [4], in: table)
        }
        #expect(LogMark.read(path: path) == nil)
        let left = try killed()
        try environment.write { try $0.set([5], [5], in: table) }
        #expect(LogMark.read(path: path)?.kind == .logged)
        #expect(try entries(left).map(\.key) == [[1], [2], [3], [4]])
        #expect(try entries(try killed()).map(\.key) == [[1], [2], [3], [4], [5]])
    }

    @Test func readsHoldNoPagesBackForTheLog() throws {
        let environment = try open()
        defer { environment.close() }
        _ = try environment.makeTable()
        #expect(try environment.readers() == [])
        #expect(environment.log.statistics?.commitCount == 1)
    }

    // MARK: Power cuts

    /// Pages that were not synced are there, or not, or damaged; so are both meta pages.
    @Test(arguments: 0..<60 as Range<UInt64>)
    func aPowerCutTakesNoCommit(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var configuration = Self.configuration()
        configuration.checkpointDistance.commitCount = 8
        let environment = try Environment.open(at: path, configuration)
        defer { environment.close() }
        let table = try environment.makeTable()
        var synced = try Data(contentsOf: URL(filePath: path))
        var checkpoints = 0
        var expected: [[UInt8]: [UInt8]] = [:]
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            try environment.write { transaction in
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let key = [UInt8.random(in: 0..<40, using: &random)]
                    if Int.random(in: 0..<3, using: &random) == 0 {
                        let isThere = try transaction.unset(key, in: table)
                        #expect((expected.removeValue(forKey: key) != nil) == isThere)
                    } else {
                        let count = [1, 100, 2_000, 9_000].randomElement(using: &random)!
                        let byte = UInt8.random(in: 0...255, using: &random)
                        let value = [UInt8](repeating: byte, count: count)
                        try transaction.fill(key, value, in: table)
                        expected[key] = value
                    }
                }
            }
            // The state that a durable checkpoint has, at least.
            let count = try #require(environment.log.statistics).checkpointCount
            if count > checkpoints {
                checkpoints = count
                synced = try Data(contentsOf: URL(filePath: path))
            }
        }
        let left = try killed()
        // A checkpoint may have come since the last look, whose pages were synced before its slot.
        if Int(try log(of: left).slot.generation) - 1 > checkpoints {
            synced = try Data(contentsOf: URL(filePath: left.file()))
        }
        try tear(left.file(), synced, &random)
        let found = try entries(left)
        let isEqual =
            Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.value) }) == expected
        #expect(isEqual)
    }

    /// Gives each page of a file its contents of before, or leaves the present ones; damages those
    /// that did not exist before.
    private func tear(
        _ path: String, _ before: Data, _ random: inout SeededGenerator
    ) throws {
        var now = try Data(contentsOf: URL(filePath: path))
        let mark = now[2_048..<4_096]
        for start in stride(from: 0, to: now.count, by: 4_096) {
            let page = start..<min(start + 4_096, now.count)
            let choice = Int.random(in: 0..<4, using: &random)
            if choice == 0, page.upperBound <= before.count {
                now.replaceSubrange(page, with: before[page])
            } else if choice == 1, page.lowerBound >= before.count {
                now.replaceSubrange(page, with: Data(repeating: 0xA5, count: page.count))
            } else if choice == 2, start < 2 * 4_096 {
                now.replaceSubrange(start + 20..<start + 60, with: Data(count: 40))
            }
        }
        // The mark is durable before the first commit.
        now.replaceSubrange(2_048..<4_096, with: mark)
        try now.write(to: URL(filePath: path))
    }

    @Test func aRecoveryThatIsInterruptedBeginsAgain() throws {
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        for number in 0..<9 as Range<UInt8> {
            try environment.write { try $0.set([number], [number], in: table) }
        }
        // The map is too small for what the recovery has to repeat.
        try environment.write { try $0.set([99], [UInt8](repeating: 1, count: 3 << 20), in: table) }
        let left = try killed()
        var small = Self.configuration()
        small.mapByteCount = 1 << 20
        let error = try #require(lmdbError { try Environment.open(at: left.file(), small) })
        #expect(error.code == LMDBError.mapFull)
        #expect(try entries(left).map(\.key) == (0..<9).map { [$0] } + [[99]])
    }

    // MARK: Without the log

    @Test func aFileWithoutItsLogIsRefused() throws {
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        let left = try killed()
        unlink(left.file("test.mdb-log-1"))
        for _ in 0..<2 {
            let error = try #require(
                lmdbError { try Environment.open(at: left.file(), Self.configuration()) })
            #expect(error.code == LMDBError.missingLog)
        }
        var configuration = Self.configuration(.synced)
        configuration.ignoresMissingLog = true
        let again = try Environment.open(at: left.file(), configuration)
        #expect(again.lacksLog)
        #expect(try again.entries(in: try #require(try again.tables(["t"])[0])).count == 1)
        try again.log.acceptMissing()
        again.close()
        #expect(try entries(left) == [KeyValue([1], [1])])
    }

    @Test func theLogOfAnotherFileIsRefused() throws {
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        let other = try Environment.open(at: directory.file("other"), Self.configuration())
        defer { other.close() }
        _ = try other.makeTable()
        let left = try killed()
        for place in 0...1 {
            unlink(left.file("test.mdb-log-\(place)"))
            try FileManager.default.copyItem(
                atPath: left.file("other-log-\(place)"),
                toPath: left.file("test.mdb-log-\(place)"))
        }
        let error = try #require(
            lmdbError { try Environment.open(at: left.file(), Self.configuration()) })
        #expect(error.code == LMDBError.missingLog)
    }

    @Test func aFileThatWasWrittenWithoutSyncsAndNotClosedIsRefused() throws {
        let environment = try open(.none)
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        let left = try killed()
        let error = try #require(
            lmdbError { try Environment.open(at: left.file(), Self.configuration()) })
        #expect(error.code == LMDBError.unsynced)
        environment.close()
        let again = try directory.open()
        defer { again.close() }
        #expect(try again.entries(in: try again.makeTable()) == [KeyValue([1], [1])])
    }

    // MARK: Other processes

    @Test func aSecondWriterIsRefusedWithTheOwnersName() throws {
        let environment = try open()
        defer { environment.close() }
        _ = try environment.makeTable()
        environment.close()
        let owner = try #require(ForeignLock(path, from: 10 << 48, count: 4_711))
        let other = try open()
        defer { other.close() }
        let error = try #require(
            lmdbError { try other.write { try $0.set([1], [1], in: .unnamed) } })
        #expect(error.code == LMDBError.owned)
        #expect(error.reason == "process 4710 writes it through its log")
        owner.release()
        try other.write { try $0.set([1], [1], in: .unnamed) }
    }
}

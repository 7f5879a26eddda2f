import Foundation
import Glibc
import StetLMDB
import StetTestSupport
import Testing

extension LoggedEnvironmentTests {
    /// Calls `body` when no slot is free for another read.
    private func whenReadersAreFull(
        of environment: Environment, _ body: () throws -> Void
    ) throws {
        var isFull = false
        func nest() throws {
            try environment.read { _ in
                do {
                    try nest()
                } catch let error as LMDBError
                    where !isFull && error.code == LMDBError.readersFull
                {
                    isFull = true
                    try body()
                }
            }
        }
        try nest()
        #expect(isFull)
    }

    @Test(arguments: [Environment.Durability.logged, .relaxed(within: .seconds(60)), .none])
    func closingInsideAReadLeavesAPlainFile(durability: Environment.Durability) throws {
        let environment = try open(durability)
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        #expect(LogMark.read(path: path) != nil)
        try environment.read { _ in
            environment.close()
            #expect(LogMark.read(path: path) == nil)
        }
        #expect(directory.names == ["test.mdb", "test.mdb-lock"])
        let again = try open(.synced)
        defer { again.close() }
        #expect(try again.entries(in: try again.makeTable()) == [KeyValue([1], [1])])
    }

    /// The read ends, and with it the last use of the file, as soon as the mark is gone.
    @Test(arguments: [Environment.Durability.logged, .none])
    func aReadThatEndsWhileTheFileIsClosedDoesNotCutThatShort(
        durability: Environment.Durability
    ) throws {
        for round in UInt8(0)..<30 {
            let environment = try open(durability)
            let table = try environment.makeTable()
            try environment.write { try $0.set([round], [round], in: table) }
            let phase = Monitor(0)
            let path = path
            Thread {
                try? environment.read { _ in
                    phase.withLock { $0 = 1 }
                    phase.notify()
                    while LogMark.read(path: path) != nil { sched_yield() }
                }
                phase.withLock { $0 = 2 }
                phase.notify()
            }.start()
            phase.wait { $0 == 0 ? nil : () }
            environment.close()
            phase.wait { $0 == 2 ? () : nil }
            #expect(LogMark.read(path: path) == nil)
            #expect(directory.names == ["test.mdb", "test.mdb-lock"])
        }
        let again = try open(.synced)
        defer { again.close() }
        #expect(try again.entries(in: try again.makeTable()).count == 30)
    }

    #if STET_FAULTS
        @Test func aFileWhoseLogCannotBeLeftWhenItIsClosedIsRecovered() throws {
            let environment = try open()
            let table = try environment.makeTable()
            try environment.write { try $0.set([1], [1], in: table) }
            environment.faults.failNext(.leaveLog, code: EIO)
            environment.close()
            #expect(!environment.faults.isArmed)
            #expect(LogMark.read(path: path)?.kind == .logged)
            let again = try open(.synced)
            defer { again.close() }
            #expect(LogMark.read(path: path) == nil)
            #expect(try again.entries(in: try again.makeTable()) == [KeyValue([1], [1])])
        }
    #endif

    @Test func aFullTableOfReadersEndsEachLogThatIsDueForACheckpointAndLosesNoCommit() throws {
        var configuration = Environment.Configuration.small(readerCount: 4)
        configuration.durability = .logged
        configuration.checkpointDistance.commitCount = 3
        let environment = try Environment.open(at: path, configuration)
        let table = try environment.makeTable()
        func write(_ number: UInt8) throws {
            try environment.write { try $0.set([number], [number], in: table) }
        }
        try write(0)
        #expect(environment.log.statistics != nil)
        try whenReadersAreFull(of: environment) {
            for number in 1...9 { try write(UInt8(number)) }
            // Each log that ends releases the slot with which the next one begins.
            #expect(environment.log.statistics?.checkpointCount == 0)
            #expect(try entries(try killed()).count == 10)
        }
        try write(10)
        #expect(environment.log.statistics != nil)
        #expect(try environment.entries(in: table).count == 11)
        environment.close()
    }
}

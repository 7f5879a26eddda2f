import Foundation
@testable import StetLMDB
import Testing

/// A read that stays open between uses.
struct KeptReadTests {
    private let directory: EnvironmentDirectory
    private let environment: Environment
    private let table: Table
    private let kept: KeptRead
    /// The time of the environment, in milliseconds.
    private let now: Monitor<Int>

    init() throws {
        let now = Monitor(0)
        directory = try EnvironmentDirectory()
        var configuration = Environment.Configuration.small()
        configuration.initialMapByteCount = 1 << 20
        configuration.uptime = { .milliseconds(now.withLock { $0 }) }
        environment = try Environment.open(at: directory.file(), configuration)
        table = try environment.write { transaction in
            let table = try transaction.table("numbers")
            try transaction.set([1], [10], in: table)
            return table
        }
        kept = KeptRead(environment)
        self.now = now
    }

    private func value() throws -> UInt8? {
        try kept.use { try $0.value(of: [1], in: table)?.first }
    }

    /// Commits a value on another thread, which does not end the reads of this one.
    private func commitElsewhere(_ value: UInt8) {
        onThreads(1) { [environment, table] _ in
            #expect(throws: Never.self) {
                try environment.write { try $0.set([1], [value], in: table) }
            }
        }
    }

    /// Expects that the closed file can be opened again at once, and that nobody reads it.
    private func expectFileIsFree() throws {
        let again = try directory.open()
        defer { again.close() }
        #expect(try again.readers() == [])
    }

    @Test func itStaysOpenUntilItIsEnded() throws {
        defer { environment.close() }
        #expect(try value() == 10)
        #expect(try environment.readers().count == 1)
        commitElsewhere(11)
        #expect(try value() == 10)
        kept.end()
        #expect(try environment.readers() == [])
        #expect(try value() == 11)
        kept.end()
        kept.end()
        #expect(try environment.readers() == [])
    }

    #if STET_FAULTS
        @Test func itsUsesAreOneRead() throws {
            defer { environment.close() }
            let before = environment.faults.readCount
            for _ in 0..<1_000 { #expect(try value() == 10) }
            #expect(environment.faults.readCount == before + 1)
            kept.end()
        }
    #endif

    @Test func itBeginsAnewWhenItHasBeenOpenForAWhile() throws {
        defer { environment.close() }
        #expect(try value() == 10)
        commitElsewhere(11)
        now.withLock { $0 = 100 }
        for _ in 0..<1_000 { #expect(try value() == 10) }
        now.withLock { $0 = 101 }
        #expect(try value() == 11)
        kept.end()
    }

    @Test func aUseKeepsItsViewWhenItIsEndedMeanwhile() throws {
        defer { environment.close() }
        try kept.use { outer in
            kept.end()
            commitElsewhere(11)
            #expect(try outer.value(of: [1], in: table) == [10])
            now.withLock { $0 = 1_000 }
            let later = try (0..<100).compactMap { _ in try value() }
            #expect(Set(later) == [11])
            #expect(try outer.value(of: [1], in: table) == [10])
        }
        #expect(try environment.readers() == [])
        #expect(try value() == 11)
        kept.end()
    }

    @Test func aUseInsideAnotherHasItsView() throws {
        defer { environment.close() }
        try kept.use { outer in
            commitElsewhere(11)
            now.withLock { $0 = 1_000 }
            let seen = try (0..<100).compactMap { _ in try value() }
            #expect(Set(seen) == [10])
            #expect(try outer.value(of: [1], in: table) == [10])
        }
        let seen = try (0..<100).compactMap { _ in try value() }
        #expect(seen.last == 11)
        kept.end()
    }

    @Test func writesLeaveItOpen() throws {
        defer { environment.close() }
        #expect(try value() == 10)
        try environment.write { try $0.set([1], [11], in: table) }
        #expect(try value() == 10)
        kept.end()
        #expect(try value() == 11)
        kept.end()
    }

    @Test func itIsKeptOnItsThreadOnly() throws {
        defer { environment.close() }
        #expect(try value() == 10)
        commitElsewhere(11)
        nonisolated(unsafe) let kept = kept
        onThreads(1) { [environment, table] _ in
            #expect(throws: Never.self) {
                let seen = try kept.use { try $0.value(of: [1], in: table) }
                #expect(seen == [11])
                #expect(try environment.readers().count == 1)
            }
        }
        #expect(try value() == 10)
        onThreads(1) { _ in kept.end() }
        #expect(try environment.readers() == [])
        #expect(try value() == 11)
        kept.end()
    }

    // MARK: The end of all reads

    @Test(arguments: [false, true]) func theMapGrowsWhileItIsIdle(elsewhere: Bool) throws {
        defer { environment.close() }
        #expect(try value() == 10)
        if elsewhere {
            onThreads(1) { [environment] _ in
                let hasGrown = try? environment.grow()
                #expect(hasGrown == true)
            }
        } else {
            #expect(try environment.grow())
        }
        #expect(try environment.readers() == [])
        #expect(try value() == 10)
        kept.end()
    }

    @Test(.timeLimit(.minutes(10))) func aUseDelaysTheGrowthUntilItsEnd() throws {
        defer { environment.close() }
        let growth = Monitor<Bool?>(nil)
        try kept.use { outer in
            Thread.detachNewThread { [environment] in
                let hasGrown = try? environment.grow()
                growth.withLock { $0 = hasGrown ?? false }
                growth.notify()
            }
            while growth.withLock({ $0 }) == nil, !environment.state.withLock({ $0.isReserved }) {
                sched_yield()
            }
            let inner = try value()
            #expect(inner == 10)
            #expect(try outer.value(of: [1], in: table) == [10])
            #expect(growth.withLock { $0 } == nil)
        }
        // Not without a limit, so that a read that stays open fails the test.
        growth.wait(atMost: .seconds(60)) { $0 == nil }
        #expect(growth.withLock { $0 } == true)
        kept.end()
        #expect(try value() == 10)
        kept.end()
    }

    @Test func aFileThatIsClosedElsewhereCanBeOpenedAtOnce() throws {
        #expect(try value() == 10)
        onThreads(1) { [environment] _ in environment.close() }
        #expect(throws: LMDBError.self) { try value() }
        try expectFileIsFree()
        kept.end()
    }

    @Test func aUseDelaysTheEndOfAFileThatIsClosedElsewhere() throws {
        try kept.use { outer in
            onThreads(1) { [environment] _ in environment.close() }
            let seen = try outer.value(of: [1], in: table)
            #expect(seen == [10])
            #expect(throws: LMDBError.self) { try directory.open() }
        }
        try expectFileIsFree()
        kept.end()
    }

    @Test func onlyItEndsAmongTheReadsOfItsThread() throws {
        try environment.read { outer in
            #expect(try value() == 10)
            try environment.read { inner in
                #expect(try environment.readers().count == 3)
                // Refused, because the thread has reads open, but not before those that are idle
                // have ended.
                #expect(throws: LMDBError.self) { try environment.grow() }
                let (seen, readers) = (
                    try inner.value(of: [1], in: table), try environment.readers()
                )
                #expect(seen == [10])
                #expect(readers.count == 2)
                #expect(try value() == 10)
            }
            let seen = try outer.value(of: [1], in: table)
            #expect(seen == [10])
            #expect(try environment.readers().count == 2)
            kept.end()
            #expect(try environment.readers().count == 1)
        }
        #expect(try environment.readers() == [])
        #expect(try environment.grow())
        environment.close()
        try expectFileIsFree()
    }

    @Test func manyThreadsEndEachOthersReads() throws {
        let (wrong, taken) = (Monitor(0), Monitor(0))
        onThreads(4) { [environment, table] thread in
            let kept = KeptRead(environment)
            defer { kept.end() }
            for round in 0... {
                if thread == 0 {
                    let count = environment.state.withLock { $0.openTransactions.endIdleReads() }
                    taken.withLock { $0 += count }
                } else {
                    let seen = try? kept.use { try $0.value(of: [1], in: table) }
                    if seen != [10] { wrong.withLock { $0 += 1 } }
                    if thread == 1, round.isMultiple(of: 7) { kept.end() }
                }
                if taken.withLock({ $0 }) >= 1_000 { return }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
        #expect(try environment.readers() == [])
        environment.close()
    }

    @Test func theMapGrowsWhileManyThreadsKeepReads() throws {
        let (wrong, growths) = (Monitor(0), Monitor(0))
        onThreads(4) { [environment, table] thread in
            let kept = KeptRead(environment)
            defer { kept.end() }
            while growths.withLock({ $0 }) < 8 {
                if thread < 2 {
                    // At the full size it returns false, without waiting.
                    if (try? environment.grow()) == nil { wrong.withLock { $0 += 1 } }
                    environment.state.withLock { _ = $0.openTransactions.endIdleReads() }
                    growths.withLock { $0 += 1 }
                } else {
                    let seen = try? kept.use { try $0.value(of: [1], in: table) }
                    if seen != [10] { wrong.withLock { $0 += 1 } }
                }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
        #expect(try environment.statistics().mapByteCount == 16 << 20)
        #expect(try environment.readers() == [])
        environment.close()
    }

    @Test func itsErrorsAreThoseOfReads() throws {
        struct Refused: Error {}
        #expect(try value() == 10)
        #expect(throws: Refused.self) { try kept.use { _ in throw Refused() } }
        #expect(try environment.readers() == [])
        #expect(try value() == 10)
        kept.end()
        environment.close()
        #expect(throws: LMDBError.self) { try value() }
    }
}

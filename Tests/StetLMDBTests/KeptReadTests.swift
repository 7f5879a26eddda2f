import StetLMDB
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
        let seen = try (0..<100).compactMap { _ in try value() }
        #expect(Set(seen) == [10, 11])
        #expect(seen == seen.sorted())
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

    @Test func itEndsBeforeItsThreadWrites() throws {
        defer { environment.close() }
        #expect(try value() == 10)
        try environment.write { try $0.set([1], [11], in: table) }
        #expect(try value() == 11)
        kept.end()
    }

    @Test func itEndsBeforeItsThreadLetsTheMapGrow() throws {
        defer { environment.close() }
        #expect(try value() == 10)
        #expect(try environment.grow())
        #expect(try value() == 10)
        kept.end()
    }

    @Test func onlyItEndsAmongTheReadsOfItsThread() throws {
        try environment.read { outer in
            #expect(try value() == 10)
            try environment.read { inner in
                environment.endKeptReads()
                environment.endKeptReads()
                commitElsewhere(11)
                let (seen, readers) = (
                    try inner.value(of: [1], in: table), try environment.readers()
                )
                #expect(seen == [10])
                #expect(readers.count == 2)
            }
            #expect(try outer.value(of: [1], in: table) == [10])
            #expect(try environment.readers().count == 1)
        }
        #expect(try environment.readers() == [])
        // Which needs the end of all reads.
        #expect(try environment.grow())
        environment.close()
        let again = try directory.open()
        defer { again.close() }
        #expect(try again.readers() == [])
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

import Foundation
import StetLMDB
import Testing

struct FullAndFailingTests {
    let directory: EnvironmentDirectory

    init() throws { directory = try EnvironmentDirectory() }

    private func failure(_ operation: LMDBError.Operation, _ code: Int32) -> LMDBError {
        LMDBError(operation, code: code, path: directory.file())
    }

    private func bytes(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
    }

    // MARK: Full

    @Test func aFullMapRefusesTheWriteAndGoesOnWorking() throws {
        let environment = try directory.open(mapByteCount: 1 << 20)
        let table = try environment.makeTable()
        let value = [UInt8](repeating: 7, count: 20_000)
        var stored: [KeyValue] = []
        var error: LMDBError?
        for number in 0..<200 where error == nil {
            error = lmdbError {
                try environment.write { try $0.set(bytes(number), value, in: table) }
            }
            if error == nil { stored.append(KeyValue(bytes(number), value)) }
        }
        #expect(error == failure(.put, LMDBError.mapFull))
        #expect((20...60).contains(stored.count))
        #expect(try environment.entries(in: table) == stored)
        // Small changes and deletes still fit, and free space.
        for entry in stored.prefix(10) {
            #expect(try environment.write { try $0.unset(entry.key, in: table) })
        }
        try environment.write { try $0.set(bytes(999), value, in: table) }
        let expected = stored.dropFirst(10) + [KeyValue(bytes(999), value)]
        #expect(try environment.entries(in: table) == Array(expected))
    }

    @Test func aFullMapWhoseErrorIsSwallowedCommitsNothing() throws {
        let environment = try directory.open(mapByteCount: 1 << 20)
        let table = try environment.makeTable()
        let error = lmdbError {
            try environment.write { transaction in
                try transaction.set([1], [1], in: table)
                let huge = [UInt8](repeating: 7, count: 2 << 20)
                #expect(
                    lmdbError { try transaction.set([2], huge, in: table) }
                        == failure(.put, LMDBError.mapFull))
            }
        }
        #expect(error?.operation == .commit)
        #expect(try environment.entries(in: table) == [])
        try environment.write { try $0.set([1], [1], in: table) }
        #expect(try environment.entries(in: table) == [KeyValue([1], [1])])
    }

    @Test func moreReadsThanSlotsAreRefusedAndTheOthersGoOn() throws {
        let environment = try directory.open(readerCount: 2)
        try environment.write { try $0.set([1], [2], in: .unnamed) }
        for _ in 0..<3 {
            try environment.read { one in
                try environment.read { two in
                    #expect(
                        lmdbError { try environment.read { _ in } }
                            == failure(.begin, LMDBError.readersFull))
                    let value = try one.value(of: [1], in: .unnamed)
                    #expect(try two.value(of: [1], in: .unnamed) == value)
                    #expect(value == [2])
                }
                let entries = try environment.entries(in: .unnamed)
                #expect(entries == [KeyValue([1], [2])])
            }
        }
    }

    @Test func moreReadsThanThePoolHoldsReleaseTheirSlots() throws {
        let environment = try directory.open(readerCount: 12)
        func nest(_ depth: Int) throws {
            if depth > 0 { try environment.read { _ in try nest(depth - 1) } }
        }
        for _ in 0..<5 { try nest(12) }
        #expect(lmdbError { try nest(13) } == failure(.begin, LMDBError.readersFull))
        try nest(12)
    }

    // MARK: Threads

    @Test func readersOnThreadsSeeOnlyWholeCommits() throws {
        let environment = try directory.open()
        let table = try environment.makeTable()
        let keys: [[UInt8]] = [[1], [9], [0xff]]
        try environment.write { transaction in
            for key in keys { try transaction.set(key, bytes(0), in: table) }
        }
        let problems = Monitor<[String]>([])
        onThreads(5) { thread in
            do {
                var last = 0
                for round in 1...300 {
                    if thread == 0 {
                        try environment.write { transaction in
                            for key in keys { try transaction.set(key, bytes(round), in: table) }
                        }
                        continue
                    }
                    let seen = try environment.read { transaction in
                        try keys.map { try transaction.value(of: $0, in: table) ?? [] }
                    }
                    let number = seen[0].reduce(0) { $0 << 8 | Int($1) }
                    if Set(seen).count != 1 || number < last {
                        problems.withLock { $0.append("\(seen) after \(last)") }
                    }
                    last = number
                }
            } catch {
                problems.withLock { $0.append("\(error)") }
            }
        }
        #expect(problems.withLock { $0 } == [])
        #expect(try environment.entries(in: table) == keys.map { KeyValue($0, bytes(300)) })
    }

    @Test func writersOnThreadsLoseNothing() throws {
        let environment = try directory.open()
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], bytes(0), in: table) }
        let problems = Monitor<[String]>([])
        onThreads(4) { _ in
            for _ in 0..<100 {
                do {
                    try environment.write { transaction in
                        let value = try transaction.reading.value(of: [1], in: table) ?? []
                        let number = value.reduce(0) { $0 << 8 | Int($1) }
                        try transaction.set([1], bytes(number + 1), in: table)
                    }
                } catch {
                    problems.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(problems.withLock { $0 } == [])
        #expect(try environment.entries(in: table) == [KeyValue([1], bytes(400))])
    }

    // MARK: Injected failures

    #if STET_FAULTS
        @Test(arguments: [LMDBError.Operation.begin, .put, .delete, .commit])
        func anInjectedFailureLeavesNothingBehind(operation: LMDBError.Operation) throws {
            let environment = try directory.open()
            let table = try environment.makeTable()
            try environment.write { try $0.set([1], [10], in: table) }
            func change() throws {
                try environment.write { transaction in
                    try transaction.set([1], [11], in: table)
                    try transaction.fill([2], [20], in: table)
                    _ = try transaction.unset([1], in: table)
                }
            }
            environment.faults.failNext(operation, code: LMDBError.inputOutput)
            #expect(environment.faults.isArmed)
            var expected = failure(operation, LMDBError.inputOutput)
            // The end of a commit may fail after the data has been written.
            expected.isOutcomeOpen = operation == .commit
            #expect(lmdbError(change) == expected)
            #expect(!environment.faults.isArmed)
            #expect(try environment.entries(in: table) == [KeyValue([1], [10])])
            try change()
            #expect(try environment.entries(in: table) == [KeyValue([2], [20])])
        }

        @Test func aFailureIsInjectedIntoTheCallThatWasCountedOnly() throws {
            let environment = try directory.open()
            let table = try environment.makeTable()
            environment.faults.failNext(.put, after: 3, code: LMDBError.noSpace)
            var done = 0
            let error = lmdbError {
                try environment.write { transaction in
                    for number in 1...5 {
                        try transaction.set(bytes(number), [], in: table)
                        done += 1
                    }
                }
            }
            #expect(error == failure(.put, LMDBError.noSpace))
            #expect(done == 2)
            #expect(try environment.entries(in: table) == [])
        }

        @Test func aDisarmedFailureNeverHappens() throws {
            let environment = try directory.open()
            environment.faults.failNext(.commit, code: LMDBError.inputOutput)
            environment.faults.disarm()
            #expect(!environment.faults.isArmed)
            try environment.write { try $0.set([1], [2], in: .unnamed) }
            #expect(try environment.entries(in: .unnamed) == [KeyValue([1], [2])])
        }

        @Test func aReadThatFailsOnceWorksTheNextTime() throws {
            let environment = try directory.open()
            try environment.write { try $0.set([1], [2], in: .unnamed) }
            environment.faults.failNext(.get, code: LMDBError.inputOutput)
            let read = { try environment.read { try $0.value(of: [1], in: .unnamed) } }
            #expect(lmdbError(read) == failure(.get, LMDBError.inputOutput))
            #expect(try read() == [2])
        }
    #endif
}

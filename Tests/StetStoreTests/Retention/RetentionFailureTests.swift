#if STET_FAULTS
    import Foundation
    import StetLMDB
    import StetStore
    import Testing

    /// A trim or a redaction that fails anywhere leaves a valid store, and the next one succeeds.
    struct RetentionFailureTests {
        private let library: Library
        private let key = ObjectKey(Number.tag, 1)

        init() throws {
            library = try Library()
            for number in 1...6 {
                try library.commit(
                    [library.edit(key, [.data(Data("secret \(number)".utf8))])],
                    EditNote(author: "a"))
            }
            try library.commit([library.edit(key, [.data(Data("public".utf8))])])
        }

        private var file: StoreFile { library.file }

        /// Lets each call of an operation fail in turn, until none is left to fail.
        private func failEach(
            _ operation: LMDBError.Operation, _ body: () throws -> Void, _ check: () throws -> Void
        ) throws -> Int {
            for count in 1...200 {
                file.environment.faults.failNext(operation, after: count, code: ENOSPC)
                let error = thrown(StoreError.self, body)
                if error == nil {
                    file.environment.faults.disarm()
                    return count
                }
                #expect(error?.code == .diskFull, "\(operation) \(count)")
                try check()
            }
            return 0
        }

        private func isWhole(_ dump: [String: [[UInt8]: [UInt8]]]) throws {
            #expect(try file.dump() == dump)
            #expect(try file.verify().problems == [])
        }

        @Test(arguments: [LMDBError.Operation.put, .delete, .commit, .begin, .get])
        func aTrimThatFailsAnywhereLeavesTheStoreAsItWas(operation: LMDBError.Operation) throws {
            let dump = try file.dump()
            let count = try failEach(operation) {
                try file.trim(through: 5)
            } _: {
                try isWhole(dump)
            }
            #expect(count > 1)
            #expect(try file.read { try $0.floor() } == 5)
            #expect(try file.verify().problems == [])
            #expect(try file.objects(asOf: 6) == library.expected(asOf: 6))
        }

        @Test(arguments: [LMDBError.Operation.put, .commit, .begin, .get])
        func aRedactionThatFailsAnywhereLeavesTheStoreAsItWas(
            operation: LMDBError.Operation
        ) throws {
            try file.trim(through: 2)
            let dump = try file.dump()
            let request = RedactionRequest(entity: Number.tag, object: key.id, slots: [0])
            let count = try failEach(operation) {
                try file.redact(request)
            } _: {
                try isWhole(dump)
            }
            #expect(count > 1)
            #expect(try file.redact(request).revisions == [])
            #expect(try file.verify().problems == [])
            #expect(try file.objects(asOf: .max) == library.expected(asOf: 7))
        }

        @Test func aTrimThatIsReportedAsFailedAfterItsCommitGoesOn() throws {
            file.environment.faults.failNext(.reportOfCommit, code: EIO)
            _ = thrown(StoreError.self) { try file.trim(through: 5) }
            #expect(try file.verify().problems == [])
            try file.trim(through: 5)
            #expect(try file.read { try $0.floor() } == 5)
            #expect(try file.verify().problems == [])
        }

        @Test func aFullMapGrowsForATrimAndARedaction() throws {
            let directory = try StoreDirectory()
            var configuration = StoreFile.Configuration.small()
            configuration.initialMapByteCount = 1 << 17
            let file = try StoreFile.open(at: directory.file(), schema: .library, configuration)
            var base = Revision.zero
            var before: [Value]?
            for number in 0..<60 {
                let after: [Value] = [.data(Data(repeating: UInt8(number), count: 2_000))]
                base = try file.commit([Edit(key, from: before, to: after, base: base)]).revision
                before = after
            }
            try file.redact(RedactionRequest(entity: Number.tag, object: key.id, slots: [0]))
            try file.trim(through: 50)
            #expect(try file.verify().problems == [])
        }
    }
#endif

#if STET_FAULTS
    import Foundation
    import StetLMDB
    import StetStore
    import Testing

    /// A migration that fails anywhere leaves the old store, and the next one succeeds.
    struct FailingMigrationTests {
        private let directory: StoreDirectory
        private let old: [Entity]
        private let new: [Entity]

        init() throws {
            directory = try StoreDirectory()
            old = [book, note(.title, .book, .next, indexes: [EntityIndex(0)])]
            new = [
                note(.next, .rating, .title, indexes: [EntityIndex(2, isUnique: true)]),
                Entity(name: "Author", properties: [.title]),
            ]
        }

        private func open(_ entities: [Entity]) throws -> StoreFile {
            try StoreFile.open(
                at: directory.file(), schema: try Schema(entities: entities),
                origins: SchemaOrigins(defaults: ["Note": ["rating": .int(0)]]), .small())
        }

        private func make() throws {
            let file = try open(old)
            let shelf = ObjectKey(1, 1)
            _ = try file.commit([Edit(shelf, from: nil, to: [.string("shelf")])])
            _ = try file.commit(
                (2...9).map { number in
                    Edit(
                        ObjectKey(2, number), from: nil,
                        to: [
                            .string("\(number)"), .reference(shelf.id),
                            .reference(.fixed(number / 2 + 1)),
                        ])
                })
            file.close()
        }

        @Test(arguments: [LMDBError.Operation.put, .delete, .commit, .begin])
        func aFailureAnywhereLeavesTheOldStore(operation: LMDBError.Operation) throws {
            try make()
            var file = try open(old)
            let dump = try file.dump()
            file.close()
            var environment: Environment?
            var count = 0
            repeat {
                count += 1
                environment = try Environment.open(at: directory.file(), .init())
                environment?.faults.failNext(operation, after: count, code: ENOSPC)
                let error = thrown(StoreError.self) { try open(new) }
                // When no call is left to fail, the migration has succeeded.
                if error == nil { break }
                #expect(error?.code == .diskFull, "\(operation) \(count)")
                environment?.close()
                file = try open(old)
                #expect(try file.dump() == dump, "\(operation) \(count)")
                file.close()
            } while count < 200
            environment?.faults.disarm()
            #expect(count > (operation == .commit || operation == .begin ? 1 : 8))
            #expect(count < 200)
            environment?.close()
            file = try open(new)
            #expect(file.schema.revision == 2)
            #expect(try file.verify().problems == [])
            #expect(try file.objects(asOf: 3).count == 8)
        }

        @Test func aFullMapGrowsAndTheMigrationGoesOn() throws {
            var configuration = StoreFile.Configuration.small()
            configuration.initialMapByteCount = 1 << 18
            let before = try Schema(entities: [note(.title)])
            let after = try Schema(entities: [note(.title, indexes: [EntityIndex(0)])])
            var file = try StoreFile.open(at: directory.file(), schema: before, configuration)
            let text = String(repeating: "long ", count: 80)
            for first in stride(from: 0, to: 4_000, by: 500) {
                _ = try file.commit(
                    (first..<first + 500).map {
                        Edit(ObjectKey(1, $0 + 1), from: nil, to: [.string("\($0) \(text)")])
                    })
            }
            let bytes = try file.environment.statistics().mapByteCount
            file.close()
            configuration.initialMapByteCount = bytes
            file = try StoreFile.open(at: directory.file(), schema: after, configuration)
            #expect(try file.environment.statistics().mapByteCount >= bytes)
            #expect(try file.verify().indexEntryCount == 4_000)
            #expect(try file.verify().problems == [])
        }
    }
#endif

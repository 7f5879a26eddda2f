#if STET_FAULTS
    import StetLMDB
    import StetStore
    import StetTestSupport
    import Testing

    /// Records that are looked up one ahead, where a look-up fails.
    struct RecordsAheadTests {
        private let library: Library
        private var faults: FaultInjector { library.file.environment.faults }

        init() throws {
            library = try Library(schema: .people)
            try library.commit([
                library.edit(person(1), person("Ada", age: 3, score: 1)),
                library.edit(person(2), person("Bob", age: 4, score: 2)),
            ])
        }

        @Test func aLookUpAheadThatFailsIsRepeatedIfItsRecordIsNeeded() throws {
            try library.file.read { reader in
                let head = try reader.head().revision
                var ahead = RecordsAhead(of: person(1).entity)
                faults.failNext(.get, code: LMDBError.corrupted)
                let first = try ahead.record(person(1).id, before: person(2).id, in: reader)
                #expect(!faults.isArmed)
                let second = try ahead.record(person(2).id, before: nil, in: reader)
                for (found, name) in [(first, "Ada"), (second, "Bob")] {
                    let value = try reader.withRecord(found, ofEntity: person(1).entity, asOf: head)
                    { record in
                        try RecordBody(
                            record.body, of: library.file.schema.entities[person(1).entity]
                        ).value(0)
                    }
                    #expect(value == .string(name))
                }
            }
        }

        @Test func onlyTheRecordThatIsNeededFails() throws {
            try library.file.read { reader in
                var ahead = RecordsAhead(of: person(1).entity)
                _ = try ahead.record(person(1).id, before: nil, in: reader)
                let before = faults.callCounts[.get, default: 0]
                // The look-up ahead is the first of the next call.
                faults.failNext(.get, code: LMDBError.corrupted)
                _ = try ahead.record(person(1).id, before: person(2).id, in: reader)
                #expect(faults.callCounts[.get] == before + 2)
                faults.failNext(.get, code: LMDBError.corrupted)
                let error = #expect(throws: LMDBError.self) {
                    try ahead.record(person(2).id, before: nil, in: reader)
                }
                #expect(error?.code == LMDBError.corrupted)
            }
        }
    }
#endif

import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

struct IndexTests {
    private func library() throws -> Library { try Library(schema: .people) }

    private func notUnique(
        _ library: Library, _ index: EntityIndex, _ object: Int, _ other: Int
    ) throws -> CommitRefusal.Reason {
        .notUnique(
            UniquenessConflict(
                index: try library.file.index(index).number, object: .fixed(object),
                other: .fixed(other)))
    }

    // MARK: Uniqueness

    @Test func aValueThatAnotherObjectHasIsRefusedAndNamesIt() throws {
        let library = try library()
        try library.commit([library.edit(person(1), person("Ada"))])
        #expect(
            try library.refusal([library.edit(person(2), person("Ada"))])
                == [notUnique(library, .name, 2, 1)])
        #expect(try library.refusal([library.edit(person(2), person("ada"))]) == [])
        #expect(
            try library.refusal([library.edit(person(2), person("Ada"))])
                == [notUnique(library, .name, 2, 1)])
        #expect(try library.file.verify().problems == [])
    }

    @Test func twoObjectsOfOneChangeSetCannotHaveOneValue() throws {
        let library = try library()
        #expect(
            try library.refusal([
                library.edit(person(1), person("Ada")), library.edit(person(2), person("Ada")),
            ]) == [notUnique(library, .name, 1, 2), notUnique(library, .name, 2, 1)])
    }

    @Test func valuesCanBeSwappedPassedOnAndFreedInOneCommit() throws {
        let library = try library()
        try library.commit([
            library.edit(person(1), person("a")), library.edit(person(2), person("b")),
            library.edit(person(3), person("c")),
        ])
        try library.commit([
            library.edit(person(1), person("b")), library.edit(person(2), person("a")),
        ])
        try library.commit([
            library.edit(person(1), person("c")), library.edit(person(2), person("b")),
            library.edit(person(3), nil), library.edit(person(4), person("a")),
        ])
        #expect(try library.file.objects(.name) == [4, 2, 1].map { .fixed($0) })
        #expect(try library.file.verify().problems == [])
        try library.commit([library.edit(person(3), person("back"))])
        #expect(try library.file.objects(.name, [.string("back")]) == [.fixed(3)])
    }

    @Test func nilIsNotTheSameAsNil() throws {
        let library = try library()
        try library.commit([
            library.edit(person(1), person("a", city: "Kiel")),
            library.edit(person(2), person("b", city: "Kiel")),
            library.edit(person(3), person("c", age: 3)),
            library.edit(person(4), person("d", age: 3)),
            library.edit(person(5), person("e", city: "Kiel", age: 3)),
        ])
        let refused = [
            library.edit(person(6), person("f", city: "KIEL", age: 3)),
            library.edit(person(7), person("g", city: "Kiel", age: 4)),
        ]
        #expect(try library.refusal(refused) == [notUnique(library, .cityAndAge, 6, 5)])
    }

    @Test func textIsComparedAsStringComparesItAndAsTheIndexSays() throws {
        let library = try library()
        try library.commit([
            library.edit(person(1), person("caf\u{e9}", city: "STRASSE", age: 1, notes: "x"))
        ])
        #expect(
            try library.refusal([
                library.edit(person(2), person("cafe\u{301}", city: "stra\u{df}e", age: 1))
            ]) == [notUnique(library, .name, 2, 1), notUnique(library, .cityAndAge, 2, 1)])
        try library.commit([
            library.edit(person(2), person("cafe", city: "\u{c5}re")),
            library.edit(person(3), person("caff", city: "a\u{30a}RE")),
            library.edit(person(4), person("cafg", city: "are")),
            // A nukta and a voicing mark make different letters.
            library.edit(person(5), person("cafh", city: "\u{95c}")),
            library.edit(person(6), person("cafi", city: "\u{921}")),
            library.edit(person(7), person("cafj", city: "が")),
            library.edit(person(8), person("cafk", city: "か")),
        ])
        #expect(
            try library.file.objects(.folded, [.string("Are")]) == [2, 3, 4].map { .fixed($0) })
        for (text, number) in [("\u{95c}", 5), ("\u{921}", 6), ("が", 7), ("か", 8)] {
            #expect(try library.file.objects(.folded, [.string(text)]) == [.fixed(number)])
        }
        // An equal value with different bytes keeps its entry.
        try library.commit([
            library.edit(person(1), person("cafe\u{301}", city: "Strasse", age: 1, notes: "x"))
        ])
        #expect(try library.file.verify().problems == [])
    }

    @Test func membersOfABatchSeeTheEarlierOnes() throws {
        let library = try library()
        let sets = try (1...3).map { number in
            try library.file.encode(
                [library.edit(person(number), person("same"))],
                EditNote(token: UInt64(number)))
        }
        let held = HeldWriter(library.file.environment)
        _ = try library.file.submit(
            try library.file.encode([library.edit(person(9), person("other"))]))
        library.file.untilWaiting(0)
        let submissions = try sets.map { try library.file.submit($0) }
        library.file.untilWaiting(3)
        held.release()
        _ = try submissions[0].wait()
        for (number, submission) in zip([2, 3], submissions.dropFirst()) {
            let refusal = thrown(CommitRefusal.self) { try submission.wait() }
            #expect(try refusal?.reasons == [notUnique(library, .name, number, 1)])
        }
    }

    // MARK: Long values

    @Test func valuesThatDoNotFitAnEntryAreToldApartByTheirRecords() throws {
        let library = try library()
        let limit = 511 - 2 - 16 - 3
        let long = String(repeating: "x", count: 600)
        let texts =
            (limit - 3...limit + 3).map { String(repeating: "x", count: $0) }
            + [long, long + "a", long + "b", long + "\u{e9}", String(repeating: "\0", count: 300)]
        try library.commit(
            texts.enumerated().map { library.edit(person($0 + 1), person("\($0)", notes: $1)) })
        for (index, text) in texts.enumerated() {
            #expect(try library.file.objects(.notes, [.string(text)]) == [.fixed(index + 1)])
            let same = index == 10 ? long + "e\u{301}" : text
            #expect(
                try library.refusal([library.edit(person(99), person("new", notes: same))])
                    == [notUnique(library, .notes, 99, index + 1)])
        }
        let sorted = texts.indices.sorted { texts[$0] < texts[$1] }.map { ObjectID.fixed($0 + 1) }
        #expect(try library.file.objects(.notes) == sorted)
        #expect(try library.file.objects(.notes, descending: true) == sorted.reversed())
        #expect(
            try library.file.objects(
                .notes, from: .excluding(.string(long)), to: .including(.string(long + "b")))
                == [9, 10].map { .fixed($0) })
        #expect(
            try library.file.objects(
                .notes, from: .including(.string(long)), to: .excluding(.string(long + "b")))
                == [8, 9].map { .fixed($0) })
        #expect(try library.file.verify().problems == [])
    }

    @Test func longValuesCanBeSwappedAndChangedBehindTheEndOfTheirEntry() throws {
        let library = try library()
        let long = String(repeating: "x", count: 600)
        func edits(_ texts: String...) -> [Edit] {
            texts.enumerated().map {
                library.edit(person($0 + 1), person("\($0)", notes: long + $1))
            }
        }
        try library.commit(edits("a", "b", "c"))
        try library.commit(edits("b", "a", "d"))
        #expect(
            try library.refusal(edits("b", "e", "b")) == [notUnique(library, .notes, 3, 1)])
        #expect(
            try library.refusal([library.edit(person(1), person("0", notes: long + "d"))])
                == [notUnique(library, .notes, 1, 3)])
        #expect(
            try library.refusal([
                library.edit(person(7), person("7", notes: long + "f")),
                library.edit(person(8), person("8", notes: long + "f")),
            ]) == [notUnique(library, .notes, 7, 8), notUnique(library, .notes, 8, 7)])
        try library.commit([
            library.edit(person(3), nil), library.edit(person(7), person("7", notes: long + "d")),
        ])
        #expect(try library.file.objects(.notes) == [2, 1, 7].map { .fixed($0) })
        #expect(try library.file.verify().problems == [])
    }

    // MARK: Reading

    @Test func rangesAreReadInBothDirectionsWithALimit() throws {
        let library = try library()
        let ages: [Int?] = [nil, -5, 0, 3, 3, 3, 8, .max, nil]
        try library.commit(
            ages.enumerated().map { library.edit(person($0 + 1), person("\($0)", age: $1)) })
        func numbers(
            _ lower: IndexRange.Bound? = nil, _ upper: IndexRange.Bound? = nil,
            descending: Bool = false, limit: Int = .max
        ) throws -> [UInt64] {
            try library.file.objects(
                .age, from: lower, to: upper, descending: descending, limit: limit
            ).map { $0.low & 0xff }
        }
        #expect(try numbers() == [1, 9, 2, 3, 4, 5, 6, 7, 8])
        #expect(try numbers(descending: true) == [8, 7, 6, 5, 4, 3, 2, 9, 1])
        #expect(try numbers(.excluding(.null)) == [2, 3, 4, 5, 6, 7, 8])
        #expect(try numbers(.including(.int(3)), .including(.int(3))) == [4, 5, 6])
        #expect(try numbers(.excluding(.int(3))) == [7, 8])
        #expect(try numbers(.excluding(.null), .excluding(.int(3))) == [2, 3])
        #expect(try numbers(.including(.int(-5)), .excluding(.int(8)), limit: 3) == [2, 3, 4])
        #expect(
            try numbers(.including(.int(-5)), .excluding(.int(8)), descending: true, limit: 3)
                == [6, 5, 4])
        #expect(try numbers(.including(.int(4)), .including(.int(7))) == [])
        #expect(try numbers(.including(.int(9)), .including(.int(1))) == [])
    }

    @Test func numbersThatDoNotDifferStandTogether() throws {
        let library = try library()
        let scores: [Double] = [.nan, -0.0, .infinity, 0, -.infinity, -.nan, 1]
        try library.commit(
            scores.enumerated().map { library.edit(person($0 + 1), person("\($0)", score: $1)) })
        #expect(try library.file.objects(.score) == [5, 2, 4, 7, 3, 1, 6].map { .fixed($0) })
        #expect(try library.file.objects(.score, [.double(0)]) == [2, 4].map { .fixed($0) })
        #expect(try library.file.objects(.score, [.double(.nan)]) == [1, 6].map { .fixed($0) })
        // -0 becomes 0: the record changes, its entry does not.
        let before = try library.file.dump()["indexes"]
        try library.commit([library.edit(person(2), person("1", score: 0))])
        #expect(try library.file.dump()["indexes"] == before)
    }

    @Test func theFirstPropertiesOfACompoundIndexSelect() throws {
        let library = try library()
        try library.commit([
            library.edit(person(1), person("a", city: "Kiel", age: 9)),
            library.edit(person(2), person("b", city: "kiel", age: 2)),
            library.edit(person(3), person("c", city: "Ulm", age: 3)),
            library.edit(person(4), person("d", city: "Kiel")),
            library.edit(person(5), person("e", age: 5)),
        ])
        func numbers(
            _ values: [Value], _ lower: IndexRange.Bound? = nil, _ upper: IndexRange.Bound? = nil
        ) throws -> [UInt64] {
            try library.file.objects(.cityAndAge, values, from: lower, to: upper)
                .map { $0.low & 0xff }
        }
        #expect(try numbers([.string("KIEL")]) == [4, 2, 1])
        #expect(try numbers([.string("Kiel")], .excluding(.int(2))) == [1])
        #expect(try numbers([.string("Kiel"), .int(2)]) == [2])
        #expect(try numbers([], .including(.string("l"))) == [3])
        #expect(try numbers([.null]) == [5])
        #expect(throws: DecodingFailure.self) { try numbers([.null, .null, .null]) }
        #expect(throws: DecodingFailure.self) { try numbers([.codable("{}")]) }
    }

    // MARK: What it costs

    #if STET_FAULTS
        @Test func anUpdateThatChangesNoIndexedValueWritesNoEntry() throws {
            let schema = try Schema(entities: [
                Entity(
                    name: "Person",
                    properties: [
                        Property(name: "name", type: .string), Property(name: "at", type: .int),
                    ], indexes: [EntityIndex(0, isUnique: true)])
            ])
            let library = try Library(schema: schema)
            let faults = library.file.environment.faults
            /// The puts of a commit, none of which fails.
            func putCount(_ edits: [Edit]) throws -> Int {
                var count = 0
                while true {
                    faults.failNext(.put, after: count + 1, code: EINVAL)
                    if thrown((any Error).self, { try library.file.commit(edits) }) == nil { break }
                    count += 1
                }
                faults.disarm()
                return count
            }
            let plain = try putCount([library.edit(person(1), [.string("a"), .int(0)])])
            #expect(plain == 4)
            let update = { (name: String, base: UInt64) in
                Edit(
                    person(1), from: [.string("a"), .int(0)], to: [.string(name), .int(1)],
                    base: Revision(base))
            }
            #expect(try putCount([update("a", 1)]) == 3)
            #expect(try putCount([update("b", 2)]) == 4)
        }
    #endif
}

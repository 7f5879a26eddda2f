import StetLMDB
import StetTestSupport
import Testing

@testable import StetStore

/// The ids by which lists name objects whose first halves differ, and those that share one.
struct ShortIDTests {
    private static let words = EntityIndex(words: [0])

    private func search(_ text: String) -> QueryNode {
        .matching(.root, TextMatch(TextQuery(text), in: [TextMatch.Attribute(slot: 0)]))
    }

    private func insert(_ numbers: [Int], _ title: String, in pages: PageStore) throws {
        _ = try pages.file.commit(
            numbers.map { Edit(pages.page($0), from: nil, to: pages.values(title)) })
    }

    private func list(_ word: String, in pages: PageStore) throws -> [UInt8]? {
        try pages.file.dump()["indexes"]?[TextKey.list(1, Array(word.utf8))]
    }

    private func sharedCount(in pages: PageStore) throws -> Int {
        let entries = try pages.file.dump()["indexes"] ?? [:]
        return entries.keys.count { $0.starts(with: TextKey.sharedHalves(1)) }
    }

    @Test func anObjectIsNamedByTheFirstHalfOfItsID() throws {
        let pages = try PageStore(Self.words, ids: .different)
        try insert([1, 3, 9], "one", in: pages)
        // After the checksum, of each the difference of the first half; then a bit for a single
        // position, the number of words above it, and the position.
        #expect(try list("one", in: pages)?.dropFirst(4) == [1, 3, 0, 2, 3, 0, 6, 3, 0])
        #expect(try sharedCount(in: pages) == 0)
        #expect(try pages.found(search("one")) == [1, 3, 9])
        #expect(try pages.file.verify().problems == [])
    }

    @Test func objectsThatShareTheFirstHalfHaveTheWholeID() throws {
        let pages = try PageStore(Self.words, ids: .mixed)
        // Of four pages, the one that comes first is named by the first half alone.
        try insert([2], "one", in: pages)
        try insert([1, 3], "one", in: pages)
        #expect(try sharedCount(in: pages) == 1)
        #expect(try pages.found(search("one")).sorted() == [1, 2, 3])
        #expect(
            try list("one", in: pages)?.dropFirst(4) == [1, 3, 0, 0, 1, 3, 0, 0, 2, 3, 0])
        // This one's second half is 0, the name that the first one has.
        try insert([0], "one", in: pages)
        #expect(try pages.found(search("one")).sorted() == [0, 1, 2, 3])
        #expect(
            try list("one", in: pages)?.dropFirst(4)
                == [1, 3, 0, 0, 1, 3, 0, 0, 1, 3, 0, 0, 1, 3, 0])
        #expect(try pages.file.verify().problems == [])
    }

    @Test func theNameOfADeletedObjectIsItsOwn() throws {
        let pages = try PageStore(Self.words, ids: .mixed)
        try insert([1], "one", in: pages)
        // The first one goes while another one comes.
        _ = try pages.file.commit([
            Edit(pages.page(1), from: pages.values("one"), to: nil, base: Revision(1)),
            Edit(pages.page(2), from: nil, to: pages.values("one")),
        ])
        #expect(try pages.found(search("one")) == [2])
        #expect(try pages.file.verify().problems == [])
        _ = try pages.file.commit([
            Edit(pages.page(1), from: nil, to: pages.values("one"), base: Revision(2))
        ])
        #expect(try pages.found(search("one")).sorted() == [1, 2])
        #expect(try pages.file.verify().problems == [])
    }

    @Test func anObjectBesideADeletedOneHasTheWholeID() throws {
        let pages = try PageStore(Self.words, ids: .mixed)
        try insert([1], "one", in: pages)
        _ = try pages.file.commit([
            Edit(pages.page(1), from: pages.values("one"), to: nil, base: Revision(1))
        ])
        try insert([2], "one", in: pages)
        #expect(try sharedCount(in: pages) == 1)
        #expect(
            try list("one", in: pages)?.dropFirst(4) == [0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0])
        #expect(try pages.found(search("one")) == [2])
        #expect(try pages.file.verify().problems == [])
    }

    #if STET_FAULTS
        @Test func aNewObjectDoesNotPassTheDeletedOnes() throws {
            func moves(beside count: Int) throws -> Int {
                let pages = try PageStore(Self.words, ids: .alike)
                // One at a time, so that none exists beside another one.
                for number in 1...count {
                    try insert([number], "one", in: pages)
                    _ = try pages.file.commit([
                        Edit(
                            pages.page(number), from: pages.values("one"), to: nil,
                            base: Revision(UInt64(number * 2 - 1)))
                    ])
                }
                let faults = pages.file.environment.faults
                let before = faults.moveCount
                try insert([count + 1], "one", in: pages)
                return faults.moveCount - before
            }
            #expect(try moves(beside: 100) <= moves(beside: 5) + 5)
        }
    #endif

    @Test func objectsOfOneCommitShareAHalf() throws {
        let pages = try PageStore(Self.words, ids: .mixed)
        try insert([1, 2, 5], "one", in: pages)
        #expect(try sharedCount(in: pages) == 1)
        #expect(try pages.found(search("one")).sorted() == [1, 2, 5])
        #expect(try pages.file.verify().problems == [])
    }

    @Test(arguments: PageIDs.allCases)
    func equalScoresAreInTheOrderOfTheIDs(ids: PageIDs) throws {
        let pages = try PageStore(Self.words, ids: ids)
        // The last one of each four comes first.
        for first in [3, 2, 1, 0] {
            try insert((1...10).map { $0 * 4 + first }, "one", in: pages)
        }
        for limit in [3, 30] {
            let best = try pages.file.read { reader in
                var query = StoreQuery(entity: 1)
                query.condition = search("one")
                query.order = query.condition.ranking
                query.limit = limit
                let view = QueryState.View(
                    WorkingState(pages.schema, at: try reader.head().revision))
                return try QueryRun(QueryState(reader, view), query).rows().map {
                    pages.number($0.id)
                }
            }
            #expect(best == Array((4..<44).prefix(limit)))
        }
        #expect(try pages.run(search("one")) { try $0.count() } == 40)
    }

    @Test(arguments: PageIDs.allCases)
    func anIndexThatIsBuiltLaterNamesTheSameObjects(ids: PageIDs) throws {
        let directory = try StoreDirectory()
        let plain = try PageStore.schema([])
        let file = try StoreFile.open(at: directory.file(), schema: plain, .small())
        let numbers = Array(1...50)
        _ = try file.commit(
            numbers.map { number in
                Edit(
                    ObjectKey(1, ids.id(number)), from: nil,
                    to: [.string("w\(number % 3)"), .null])
            })
        // The first one of some is deleted.
        _ = try file.commit(
            [4, 8, 9].map { number in
                Edit(
                    ObjectKey(1, ids.id(number)), from: [.string("w\(number % 3)"), .null],
                    to: nil, base: Revision(1))
            })
        file.close()
        let schema = try PageStore.schema([Self.words])
        let indexed = try StoreFile.open(at: directory.file(), schema: schema, .small())
        #expect(try indexed.verify().problems == [])
        let found = try indexed.read { reader in
            var query = StoreQuery(entity: 1)
            query.condition = search("w1")
            let view = QueryState.View(WorkingState(schema, at: try reader.head().revision))
            return try QueryRun(QueryState(reader, view), query).rows().map { ids.number($0.id) }
        }
        #expect(found.sorted() == numbers.filter { $0 % 3 == 1 && $0 != 4 })
    }

    @Test(arguments: PageIDs.allCases)
    func batchesNameObjectsOfEarlierBatches(ids: PageIDs) throws {
        let pages = try PageStore(Self.words, ids: ids)
        try insert(Array(1...50), "one two", in: pages)
        // As a migration builds an index, but with batches of 7 objects.
        try pages.file.environment.write { transaction in
            let table = try pages.file.projection.tableOfIndexes
            let index = pages.schema.indexes[0]
            let records = pages.file.projection.records[index.entity]
            _ = try transaction.removeEntries(
                of: table, KeyRange(prefix: IndexKey.numberBytes(index.number)))
            var batch = TextBatch([index], of: pages.schema.entities[index.entity])
            var count = 0
            try transaction.reading.scan(records, .all) { key, value in
                let body = UnsafeRawBufferPointer(
                    rebasing: value[RecordLayout.headerByteCount...])
                batch.append(try RecordLayout.id(ofKey: key), body)
                count += 1
                if count % 7 == 0 { try batch.put(in: table, records: records, transaction) }
                return true
            }
            try batch.put(in: table, records: records, transaction)
        }
        #expect(try pages.file.verify().problems == [])
        #expect(try pages.found(search("two")).sorted() == Array(1...50))
    }

    @Test func aMissingOrDamagedSharedHalfIsReported() throws {
        let pages = try PageStore(Self.words, ids: .mixed)
        try insert([1, 2], "one", in: pages)
        let key = TextKey.sharedHalf(1, 1)
        let value = try #require(try pages.file.dump()["indexes"]?[key])
        try pages.file.tamper("indexes", key, nil)
        let name = "Page words (title)"
        #expect(
            try pages.file.verify().problems.contains(
                "\(name) does not distinguish \(pages.page(1).id) from \(pages.page(2).id)."))
        for place in value.indices {
            var damaged = value
            damaged[place] ^= 1
            try pages.file.tamper("indexes", key, damaged)
            #expect(try !pages.file.verify().problems.isEmpty)
            #expect(throws: (any Error).self) { try pages.found(search("one")) }
        }
    }

    @Test func aNameWithoutAnObjectIsAnError() throws {
        let pages = try PageStore(Self.words, ids: .different)
        try insert([1, 2], "one", in: pages)
        try pages.file.tamper("records.1", pages.page(1).id.bytes, nil)
        let error = #expect(throws: StoreError.self) { try pages.found(search("one")) }
        #expect(error?.code == .damaged)
    }
}

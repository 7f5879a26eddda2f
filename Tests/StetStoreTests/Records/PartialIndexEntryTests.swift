import Foundation
import StetStore
import StetTestSupport
import Testing

/// The entries of an index with a condition.
struct PartialIndexEntryTests {
    private static let adults = EntityIndex(0).only(
        where: .comparison(.greaterOrEqual, .property(.root, slot: 1), .constant(.int(18))))

    private let library: Library

    init() throws {
        library = try Library(
            schema: try Schema(entities: [
                Entity(
                    name: "Person",
                    properties: [
                        Property(name: "name", type: .string),
                        Property(name: "age", type: .int, isOptional: true),
                    ], indexes: [Self.adults])
            ]))
        try library.commit([
            library.edit(person(1), [.string("Ada"), .int(18)]),
            library.edit(person(2), [.string("Bob"), .int(17)]),
            library.edit(person(3), [.string("Cleo"), .null]),
        ])
    }

    private func key(_ number: Int, _ name: String) throws -> [UInt8] {
        let index = try library.file.index(Self.adults)
        return try [0, UInt8(index.number)] + index.index.key(of: [.string(name)])
            + withUnsafeBytes(of: person(number).id.uuid.uuid) { Array($0) }
    }

    @Test func onlyObjectsThatSatisfyTheConditionHaveEntries() throws {
        #expect(try library.file.objects(Self.adults) == [person(1).id])
        try library.commit([library.edit(person(2), [.string("Bob"), .int(19)])])
        #expect(try library.file.objects(Self.adults) == [person(1).id, person(2).id])
        try library.commit([library.edit(person(1), [.string("Ada"), .null])])
        #expect(try library.file.objects(Self.adults) == [person(2).id])
        try library.commit([library.edit(person(2), nil)])
        #expect(try library.file.objects(Self.adults) == [])
        #expect(try library.file.verify().problems == [])
    }

    @Test func aQueryForTheConditionReadsNoRecord() throws {
        let key = withUnsafeBytes(of: person(1).id.uuid.uuid) { Array($0) }
        try library.file.tamper("records.1", key, [1, 2, 3])
        let name = QueryNode.property(.root, slot: 0)
        var query = StoreQuery(entity: 1)
        query.condition = try #require(Self.adults.condition)
        query.order = [QueryOrder(name)]
        let names = try library.file.read { reader in
            let view = QueryState.View(
                WorkingState(library.file.schema, at: try reader.head().revision))
            return try QueryRun(QueryState(reader, view), query).values(of: name)
        }
        #expect(names == [.string("Ada")])
    }

    @Test func verifyFindsEntriesOfOtherObjects() throws {
        try library.file.tamper("indexes", try key(2, "Bob"), [])
        try library.file.tamper("indexes", try key(1, "Ada"), nil)
        #expect(
            try library.file.verify().problems == [
                "Person index (name) where age >= 18 has an entry of \(person(2).id) that does "
                    + "not belong to its values.",
                "Person index (name) where age >= 18 misses the entry of \(person(1).id).",
            ])
    }
}

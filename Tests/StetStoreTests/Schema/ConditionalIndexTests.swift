import StetStore
import StetTestSupport
import Testing

/// Returns the schema of an entity `A` with properties of several types, and indexes.
func indexed(_ indexes: EntityIndex...) throws -> Schema {
    try Schema(entities: [
        Entity(
            name: "A",
            properties: [
                Property(name: "text", type: .string), Property(name: "count", type: .int),
                Property(
                    name: "map", type: .dictionary, elements: [.string, .int]),
                Property(name: "values", type: .list, elements: [.codable]),
                Property(name: "names", type: .list, elements: [.string]),
            ], indexes: indexes)
    ])
}

/// The conditions of indexes in a schema.
struct ConditionalIndexTests {
    private func isAbove(_ number: Int, slot: Slot = 1) -> QueryNode {
        .comparison(.greater, .property(.root, slot: slot), .constant(.int(number)))
    }

    @Test func indexesWithConditionsAreEncodedInOneOrder() throws {
        let partial = [
            EntityIndex(0).only(where: isAbove(1)), EntityIndex(0).only(where: isAbove(2)),
            EntityIndex(0, isUnique: true).only(where: isAbove(1)), EntityIndex(0),
        ]
        let one = try indexed(partial[0], partial[1], partial[2], partial[3])
        let other = try indexed(partial[3], partial[2], partial[1], partial[0])
        #expect(one == other)
        #expect(one.encoded() == other.encoded())
        #expect(try one.encoded().withUnsafeBytes { try Schema(decoding: $0) } == one)
        // A unique index serves as a plain one only with the same condition.
        #expect(one.indexes.count == 3)
        #expect(Set(one.indexes.map(\.index)) == Set(partial[1...]))
        #expect(EntityIndex(0).only(where: .everything) == EntityIndex(0))
        #expect(
            one.indexes.map { $0.index.description(in: one.entities[0]) } == [
                "index (text)", "unique (text) where count > 1", "index (text) where count > 2",
            ])
    }

    @Test func conditionsThatCannotBeStoredAreRefused() throws {
        let misfits: [QueryNode] = [
            isAbove(1, slot: 5), .property(.root, slot: 1), .constant(.null), isAbove(1, slot: 2),
            .property(.target(.root, slot: 1, entity: "A"), slot: 0),
            .isIn(.property(.root, slot: 1), Array(repeating: .int(1), count: 256)),
            (0..<40).reduce(isAbove(1)) { node, _ in .not(node) },
        ]
        for condition in misfits {
            let error = thrown(StoreError.self) {
                try indexed(EntityIndex(0).only(where: condition))
            }
            #expect(error?.code == .invalidSchema, "\(condition)")
        }
    }
}

import Foundation
import StetLMDB
import StetStore
import StetTestSupport

extension Schema {
    /// One entity, `Person`, with every kind of index.
    static let people: Schema = {
        do {
            return try Schema(entities: [
                .tag,
                Entity(
                    name: "Person",
                    properties: [
                        Property(name: "name", type: .string),
                        Property(name: "city", type: .string, isOptional: true),
                        Property(name: "age", type: .int, isOptional: true),
                        Property(name: "score", type: .double),
                        Property(name: "notes", type: .string, isOptional: true),
                        Property(name: "tag", type: .reference, isOptional: true, target: "Tag"),
                    ],
                    indexes: [.name, .cityAndAge, .age, .score, .folded, .notes, .tag]),
            ])
        } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()
}

extension EntityIndex {
    init(_ slots: Slot..., isUnique: Bool = false, folding: TextFolding = []) {
        self.init(slots.map { Part(slot: $0, folding: folding) }, isUnique: isUnique)
    }

    static let name = EntityIndex(0, isUnique: true)
    static let cityAndAge = EntityIndex(
        [Part(slot: 1, folding: .caseInsensitive), Part(slot: 2)], isUnique: true)
    static let age = EntityIndex(2)
    static let score = EntityIndex(3)
    static let folded = EntityIndex(1, folding: [.caseInsensitive, .diacriticInsensitive])
    static let notes = EntityIndex(4, isUnique: true)
    static let tag = EntityIndex(5)
}

/// A person's values.
func person(
    _ name: String, city: String? = nil, age: Int? = nil, score: Double = 0, notes: String? = nil,
    tag: ObjectID? = nil
) -> [Value] {
    [
        .string(name), city.map(Value.string) ?? .null, age.map(Value.int) ?? .null,
        .double(score), notes.map(Value.string) ?? .null, tag.map(Value.reference) ?? .null,
    ]
}

func person(_ number: Int) -> ObjectKey { ObjectKey(1, number) }

extension StoreFile {
    func index(_ index: EntityIndex) throws -> NumberedIndex {
        guard let found = schema.indexes.first(where: { $0.index == index }) else {
            throw DecodingFailure("no such index")
        }
        return found
    }

    /// The objects of a range, by the index.
    func objects(
        _ index: EntityIndex, _ values: [Value] = [], from lower: IndexRange.Bound? = nil,
        to upper: IndexRange.Bound? = nil, descending: Bool = false, limit: Int = .max
    ) throws -> [ObjectID] {
        let index = try self.index(index)
        let range = try IndexRange(index, values, from: lower, to: upper)
        var found: [ObjectID] = []
        try read { reader in
            try reader.forEachObject(of: index, in: range, descending: descending) { id in
                found.append(id)
                return found.count < limit
            }
        }
        return found
    }
}

extension Library {
    /// The reasons for which a commit of these edits is refused; empty when it is made.
    func refusal(_ edits: [Edit]) throws -> [CommitRefusal.Reason] {
        do {
            try commit(edits)
            return []
        } catch let refusal as CommitRefusal {
            return refusal.reasons
        }
    }
}

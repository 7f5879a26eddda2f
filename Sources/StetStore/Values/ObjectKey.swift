/// The identity of an object in a store: its entity and its id.
package struct ObjectKey: Hashable, Sendable {
    package let entity: EntityNumber
    package let id: ObjectID

    package init(_ entity: EntityNumber, _ id: ObjectID) {
        self.entity = entity
        self.id = id
    }

    /// Hashes the id, as cheaply as `ObjectID` does, with the entity in the seed.
    package func _rawHashValue(seed: Int) -> Int {
        id._rawHashValue(seed: seed ^ Int(truncatingIfNeeded: entity.index))
    }
}

extension ObjectKey: Comparable {
    package static func < (one: ObjectKey, other: ObjectKey) -> Bool {
        (one.entity, one.id) < (other.entity, other.id)
    }
}

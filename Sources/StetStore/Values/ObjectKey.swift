/// The identity of an object in a store: its entity and its id.
package struct ObjectKey: Hashable, Sendable {
    package let entity: EntityNumber
    package let id: ObjectID

    package init(_ entity: EntityNumber, _ id: ObjectID) {
        self.entity = entity
        self.id = id
    }
}

extension ObjectKey: Comparable {
    package static func < (one: ObjectKey, other: ObjectKey) -> Bool {
        (one.entity, one.id) < (other.entity, other.id)
    }
}

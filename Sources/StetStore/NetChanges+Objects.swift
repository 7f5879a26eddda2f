extension NetChanges {
    /// The change of an object, when all are sorted.
    ///
    /// - Complexity: O(log changes).
    package borrowing func item(_ object: ObjectKey) -> Item? {
        let index = items.partitionPoint { ($0.entity, $0.id) < (object.entity, object.id) }
        return items.element(at: index).flatMap {
            $0.entity == object.entity && $0.id == object.id ? $0 : nil
        }
    }

    /// The values that an object will have in a slot; nil when it will not exist, or is not
    /// changed.
    package borrowing func value(of object: ObjectKey, slot: Slot) throws -> Value? {
        guard let item = item(object), item.kind != .delete else { return nil }
        let entity = schema.entities[object.entity]
        return try RecordBody(body(item.after), of: entity).value(slot)
    }

    /// What becomes of an object.
    package borrowing func body(of object: ObjectKey) -> QueryState.PendingBody {
        guard let item = item(object) else { return .unchanged }
        return item.kind == .delete
            ? .deleted : .body(EncodedBody(body(item.after)))
    }

    /// What becomes of the objects of an entity: the body of each, nil for a deleted one.
    package borrowing func bodies(ofEntity entity: EntityNumber) -> [ObjectID: EncodedBody?] {
        var bodies: [ObjectID: EncodedBody?] = [:]
        for item in items where item.entity == entity {
            let body = item.kind == .delete ? nil : EncodedBody(body(item.after))
            bodies.updateValue(body, forKey: item.id)
        }
        return bodies
    }
}

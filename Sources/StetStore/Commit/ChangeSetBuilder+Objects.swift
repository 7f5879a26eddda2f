extension ChangeSetBuilder {
    /// Encodes a body with values in the order of the slots; returns its range.
    package mutating func encode(_ values: [Value], entity: EntityNumber) -> Range<Int> {
        let description = schema.entities[entity]
        return encode(entity: entity) { $0.write(values, of: description) }
    }

    /// Returns the change of an object, or nil when it has none; the changes must be sorted.
    ///
    /// - Complexity: O(log changes).
    package borrowing func item(_ object: ObjectKey) -> Item? {
        let index = items.partitionPoint { ($0.entity, $0.id) < (object.entity, object.id) }
        return items.element(at: index).flatMap {
            $0.entity == object.entity && $0.id == object.id ? $0 : nil
        }
    }

    /// Returns the new value of an object in a slot, or nil when the object is deleted or
    /// unchanged.
    package borrowing func value(of object: ObjectKey, slot: Slot) throws -> Value? {
        guard let item = item(object), item.kind != .delete else { return nil }
        let entity = schema.entities[object.entity]
        return try RecordBody(body(item.after), of: entity).value(slot)
    }

    /// Returns the new body of an object, unless it is deleted or unchanged.
    package borrowing func body(of object: ObjectKey) -> QueryState.PendingBody {
        guard let item = item(object) else { return .unchanged }
        return item.kind == .delete
            ? .deleted : .body(EncodedBody(body(item.after)))
    }

    /// Returns the new bodies of the changed objects of an entity; nil stands for a deleted one.
    package borrowing func bodies(ofEntity entity: EntityNumber) -> [ObjectID: EncodedBody?] {
        var bodies: [ObjectID: EncodedBody?] = [:]
        for item in items where item.entity == entity {
            let body = item.kind == .delete ? nil : EncodedBody(body(item.after))
            bodies.updateValue(body, forKey: item.id)
        }
        return bodies
    }
}

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

extension ChangeSetBuilder {
    /// Returns the changes as plain values.
    package borrowing func changeSet() throws -> ChangeSet {
        var changes: [ObjectChange] = []
        try forEachBlock { block in
            let entity = schema.entities[block.entity]
            let item = block.item.map { items[$0] }
            changes.append(
                ObjectChange(
                    entity: entity.name, id: block.id, kind: item?.kind ?? .update,
                    properties: try item.map { try properties(of: $0, entity) } ?? [],
                    relationships: try schema.relationships(
                        of: entity, links[block.links], block.entity)))
        }
        return ChangeSet(changes: changes)
    }

    private borrowing func properties(
        of item: Item, _ entity: Entity
    ) throws -> [PropertyChange] {
        switch item.kind {
        case .insert:
            try ObjectChange.properties(
                of: RecordBody(body(item.after), of: entity), kind: .insert)
        case .delete:
            try ObjectChange.properties(
                of: RecordBody(body(item.before), of: entity), kind: .delete)
        case .update: try changedProperties(item, entity)
        }
    }

    private borrowing func changedProperties(
        _ item: Item, _ entity: Entity
    ) throws -> [PropertyChange] {
        let before = try RecordBody(body(item.before), of: entity)
        let after = try RecordBody(body(item.after), of: entity)
        var changes: [PropertyChange] = []
        for index in entity.properties.indices {
            let slot = Slot(index)
            if Cell.areEqual(try before.cell(slot), try after.cell(slot)) { continue }
            changes.append(
                PropertyChange(
                    entity.properties[slot], old: try before.value(slot), new: try after.value(slot)
                ))
        }
        return changes
    }
}

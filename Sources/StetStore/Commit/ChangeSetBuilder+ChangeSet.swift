extension EncodedChangeSet {
    /// Returns the changes as plain values.
    package func changeSet() throws -> ChangeSet {
        ChangeSet(
            changes: try changes.map { change in
                var reader = ByteReader(
                    UnsafeRawBufferPointer(rebasing: journal.bytes[change.journal]))
                return try ObjectChange(try JournalChange(decoding: &reader), schema)
            })
    }
}

extension ChangeSetBuilder {
    /// Returns the changes as plain values.
    package borrowing func changeSet() throws -> ChangeSet {
        var changes: [ObjectChange] = []
        for block in blocks {
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

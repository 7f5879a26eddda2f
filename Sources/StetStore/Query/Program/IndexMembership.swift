/// An index, and which objects have entries in it: all, or those that satisfy its condition.
///
/// A class, because each object is tested by it, and a structure would be copied.
final class IndexMembership {
    let index: NumberedIndex
    private let condition: QueryCondition?

    fileprivate init(_ index: NumberedIndex, _ schema: Schema) {
        self.index = index
        let compiler = QueryCompiler(schema, root: index.entity)
        condition = index.index.condition.map(compiler.condition)
    }

    /// Returns whether an object has an entry.
    func contains(_ id: ObjectID, _ body: RecordBody) throws -> Bool {
        guard let condition else { return true }
        let row = try QueryState.Row(
            id: id, revision: .zero, body: body.bytes, propertyCount: body.entity.properties.count)
        var frame = QueryFrame(alone: row)
        return try condition.test(&frame)
    }

    /// Returns whether an object has an entry with a key of values, or of the first values.
    func contains(_ id: ObjectID, _ body: RecordBody, with key: [UInt8]) throws -> Bool {
        try contains(id, body) && index.index.key(of: body).starts(with: key)
    }

    /// Returns whether the indexed attributes have the same bytes in both bodies of an object.
    func hasSameCells(_ bodies: ChangedBodies) throws -> Bool {
        // A loop over the parts would copy them.
        for place in index.index.parts.indices {
            let slot = index.index.parts[place].slot
            let isSame = Cell.areEqual(
                try bodies.before.cell(slot), try bodies.after.cell(slot))
            if !isSame { return false }
        }
        return true
    }

    /// Returns the values of the entry of an object; nil when it has none.
    func values(_ id: ObjectID, _ body: [UInt8], of entity: Entity) throws -> [Value]? {
        try body.withUnsafeBytes { bytes in
            let body = try RecordBody(bytes, of: entity)
            guard try contains(id, body) else { return nil }
            return try index.index.parts.map { try body.indexedValue($0.slot) }
        }
    }
}

extension NumberedIndex {
    /// Returns which objects have entries, compiled.
    func membership(in schema: Schema) -> IndexMembership { IndexMembership(self, schema) }

    /// Returns the values of an object that no other may have in the unique index; nil when it has
    /// no entry, or one of them is nil.
    package func claimedValues(
        of id: ObjectID, _ body: EncodedBody, in schema: Schema
    ) throws -> [Value]? {
        let values = try membership(in: schema).values(id, body.bytes, of: schema.entities[entity])
        return values.flatMap { $0.contains(.null) ? nil : $0 }
    }
}

extension ChangeSetBuilder {
    /// Returns the objects that are inserted or updated, by their values in a unique index.
    package borrowing func values(in index: NumberedIndex) throws -> PendingValues {
        var values = PendingValues()
        let membership = index.membership(in: schema)
        for item in items where item.entity == index.entity && item.kind != .delete {
            let body = try RecordBody(body(item.after), of: schema.entities[item.entity])
            var key: [UInt8] = []
            let hasNull = try index.index.append(body, to: &key)
            if try !hasNull && membership.contains(item.id, body) {
                values.insert(item.id, at: key)
            }
        }
        return values
    }

    /// Returns the effect of the sorted items, with their final values, on the entries of indexes.
    borrowing func collectedIndexChanges() throws -> IndexChanges {
        var changes = IndexChanges()
        if schema.indexes.isEmpty { return changes }
        var current: EntityNumber = 0
        var indexes: [IndexMembership] = []
        var bodies = ChangedBodies()
        for item in loadedItems {
            if item.entity != current {
                current = item.entity
                indexes = schema.indexes(ofEntity: current).map { $0.membership(in: schema) }
            }
            if indexes.isEmpty { continue }
            try move(&bodies, to: item)
            for index in indexes { try changes.append(index, item.id, bodies) }
        }
        changes.sort()
        return changes
    }
}

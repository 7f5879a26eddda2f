public import StetStore

// Edits that are based on what a client has read earlier.

extension ManagedContext {
    /// Returns how an object has been changed since a revision, beside what is pending here; nil
    /// when it has not been changed.
    ///
    /// For an edit of something that was read in an earlier request, as with `If-Match` of HTTP:
    ///
    /// ```swift
    /// try await store.edit("rename") { context in
    ///     guard let article = try context.object(Article.self, id: id) else { throw NotFound() }
    ///     article.title = request.title
    ///     if let conflict = try context.conflict(of: article, since: request.revision) {
    ///         throw ConflictError(conflict)  // or only if conflict.isContested
    ///     }
    /// }
    /// ```
    ///
    /// The call does not prevent later changes: if others change the same properties after it, the
    /// save conflicts, and `edit` runs its closure again. A merge policy other than `.fail` decides
    /// such conflicts without the closure.
    ///
    /// - Parameters:
    ///   - object: an object of this context.
    ///   - base: the revision that the edit is based on.
    /// - Returns: the conflict, with the properties that either side has changed: `base` is the
    ///   value at the revision, `theirs` the stored one, and `mine` the pending one, or `base`
    ///   where nothing is pending. Members of a many-to-many relationship, or of one without an
    ///   inverse, are a list of references. An object that was inserted since has `.null` as
    ///   `base`.
    /// - Throws: `StoreError`: `.noSuchRevision`, and `.historyTrimmed` when the changes since the
    ///   revision were trimmed.
    /// - Complexity: a few reads for each change since the revision.
    public func conflict<M: Model>(of object: M, since base: Revision) throws -> Conflict? {
        try core.checkUsable()
        trap(
            unless: object._$core === core,
            "conflict(of:since:) of \(M.self) \(object.id), which is not in the context")
        guard base <= revision else {
            throw StoreError.noSuchRevision(base, head: revision, path: store.path)
        }
        if base == revision || object.isInserted { return nil }
        let entity = core.table(for: M.self).entity
        return try core.store.file.read { reader in
            var last: Revision?
            try reader.forEachChange(ofEntity: entity, object.id, from: .revision(base.next)) {
                if $0.revision <= revision { last = $0.revision }
                return last == nil
            }
            guard let last else { return nil }
            let floor = try reader.floor()
            if base < floor {
                throw StoreError.historyTrimmed(base, floor: floor, path: store.path)
            }
            let sides = try ObjectSides(
                object, base: ObjectSide(ObjectKey(entity, object.id), core.schema, reader, base),
                theirs: ObjectSide(ObjectKey(entity, object.id), core.schema, reader, revision))
            return Conflict(
                entity: M._$name, object: object.id, base: base, current: last,
                properties: try sides.properties(core, reader))
        }
    }
}

/// The stored values of an object at a revision.
private struct ObjectSide {
    /// The values, without positions in lists; nil when there was no such object.
    let values: [Value]?
    private let state: WorkingState

    init(
        _ key: ObjectKey, _ schema: Schema, _ reader: borrowing StoreReader, _ revision: Revision
    ) throws {
        state = WorkingState(schema, at: revision)
        values = try reader.withRecord(ofEntity: key.entity, key.id, asOf: revision) { record in
            try EncodedBody(record.body).values(of: schema.entities[key.entity]).map(\.unplaced)
        }
    }

    /// The members of a relationship.
    func members(
        of id: ObjectID, at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> Value {
        values == nil
            ? .null
            : .list(try state.members(of: id, at: end, reader).map { .reference($0.id) })
    }
}

/// An object as it was, as the context has it, and as it is stored.
private struct ObjectSides<M: Model> {
    private let object: M
    private let base: ObjectSide
    private let theirs: ObjectSide

    init(_ object: M, base: ObjectSide, theirs: ObjectSide) {
        self.object = object
        self.base = base
        self.theirs = theirs
    }

    /// The properties and relationships that differ between any two of the sides.
    func properties(
        _ core: ContextCore, _ reader: borrowing StoreReader
    ) throws -> [Conflict.Property] {
        let entity = core.schema.entities[object._$entityNumber]
        var found: [Conflict.Property] = []
        func add(_ property: Property, _ base: Value, _ pending: Value, _ theirs: Value) {
            let mine = pending == theirs ? base : pending
            if base == theirs && base == mine { return }
            found.append(
                Conflict.Property(
                    property, of: entity.name, object.id, base: base, mine: mine, theirs: theirs))
        }
        // A value without a stored form is reported by the save.
        let pending = try (try? object._$body())?.values(of: entity)
        let stored = theirs.values ?? entity.properties.map { _ in .null }
        let shown = pending ?? stored
        let parts = entity.mergeParts { $0.decide(base: base.values, mine: shown, theirs: stored) }
        for part in parts {
            switch part {
            case .whole(let value, _):
                let sides = [base.values, shown, stored].map { entity.whole(value, of: $0) }
                add(entity.described(value), sides[0], sides[1], sides[2])
            case .property(let slot):
                let property = entity.properties[slot]
                if property.stamp == .update || property.isDerived { continue }
                add(property, base.values?[slot] ?? .null, shown[slot].unplaced, stored[slot])
            }
        }
        for relationship in entity.relationships {
            guard let end = core.schema.membersEnd(of: relationship),
                case .targets = end.source
            else { continue }
            let mine = try core.state.members(of: object.id, at: end, reader)
            add(
                Property(name: relationship.name, type: .list),
                try base.members(of: object.id, at: end, reader),
                .list(mine.map { .reference($0.id) }),
                try theirs.members(of: object.id, at: end, reader))
        }
        return found
    }
}

extension Entity {
    /// Returns an optional embedded value as one property.
    fileprivate func described(_ value: OptionalValue) -> Property {
        Property(
            name: properties[value.presence].name, type: .dictionary, isHidden: isHidden(value))
    }
}

extension Value {
    /// The value without a position in a list.
    fileprivate var unplaced: Value {
        if case .placed(let id, _) = self { .reference(id) } else { self }
    }
}

import StetStore

/// The three bodies of an object: the common base, the pending one, and the stored one.
struct MergeSides {
    let table: _ObjectTable
    private let id: ObjectID
    /// The common base; nil for an object that both sides have inserted.
    private let base: EncodedBody?
    /// The pending body; nil when the object is deleted here.
    let mine: EncodedBody?
    /// The stored body; nil when others have deleted the object.
    private let theirs: EncodedBody?

    init(
        _ table: _ObjectTable, _ id: ObjectID, base: EncodedBody?, mine: EncodedBody?,
        theirs: EncodedBody?
    ) {
        self.table = table
        self.id = id
        self.base = base
        self.mine = mine
        self.theirs = theirs
    }

    /// Creates the sides of a pending object; sealed values that are equal have the same bytes.
    ///
    /// - Throws: `EncodingFailure` for a value without a stored form.
    init<M: Model>(
        of object: M, _ table: _ObjectTable, base: AnyObject, theirs: EncodedBody?
    ) throws {
        self = try MergeSides(
            table, object.id,
            base: object._$isNew ? nil : M._$body(of: base),
            mine: object._$flags.contains(.deleted) ? nil : object._$body(),
            theirs: theirs
        ).reusingSeals()
    }

    private func reusingSeals() throws -> MergeSides {
        let entity = table.description
        if entity.sealedSlots.isEmpty { return self }
        func reusing(_ body: EncodedBody?, _ other: EncodedBody?) throws -> EncodedBody? {
            guard let body, let other else { return body }
            return try body.reusingSeals(of: other, entity)
        }
        let base = try reusing(base, theirs)
        return MergeSides(
            table, id, base: base, mine: try reusing(reusing(mine, base), theirs), theirs: theirs)
    }

    /// Returns whether the pending changes have no net effect.
    func hasNoChangeOfMine() throws -> Bool {
        guard let base, let mine else { return false }
        return try mine == base || isUnchanged(mine, since: base) { _ in false }
    }

    private func values(_ body: EncodedBody?) throws -> [Value]? {
        try body?.values(of: table.description)
    }

    /// Returns every property that either side has changed; none for a deleted object.
    func propertyConflicts() throws -> [Conflict.Property] {
        guard let mine = try values(mine), let theirs = try values(theirs) else { return [] }
        let base = try values(base)
        let entity = table.description
        let parts = entity.mergeParts { $0.decide(base: base, mine: mine, theirs: theirs) }
        return parts.compactMap { part in
            guard case .property(let slot) = part else {
                return whole(part, base: base, mine: mine, theirs: theirs).flatMap {
                    $0.isChanged ? $0.conflict : nil
                }
            }
            if entity.properties[slot].isDerived { return nil }
            let before = base?[slot] ?? .null
            if base != nil, mine[slot] == before, theirs[slot] == before { return nil }
            return Conflict.Property(
                entity.properties[slot], of: entity.name, id, base: before, mine: mine[slot],
                theirs: theirs[slot])
        }
    }

    /// Returns the stored body with edits of an object that were made later.
    ///
    /// Counters whose increments exceed their type keep their stored values, and put the context
    /// into its failed state: the error has all edits.
    func later<M: Model>(
        than object: M, _ core: ContextCore, rejected: ChangeSet? = nil
    ) throws -> EncodedBody {
        guard let base, let mine, let theirs else {
            trap("later edits of an object that one side has deleted")
        }
        let entity = table.description
        let (merged, overflowing) = try base.merged(mine: mine, theirs: theirs, as: entity)
        if overflowing.isEmpty { return merged }
        let names = overflowing.map { entity.properties[$0].name }
        let conflict = Conflict(
            entity: entity.name, object: id, base: object._$revision, current: object._$revision,
            properties: try propertyConflicts().filter { names.contains($0.property) })
        core.fail(
            ConflictError(
                reason: .overflow, conflicts: [conflict], rejected: rejected ?? core.changes()))
        return merged
    }

    /// Returns the merged body; nil when the policy does not decide.
    func merged(by policy: MergePolicy, _ core: ContextCore) throws -> EncodedBody? {
        guard let mine, let theirs else { return nil }
        let entity = table.description
        let mineValues = try mine.values(of: entity)
        let theirValues = try theirs.values(of: entity)
        let baseValues = try values(base)
        var merged = theirValues
        let parts = entity.mergeParts {
            $0.decide(base: baseValues, mine: mineValues, theirs: theirValues)
        }
        for part in parts {
            guard case .property(let slot) = part else {
                let whole = whole(part, base: baseValues, mine: mineValues, theirs: theirValues)
                guard try whole?.merge(into: &merged, by: policy) ?? true else { return nil }
                continue
            }
            let property = entity.properties[slot]
            if property.stamp == .update { continue }
            let decision = try decide(slot, property, favorsMine: policy.favorsMine)
            switch decision {
            case .theirs: break
            case .mine: merged[slot] = mineValues[slot]
            case .counted(let sum):
                merged[slot] = try Value(inlineWord: sum, type: property.type)
            case .overflowing: return nil
            case .merged(let array): merged[slot] = array
            case .contested, .mergedInPart:
                let conflict = Conflict.Property(
                    property, of: entity.name, id, base: baseValues?[slot] ?? .null,
                    mine: mineValues[slot], theirs: theirValues[slot])
                guard let value = try policy.value(of: conflict, decision) else { return nil }
                let placed = try core.placed(value, in: slot, of: table, like: conflict)
                trap(
                    unless: property.accepts(placed),
                    "a merge policy gave a value that does not fit \(entity.name).\(property.name)")
                merged[slot] = placed
            }
        }
        return try EncodedBody(merged, of: entity)
    }

    /// Returns the merge of an optional value as a whole; nil for a property.
    private func whole(
        _ part: MergePart, base: [Value]?, mine: [Value], theirs: [Value]
    ) -> WholeMerge? {
        guard case .whole(let value, let decision) = part else { return nil }
        return WholeMerge(
            value: value, decision: decision, entity: table.description, object: id, base: base,
            mine: mine, theirs: theirs)
    }

    /// Returns whether the sum of the increments of a counter exceeds its type.
    func overflows() throws -> Bool {
        try table.description.properties.slotted.contains { slot, property in
            try property.isCounter
                && decide(slot, property, favorsMine: true) == .overflowing
        }
    }

    /// Returns whether one side has changed nothing but counters, which no policy decides about.
    func isCounted() throws -> Bool {
        guard let base, let mine, let theirs else { return false }
        return try [mine, theirs].contains { side in
            try isUnchanged(side, since: base) { $0.isCounter || $0.stamp == .update }
        }
    }

    /// Returns whether the store has the values of the base, apart from derived attributes and
    /// stamps of updates, perhaps after changes there and back.
    func hasNoChangeOfTheirs() throws -> Bool {
        guard let base, let theirs else { return false }
        return try isUnchanged(theirs, since: base) { $0.stamp == .update }
    }

    /// Returns whether a side has the values of the base, apart from derived attributes and those
    /// that are to be ignored.
    private func isUnchanged(
        _ side: EncodedBody, since base: EncodedBody, _ isIgnored: (Property) -> Bool
    ) throws -> Bool {
        let entity = table.description
        return try base.read(as: entity) { base in
            try side.read(as: entity) { side in
                try entity.properties.slotted.allSatisfy { slot, property in
                    try property.isDerived || isIgnored(property)
                        || Cell.areEqual(base.cell(slot), side.cell(slot))
                }
            }
        }
    }

    private func decide(
        _ slot: Slot, _ property: Property, favorsMine: Bool
    ) throws -> ThreeWay {
        guard let mine, let theirs else { return .theirs }
        let entity = table.description
        return try mine.read(as: entity) { mine in
            try theirs.read(as: entity) { theirs in
                guard let base else {
                    return try ThreeWay.decide(
                        base: nil, mine: try mine.cell(slot), theirs: try theirs.cell(slot),
                        of: property, favorsMine: favorsMine)
                }
                return try base.read(as: entity) { base in
                    try ThreeWay.decide(
                        base: try base.cell(slot), mine: try mine.cell(slot),
                        theirs: try theirs.cell(slot), of: property, favorsMine: favorsMine)
                }
            }
        }
    }
}

import StetStore

// The checks of a save without a save: nothing is changed or written.

extension Model {
    /// Checks and normalises a value for a property, for a field of a form for instance.
    ///
    /// The rules of the property and its validators run; checks that need a store do not: for
    /// unique values and chains, call `validate(_:)` of an object.
    ///
    /// ```swift
    /// let name = try Player.validate(field.text, for: \.name)
    /// ```
    ///
    /// - Returns: the value as a save would store it.
    /// - Throws: `ValidationError` with every violation of the property.
    @discardableResult
    public static func validate<T: StoredValue>(
        _ value: T, for property: KeyPath<Snapshot, T>
    ) throws -> T {
        let slot = _$slot(property)
        let normalized = _$description.normalized(value._value, slot: slot)
        let violations = try _$violations(of: normalized, slot, nil, .english)
        guard violations.isEmpty else {
            throw ValidationError(
                violations: violations.inTotalOrder(), rejected: ChangeSet())
        }
        return T(_value: normalized) ?? value
    }

    /// Checks the current value of a property as a save would, and changes nothing.
    ///
    /// - Returns: the value as a save would store it.
    /// - Throws: `ValidationError` with every violation of the property, including uniqueness: of
    ///   its value, of values of which it is one, and under a condition that reads it;
    ///   `StoreError`.
    /// - Complexity: O(pending changes), and a few reads, for each unique index with the property.
    @discardableResult
    public func validate<T: StoredValue>(_ property: KeyPath<Snapshot, T>) throws -> T {
        let slot = Self._$slot(property)
        let value = _$snapshot[keyPath: property]
        let normalized = Self._$description.normalized(value._value, slot: slot)
        let configuration = _$core?.store.configuration ?? Store.Configuration()
        var violations = try Self._$violations(of: normalized, slot, id, configuration.messages)
        let entity = Self._$description.entity
        let field = ValidationChain.Field(
            entity: entity.name, property: entity.properties[slot].name, value: normalized)
        for chain in configuration.chains {
            violations += chain.violations(of: field, id, slot: slot, configuration.messages)
        }
        violations += try _$core?.violationsOfUniqueness(slot, self) ?? []
        guard violations.isEmpty else {
            throw ValidationError(
                violations: violations.inTotalOrder(), rejected: ChangeSet())
        }
        return T(_value: normalized) ?? value
    }

    private static func _$slot<T>(_ property: KeyPath<Snapshot, T>) -> Slot {
        guard let slot = _$description.slot(of: property) else {
            trap(
                "validate(_:for:) of \(property), which is no property of \(_$name)")
        }
        return slot
    }

    /// Returns the violations that rules and validators find in a normalised value.
    private static func _$violations(
        of value: Value, _ slot: Slot, _ object: ObjectID?, _ messages: MessageTable
    ) throws -> [Violation] {
        let entity = _$description.entity
        var violations = try entity.violations(of: value, slot: slot, object, messages)
        for validator in validators.properties where validator.slot == slot {
            violations += validator.checkValue(value).map { report in
                report.violation(entity, nil, object, slot, value, messages)
            }
        }
        return violations
    }
}

extension ContextCore {
    /// Returns a violation for each unique index that depends on a property and in which another
    /// object has the values of an object.
    fileprivate func violationsOfUniqueness<M: Model>(
        _ slot: Slot, _ object: M
    ) throws -> [Violation] {
        let entity = table(for: M.self).entity
        let indexes = schema.indexes(ofEntity: entity).filter {
            $0.index.isUnique && $0.index.slots.contains(slot)
        }
        let conflicts = try indexes.compactMap { index in
            try holder(of: index, besides: object).map { other in
                UniquenessConflict(index: index.number, object: object.id, other: other)
            }
        }
        return try schema.violations(conflicts, messages) { _, slot in
            M._$description.normalized(try object._$value(slot: slot), slot: slot)
        }
    }

    /// Returns another object that has the values of an object in a unique index.
    private func holder<M: Model>(
        of index: NumberedIndex, besides object: M
    ) throws -> ObjectID? {
        let entity = schema.entities[index.entity]
        func claimed(_ object: M) throws -> [Value]? {
            try object._$normalizedBody(of: index.index.slots, as: entity).flatMap {
                try index.claimedValues(of: object.id, $0, in: schema)
            }
        }
        guard let values = try claimed(object) else { return nil }
        let wanted = try index.index.key(of: values)
        var pendingIDs: Set<ObjectID> = [object.id]
        for case let other as M in changedObjects where other != object {
            pendingIDs.insert(other.id)
            guard !other.isDeleted, let present = try claimed(other) else { continue }
            if try index.index.key(of: present) == wanted { return other.id }
        }
        return try read { try state.objects(of: index, with: values, $0) }
            .first { !pendingIDs.contains($0) }
    }
}

extension Model {
    /// Returns a body with the current values in some slots, after their normalisers have run, and
    /// any positions; nil when a value has no stored form.
    fileprivate func _$normalizedBody(
        of slots: Set<Slot>, as entity: Entity
    ) throws -> EncodedBody? {
        guard let body = try? _$body() else { return nil }
        let description = Self._$description
        var values = [Value](repeating: .null, count: entity.properties.count)
        for slot in slots {
            if let field = description.referenceField(in: slot) {
                let target = _$snapshot[keyPath: field]
                let hasPosition = entity.properties[slot].hasPosition
                values[slot] =
                    target.map { hasPosition ? .placed($0, .first) : .reference($0) } ?? .null
            } else {
                let value = try body.read(as: entity) { try $0.value(slot) }
                values[slot] = description.normalized(value, slot: slot)
            }
        }
        return try? EncodedBody(values, of: entity)
    }
}

extension Model {
    /// Returns the current value in a slot; `.null` when it has no stored form.
    func _$value(slot: Slot) throws -> Value {
        guard let body = try? _$body() else { return .null }
        return try body.read(as: Self._$description.entity) { try $0.value(slot) }
    }
}

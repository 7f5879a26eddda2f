import FoundationEssentials

// The properties of entities that both schemas have.

extension SchemaComparison {
    /// Returns the conversion of the objects of an entity; nil when there is none.
    mutating func upcast(_ old: Entity, _ new: Entity) throws -> Upcast? {
        let problemCount = problems.count
        let former = formerSlots(old, new)
        let match = PresenceMatch(old, new, former) { defaultValue(of: $0, new) == .bool(true) }
        let slots = match.slots
        problems += match.problems + embeddingProblems(old, new, slots)
        var defaults: [Value] = []
        for (slot, former) in slots.slotted {
            let value = match.defaults[slot] ?? former.map { compare(old, $0, new, slot) }
            defaults.append(value ?? added(slot, new))
        }
        var elements: [Slot: Upcast] = [:]
        for (slot, former) in slots.slotted {
            guard let former else { continue }
            elements[slot] = try elementUpcast(old.properties[former], new.properties[slot], new)
        }
        steps += match.steps
        for slot in old.properties.slots where !slots.contains(slot) {
            steps.append(match.removal(of: slot))
        }
        let kept = slots.compactMap { $0 }
        if zip(kept, kept.dropFirst()).contains(where: { $0 > $1 }) {
            steps.append("gives the properties of \(new.name) another order")
        }
        if problems.count > problemCount { return nil }
        var writer = RecordWriter()
        writer.begin(propertyCount: defaults.count)
        writer.write(defaults, of: new)
        return try Upcast(
            from: old, to: new, slots: slots, defaults: Array(writer.buffer.bytes),
            elements: elements)
    }

    /// Returns the conversion of the elements of an array; nil when one property is none.
    private mutating func elementUpcast(
        _ old: Property, _ new: Property, _ entity: Entity
    ) throws -> Upcast? {
        guard let former = old.embedded, let elements = new.embedded else { return nil }
        // The members have names such as "Order.lines.amount".
        let name = "\(entity.name).\(new.name)"
        func named(_ elements: EmbeddedElements) -> Entity {
            Entity(name: name, properties: elements.entity.properties)
        }
        let (one, other) = (former.identityName, elements.identityName)
        if one != other {
            steps.append(other.map { "merges \(name) by \($0)" } ?? "merges \(name) as a whole")
        }
        return try upcast(named(former), named(elements)).map { upcast in
            try Upcast(
                from: former.entity, to: elements.entity, slots: upcast.slots,
                defaults: upcast.defaults)
        }
    }

    /// Returns the former slots of properties, by name.
    private mutating func formerSlots(_ old: Entity, _ new: Entity) -> [Slot?] {
        var slots: [Slot?] = []
        let names = origins.propertyNames[new.name] ?? [:]
        for property in new.properties {
            var slot =
                old.slot(of: property.name)
                ?? names[property.name]?.lazy.compactMap { name in
                    new.slot(of: name) == nil ? old.slot(of: name) : nil
                }.first
            if let former = slot, old.isPresence(former) != new.isPresence(Slot(slots.count)) {
                slot = nil
            }
            if let former = slot, let heir = slots.firstIndex(of: former) {
                problems.append(
                    "\(new.name).\(old.properties[former].name) of the store can't become both "
                        + "\(new.properties[heir].name) and \(property.name)")
                slot = nil
            }
            if let former = slot, origins.allowsPlaceholders,
                !isCompatible(old.properties[former], property)
            {
                slot = nil
            }
            slots.append(slot)
        }
        return slots
    }

    /// Returns whether the values of a property are also valid for its later form.
    private func isCompatible(_ old: Property, _ new: Property) -> Bool {
        new.canHoldValues(of: old)
            && number(ofTarget: old.target) == newNumber(ofTarget: new.target)
    }

    /// Returns the value that the property of an entity has for nil in an older record.
    private mutating func compare(
        _ former: Entity, _ formerSlot: Slot, _ entity: Entity, _ slot: Slot
    ) -> Value {
        let (old, new) = (former.properties[formerSlot], entity.properties[slot])
        let label = "\(entity.name).\(new.name)"
        guard isCompatible(old, new) else {
            problems.append(
                "\(label) is \(old.typeDescription) in the store and "
                    + "\(new.typeDescription) in the model")
            return .null
        }
        noteChanges(old, new, entity)
        let isMember = entity.optionalValue(at: slot) != nil
        let wasMissing =
            old.isOptional && !(isMember && former.isRequiredMember(formerSlot))
        let mayBeMissing = new.isOptional && !entity.isRequiredMember(slot)
        if wasMissing == mayBeMissing { return .null }
        if mayBeMissing {
            steps.append("lets \(label) be nil")
            return .null
        }
        guard let value = defaultValue(of: slot, entity) else {
            problems.append(
                "\(label) may be nil in the store; in the model it may not, and has no default "
                    + "value")
            return .null
        }
        steps.append("makes \(label) \(value) where it is nil")
        return value
    }

    /// Describes the changes of a property other than that it may be nil.
    private mutating func noteChanges(_ old: Property, _ new: Property, _ entity: Entity) {
        let label = "\(entity.name).\(new.name)"
        if old.name != new.name {
            steps.append("renames \(entity.name).\(old.name) to \(new.name)")
        }
        if old.hasPosition != new.hasPosition {
            steps.append(
                new.hasPosition
                    ? "orders the objects that share a \(label)"
                    : "drops the order of the objects that share a \(label)")
        }
        if old.isCounter != new.isCounter {
            steps.append(
                new.isCounter
                    ? "adds up changes of \(label)" : "no longer adds up changes of \(label)")
        }
        steps += new.changesOfOrigin(since: old, label)
        if old.type != new.type { steps.append("widens \(label) from \(old.type) to \(new.type)") }
    }

    /// Returns the value of a new property in older objects.
    private mutating func added(_ slot: Slot, _ entity: Entity) -> Value {
        let property = entity.properties[slot]
        let label = "\(entity.name).\(property.name)"
        let mayBeMissing = property.isOptional && !entity.isRequiredMember(slot)
        guard let value = defaultValue(of: slot, entity) ?? (mayBeMissing ? .null : nil) else {
            problems.append(
                "the model has \(label), the store does not, and \(property.lackOfDefault)")
            return .null
        }
        steps.append("adds \(label), \(property.typeDescription), as \(value)")
        return value
    }

    /// Returns the declared default; nil when there is none, or it is not a value of the property.
    private func defaultValue(of slot: Slot, _ entity: Entity) -> Value? {
        let property = entity.properties[slot]
        let mayBeMissing = property.isOptional && !entity.isRequiredMember(slot)
        if property.isDerived, !property.isOptional { return property.type.placeholder }
        if property.seal != nil {
            // What one object's key has sealed is no value of another. Code that migrates seals
            // values in place of these.
            return origins.allowsPlaceholders && !property.isOptional ? .data(Data()) : nil
        }
        // The store has no bytes for it, and code cannot give them to objects that were deleted.
        if property.isLarge { return nil }
        guard let value = origins.defaults[entity.name]?[property.name]?(),
            property.accepts(value), property.type != .reference
        else {
            return origins.allowsPlaceholders && !mayBeMissing
                ? property.type.placeholder : nil
        }
        return value == .null && !mayBeMissing ? nil : value
    }
}

extension Property {
    /// Says that the property has no value for older objects.
    fileprivate var lackOfDefault: String {
        if seal != nil { return "a sealed attribute has no default value: make it optional" }
        if isLarge { return "large data has no default value: make it optional" }
        return "there is no default value"
    }
}

extension Property {
    /// Returns the steps by which the value of a property comes from elsewhere than before: an
    /// expression, or the key of an object.
    fileprivate func changesOfOrigin(since old: Property, _ label: String) -> [String] {
        var steps: [String] = []
        if old.derivation != derivation {
            steps.append(isDerived ? "derives \(label)" : "no longer derives \(label)")
        }
        if let seal, old.seal != seal {
            steps.append("seals \(label) by \(seal.ownerName) when it is saved")
        }
        return steps
    }
}

// MARK: - Attributes that become embedded values of the same name, and the other way round

extension SchemaComparison {
    /// Returns the reasons why names of attributes can't become names of embedded values: without
    /// code, all values would be lost.
    ///
    /// - Parameters:
    ///   - old: the entity of the store.
    ///   - new: the declared entity.
    ///   - slots: for each declared property, the slot of the store that it has its values from.
    /// - Returns: a reason for each such name of which values would be lost.
    func embeddingProblems(_ old: Entity, _ new: Entity, _ slots: [Slot?]) -> [String] {
        if origins.allowsPlaceholders { return [] }
        var forms: [Substring: String] = [:]
        for slot in new.properties.slots { forms[new.root(of: slot)] = new.form(at: slot) }
        var problems: [String] = []
        for slot in old.properties.slots where !slots.contains(slot) {
            let (root, former) = (old.root(of: slot), old.form(at: slot))
            guard let form = forms[root], old.isEmbedded(slot) != (form == Entity.embeddedForm)
            else { continue }
            problems.append(
                "\(new.name).\(root) is \(former) in the store and \(form) in the model")
            forms[root] = nil
        }
        return problems
    }
}

extension Entity {
    fileprivate static let embeddedForm = "an embedded value"

    /// Returns the name of a property, or of the embedded value that it is a member of.
    fileprivate func root(of slot: Slot) -> Substring {
        properties[slot].name.prefix { $0 != "." }
    }

    fileprivate func isEmbedded(_ slot: Slot) -> Bool {
        isPresence(slot) || properties[slot].name.contains(".")
    }

    fileprivate func form(at slot: Slot) -> String {
        isEmbedded(slot) ? Self.embeddedForm : properties[slot].typeDescription
    }
}

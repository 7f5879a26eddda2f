import StetStore

/// A change whose entity and properties exist in the store.
struct CheckedChange {
    let kind: ChangeKind
    let key: ObjectKey
    /// The old values, by slot.
    var old: [Slot: Value] = [:]
    var new: [Slot: Value] = [:]
    var links: [(end: MemberEnd, change: RelationshipChange.Member)] = []

    /// Returns the changes that fit the schema, and the mismatches of the others.
    static func changes(
        of changeSet: ChangeSet, _ schema: Schema
    ) -> ([CheckedChange], [ChangeSetError.Problem]) {
        var problems: [ChangeSetError.Problem] = []
        var seen: Set<ObjectID> = []
        var checked: [CheckedChange] = []
        for change in changeSet.changes {
            let problemCount = problems.count
            func report(_ message: String, _ property: String? = nil) {
                problems.append(
                    ChangeSetError.Problem(
                        entity: change.entity, object: change.id, property: property,
                        message: message))
            }
            guard let number = schema.number(ofEntity: change.entity) else {
                report("there is no model \(change.entity)")
                continue
            }
            if change.id == .none { report("the object has no id") }
            if !seen.insert(change.id).inserted { report("the object is changed twice") }
            var result = CheckedChange(kind: change.kind, key: ObjectKey(number, change.id))
            result.takeProperties(of: change, schema.entities[number], report)
            result.takeRelationships(of: change, schema, report)
            if problems.count == problemCount { checked.append(result) }
        }
        return (checked, problems)
    }

    private mutating func takeProperties(
        of change: ObjectChange, _ entity: Entity, _ report: (String, String?) -> Void
    ) {
        for property in change.properties where !property.isWithheld(in: change) {
            guard let slot = entity.slot(of: property.name) else {
                report("\(change.entity) has no property \(property.name)", property.name)
                continue
            }
            // A derived attribute follows its expression, whatever the change set says.
            if entity.properties[slot].isDerived { continue }
            if new[slot] != nil { report("the property is changed twice", property.name) }
            let isAbsurd = entity.isPresence(slot) && property.new == .bool(false)
            if change.kind != .delete,
                isAbsurd || !entity.properties[slot].acceptsUnplaced(property.new)
            {
                report("the value does not fit its type", property.name)
            }
            old[slot] = property.old
            new[slot] = property.new
        }
        for value in entity.optionalValues
        where change.kind != .delete
            && (new[value.presence] ?? (change.kind == .insert ? .null : .bool(true))) == .null
        {
            for slot in value.members where new[slot] ?? .null != .null {
                let owner = entity.properties[value.presence].name
                report("\(owner) is nil, so no member has a value", entity.properties[slot].name)
            }
        }
        if change.kind != .insert { return }
        for (slot, property) in entity.properties.slotted
        where new[slot] == nil && !property.isOptional && !property.isDerived {
            report("the inserted object needs a value for it", property.name)
        }
    }

    private mutating func takeRelationships(
        of change: ObjectChange, _ schema: Schema, _ report: (String, String?) -> Void
    ) {
        let entity = schema.entities[key.entity]
        for relationship in change.relationships {
            let name = relationship.name
            guard let present = entity.relationships.first(where: { $0.name == name }) else {
                report("\(change.entity) has no relationship \(name)", name)
                continue
            }
            guard let end = schema.membersEnd(of: present), !end.isReference else {
                report("its members are changed by changing their reference", name)
                continue
            }
            for member in relationship.members { links.append((end, member)) }
        }
    }
}

extension PropertyChange {
    /// Returns whether the values of a hidden property were left out when the change was encoded.
    fileprivate func isWithheld(in change: ObjectChange) -> Bool {
        isHidden && old == .null && new == .null && change.kind != .insert
    }
}

extension Property {
    /// Returns whether a value suits the property; a reference need not have a position yet.
    fileprivate func acceptsUnplaced(_ value: Value) -> Bool {
        if case .reference = value, type == .reference { return true }
        return accepts(value)
    }
}

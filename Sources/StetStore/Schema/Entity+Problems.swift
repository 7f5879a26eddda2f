extension Entity {
    /// The reason why no schema can contain the entity; nil when there is none.
    var problem: String? {
        if isRemoved, indexes.isEmpty { return nil }
        if name.isEmpty || name.utf8.count > Limits.nameByteCount {
            return "an entity's name needs 1 to \(Limits.nameByteCount) bytes"
        }
        if properties.count > Limits.propertyCount {
            return
                "\(name) has \(properties.count) properties, the limit is \(Limits.propertyCount)"
        }
        if indexes.count > Limits.indexCount {
            return "\(name) has \(indexes.count) indexes, the limit is \(Limits.indexCount)"
        }
        if indexes.count(where: \.isText) > 1 { return "\(name) has two indexes of words" }
        return problemOfProperties ?? indexes.lazy.compactMap { $0.problem(in: self) }.first
    }

    private var problemOfProperties: String? {
        var names: Set<String> = []
        for property in properties {
            if property.name.isEmpty || property.name.utf8.count > Limits.nameByteCount {
                return "a property's name needs 1 to \(Limits.nameByteCount) bytes"
            }
            if max(property.rules.count, property.normalizers.count) > UInt8.max {
                return "\(name).\(property.name) has more than \(UInt8.max) rules"
            }
            if !names.insert(property.name).inserted {
                return "\(name) has two properties called \(property.name)"
            }
            if (property.type == .reference) != (property.target != nil) {
                return "\(name).\(property.name) must name its target exactly if it is a reference"
            }
            if property.type != .reference, property.deleteRule != .nullify || property.hasPosition
            {
                return "\(name).\(property.name) has a delete rule or a position, but refers to "
                    + "nothing"
            }
            if property.isCounter, !property.type.isInteger || property.isOptional {
                return
                    "\(name).\(property.name) is a counter, which must be an integer that is not "
                    + "optional"
            }
            if property.isDerived,
                property.stamp != nil || property.isCounter
                    || !property.normalizers.isEmpty || !property.type.canBeDerived
            {
                return
                    "\(name).\(property.name) is derived, which a \(property.typeDescription) with "
                    + "stamps, normalizers or increments can't be"
            }
            if property.isLarge,
                property.type != .data || property.seal != nil || property.isDerived
                    || property.rules.contains(where: { $0 != .required })
            {
                return "\(name).\(property.name) is large data, which has no rules and no seal"
            }
            if let problem = problemOfSeal(property) {
                return "\(name).\(property.name) \(problem)"
            }
            if property.elements.count != property.type.elementTypeCount
                || !property.elements.allSatisfy(\.isElement)
            {
                return "\(name).\(property.name) is a \(property.type) of unknown elements"
            }
            if let problem = problemOfElements(property) {
                return "\(name).\(property.name) \(problem)"
            }
            for rule in property.rules {
                if let problem = rule.problem(with: property) {
                    return "\(rule) \(problem) \(name).\(property.name), "
                        + "which is a \(property.type)"
                }
            }
        }
        return nil
    }

    private func problemOfElements(_ property: Property) -> String? {
        guard property.type == .list, property.elements == [.embedded] else {
            return property.type == .embedded || property.elements.contains(.embedded)
                || property.embedded != nil
                ? "has embedded values, of which only an array can consist" : nil
        }
        guard let elements = property.embedded else { return "has elements without members" }
        let members = elements.entity
        return elements.problem
            ?? Entity(name: property.name, properties: members.properties).problem.map {
                "has elements that can't be stored: \($0)"
            }
    }

    private func problemOfSeal(_ property: Property) -> String? {
        guard let seal = property.seal else { return nil }
        let hasRules = property.rules.contains { $0 != .required }
        if property.type != .data || hasRules || !property.normalizers.isEmpty
            || property.isDerived
        {
            return "is sealed, and can't have rules, normalizers or an expression"
        }
        let unique = indexes.filter(\.isUnique).flatMap(\.parts).map(\.slot)
        if let slot = slot(of: property.name), unique.contains(slot) {
            return "is sealed, and can't be unique: equal values differ once a key is rotated"
        }
        guard case .reference(let owner) = seal else { return nil }
        guard let slot = slot(of: owner), properties[slot].type == .reference else {
            return "is sealed by \(owner), which is no relationship to one of \(name)"
        }
        return nil
    }

    /// Returns the slot of the reference to the object by whose key values are sealed; nil for the
    /// object itself.
    package func slot(ofOwner seal: Seal) -> Slot? {
        if case .reference(let name) = seal { slot(of: name) } else { nil }
    }

    /// Returns whether the property in a slot is in an index.
    package func isIndexed(_ slot: Slot) -> Bool {
        indexes.contains { $0.parts.contains { $0.slot == slot } }
    }
}

import StetStore

extension MigrationDriver {
    mutating func index(_ number: EntityNumber, _ entity: Entity, _ slot: Slot) {
        log.append("index \(entity.name).\(entity.properties[slot].name)")
        let tested = QueryNode.property(.root, slot: pick(entity.properties.slots) ?? slot)
        let index = EntityIndex(0).only(where: .comparison(.notEqual, tested, .constant(.null)))
        let texts = [EntityIndex(words: [slot]), EntityIndex(substringsOf: slot)]
        let isText = entity.properties[slot].type == .string
        let ofTexts = isText && Bool.random(using: &generator) ? pick(texts) : nil
        replace(number, entity.properties, indexes: [ofTexts ?? EntityIndex(slot), index]) { $0 }
    }

    mutating func toggleCounter(_ number: EntityNumber, _ entity: Entity) {
        var properties = entity.properties
        guard
            let slot = properties.slots.first(where: {
                properties[$0].type.isInteger && !properties[$0].isOptional
            }), settled.insert(properties[slot].name).inserted
        else { return }
        log.append("counter \(entity.name).\(properties[slot].name)")
        properties[slot] = properties[slot].with(isCounter: !properties[slot].isCounter)
        replace(number, properties) { $0 }
    }

    mutating func add(to number: EntityNumber, _ entity: Entity) {
        var properties = entity.properties
        let name = "new\(newName())"
        let isReference = Bool.random(using: &generator)
        let target = isReference ? pick(live).flatMap { entities[$0]?.name } : nil
        let property = Property(
            name: name, type: target == nil ? .string : .reference, isOptional: target != nil,
            target: target)
        log.append("add \(entity.name).\(name)")
        let slot = Int.random(in: 0...properties.count, using: &generator)
        properties.insert(property, at: slot)
        let value: Value = target == nil ? .string("default \(name)") : .null
        if target == nil { origins.defaults[entity.name, default: [:]][name] = { value } }
        replace(number, properties) { values in
            var values = values
            values.insert(value, at: slot)
            return values
        }
    }

    mutating func changeOptionality(_ number: EntityNumber, _ entity: Entity, _ slot: Slot) {
        var properties = entity.properties
        let property = properties[slot]
        // Skips properties that this version has added or already changed in this way.
        if property.name.hasPrefix("new") || !settled.insert(property.name).inserted { return }
        log.append("optionality of \(entity.name).\(property.name)")
        properties[slot] = property.with(isOptional: !property.isOptional)
        guard property.isOptional else { return replace(number, properties) { $0 } }
        let value: Value =
            switch property.type {
            case .string: .string("was nil")
            case .double: .double(7)
            default: .int(7)
            }
        origins.defaults[entity.name, default: [:]][property.name] = { value }
        replace(number, properties) { values in
            var values = values
            if values[slot] == .null { values[slot] = value }
            return values
        }
    }

    mutating func addOrRemoveEntity() {
        if live.count < 3 || Bool.random(using: &generator) {
            let name = "new\(newName())"
            log.append("add \(name)")
            entities.append(
                Entity(name: name, properties: [Property(name: "s", type: .string)]))
            return
        }
        guard let number = pick(live), let gone = entities[number],
            !gone.name.hasPrefix("new")
        else { return }
        log.append("remove \(gone.name)")
        for other in live where other != number {
            guard let entity = entities[other] else { continue }
            let kept = entity.properties.slots.filter {
                entity.properties[$0].target != gone.name
            }
            replace(other, kept.map { entity.properties[$0] }) { values in
                kept.map { values[$0] }
            }
        }
        entities[number] = nil
        for index in states.indices {
            states[index] = states[index].filter { $0.key.entity != number }
        }
    }

    mutating func rename(_ number: EntityNumber, _ entity: Entity) {
        let name = "renamed\(newName())"
        log.append("rename \(entity.name) to \(name)")
        origins.entityNames[name] = entity.name
        let (names, defaults) = (origins.propertyNames, origins.defaults)
        origins.propertyNames[entity.name] = nil
        origins.propertyNames[name] = names[entity.name]
        origins.defaults[entity.name] = nil
        origins.defaults[name] = defaults[entity.name]
        for other in live {
            guard let present = entities[other] else { continue }
            entities[other] = Entity(
                name: other == number ? name : present.name,
                properties: present.properties.map { property in
                    property.target == entity.name ? property.with(target: name) : property
                }, indexes: present.indexes)
        }
    }
}

extension Property {
    func with(
        name: String? = nil, type: ValueType? = nil, isOptional: Bool? = nil,
        target: String? = nil, isCounter: Bool? = nil
    ) -> Property {
        let type = type ?? self.type
        let isOptional = isOptional ?? self.isOptional
        return Property(
            name: name ?? self.name, type: type, isOptional: isOptional,
            target: target ?? self.target,
            isCounter: (isCounter ?? self.isCounter) && !isOptional && type.isInteger)
    }
}

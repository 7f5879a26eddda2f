import StetStore

extension TraitDriver {
    /// Makes one random change of the models.
    mutating func mutate() throws {
        let number: EntityNumber = chance(3) ? 2 : 1
        let traits = entities[number].traits.filter { $0.kind != .reference }
        let composed = traits.filter(\.hasMembers)
        guard let trait = pick(composed.isEmpty || chance(2) ? traits : composed) else { return }
        switch Int.random(in: 0..<15, using: &generator) {
        case 0: try add(to: number)
        case 1, 2: remove(trait, from: number)
        case 3:
            if trait.kind == .sealed { return }
            update(number, trait.id, "rename", settles: false) { $0.name = "r\($1.newID())" }
        case 4: toggle(trait, of: number)
        case 5: entities[number].traits = entities[number].traits.shuffled(using: &generator)
        case 6: derive(trait, of: number)
        case 7: index(trait, of: number)
        case 8: identify(trait, of: number)
        case 10: move(trait, of: number)
        case 9:
            guard let type = trait.type.wider, trait.isLeaf else { return }
            update(number, trait.id, "widen") { trait, _ in trait.kind = .number(type) }
        default: try changeMember(of: trait, of: number)
        }
    }

    /// Changes a trait that this version has not changed yet.
    mutating func update(
        _ number: EntityNumber, _ id: Int, _ step: String, settles: Bool = true,
        _ body: (inout Trait, inout TraitDriver) -> Void
    ) {
        guard let index = entities[number].traits.firstIndex(where: { $0.id == id }),
            !settles || settled.insert(id).inserted
        else { return }
        log.append("\(step) \(entities[number].traits[index].name)")
        var trait = entities[number].traits[index]
        body(&trait, &self)
        entities[number].traits[index] = trait
    }

    /// Changes the objects of an entity in all states.
    mutating func forEachObject(
        _ number: EntityNumber, _ body: (inout Object) -> Void
    ) {
        for index in states.indices {
            for (key, var object) in states[index] where key.entity == number {
                body(&object)
                states[index][key] = object
            }
        }
    }

    // MARK: Added and removed traits

    private mutating func newTrait(_ kind: Trait.Kind) -> Trait {
        let id = newID()
        added.insert(id)
        settled.insert(id)
        let isOptional = chance(2)
        return Trait(id: id, name: "t\(id)", kind: kind, isOptional: isOptional)
    }

    mutating func newLeaf() -> Trait {
        let type = pick([ValueType.int8, .int16, .int]) ?? .int
        let isText = chance(2)
        return newTrait(isText ? .text : .number(type))
    }

    private mutating func add(to number: EntityNumber) throws {
        var trait = newLeaf()
        switch Int.random(in: 0..<6, using: &generator) {
        case 0, 1:
            trait = newTrait(.embedded)
            trait.members = [newLeaf(), newLeaf()]
        case 2, 3:
            trait = newTrait(.array)
            trait.members = [newLeaf(), newLeaf(), newLeaf()]
            trait.identity = trait.members.first { !$0.isOptional && chance(2) }?.id
        case 4:
            let isLarge = chance(2)
            trait = newTrait(isLarge ? .large : .sealed)
            trait.isOptional = true
        default: if chance(2) { trait.expression = expression(for: trait, of: number) }
        }
        log.append("add \(trait)")
        try setDefaults(of: trait)
        let isDeclared = trait.kind != .embedded || !trait.isOptional || chance(2)
        if trait.kind == .embedded, trait.isOptional, isDeclared {
            defaults[trait.id] = .bool(true)
        }
        let values = defaults
        forEachObject(number) { object in
            object[trait.id] = values[trait.id]
            if trait.kind != .embedded || !isDeclared { return }
            object[trait.id] = .bool(true)
            for member in trait.members { object[member.id] = values[member.id] }
        }
        let place = Int.random(in: 0...entities[number].traits.count, using: &generator)
        entities[number].traits.insert(trait, at: place)
    }

    /// Chooses the values that objects of earlier versions have of a new trait.
    private mutating func setDefaults(of trait: Trait) throws {
        if trait.kind == .embedded {
            for member in trait.members { try setDefaults(of: member) }
        } else if trait.isOptional {
            return
        } else if trait.expression != nil {
            defaults[trait.id] = trait.kind == .text ? .string("") : .int(0)
        } else {
            // Names of members have no meaning in a default, so an array begins without elements.
            defaults[trait.id] = trait.kind == .array ? .list([]) : try value(trait, of: nil)
        }
        if trait.kind == .array {
            for member in trait.members where !member.isOptional {
                defaults[member.id] = try value(member, of: nil)
            }
        }
    }

    private mutating func remove(_ trait: Trait, from number: EntityNumber) {
        if isRead(trait, of: number) || entities[number].traits.count < 3 { return }
        log.append("remove \(trait.name)")
        entities[number].traits.removeAll { $0.id == trait.id }
    }

    func isRead(_ trait: Trait, of number: EntityNumber) -> Bool {
        let ids = [trait.id] + trait.members.map(\.id)
        return entities.flatMap(\.traits).contains {
            $0.expression.map { ids.contains($0.input) } ?? false
        }
    }

    // MARK: Values that may be nil

    private mutating func toggle(_ trait: Trait, of number: EntityNumber) {
        if [.large, .sealed].contains(trait.kind) || settled.contains(trait.id) { return }
        if trait.expression != nil { return toggleDerived(trait, of: number) }
        if trait.kind == .embedded, !trait.isOptional,
            trait.members.allSatisfy({ added.contains($0.id) })
        {
            return
        }
        // What reads the trait may have no value then.
        let isRead = isRead(trait, of: number)
        if isRead, !trait.isOptional, chance(2) { return }
        update(number, trait.id, "optional \(!trait.isOptional)") { trait, driver in
            trait.isOptional.toggle()
            if trait.isOptional { return driver.guardReaders(of: trait) }
            driver.fillMissing(trait, of: number)
        }
    }

    /// Gives each derived attribute that must have a value one where its input has none.
    mutating func guardReaders(of trait: Trait) {
        let ids = [trait.id] + trait.members.map(\.id)
        for number in entities.indices {
            for index in entities[number].traits.indices {
                let reader = entities[number].traits[index]
                guard let expression = reader.expression, ids.contains(expression.input),
                    !reader.isOptional
                else { continue }
                let value = fallback(reader)
                entities[number].traits[index].expression?.fallback = value
            }
        }
    }

    private func fallback(_ trait: Trait) -> Value {
        trait.kind == .text ? .string("none") : .int(100)
    }

    private mutating func fillMissing(_ trait: Trait, of number: EntityNumber) {
        switch trait.kind {
        case .embedded:
            for member in trait.members where !member.isOptional && defaults[member.id] == nil {
                defaults[member.id] = member.kind == .text ? .string("absent") : .int(5)
            }
            let values = defaults
            forEachObject(number) { object in
                if object[trait.id] == .bool(true) { return }
                object[trait.id] = .bool(true)
                for member in trait.members {
                    object[member.id] = member.isOptional ? .null : values[member.id]
                }
            }
        default:
            let value: Value =
                trait.kind == .array ? .list([]) : trait.kind == .text ? .string("nil") : .int(7)
            defaults[trait.id] = value
            forEachObject(number) { if $0[trait.id] ?? .null == .null { $0[trait.id] = value } }
        }
    }

    private mutating func toggleDerived(_ trait: Trait, of number: EntityNumber) {
        update(number, trait.id, "derived optional \(!trait.isOptional)") { trait, driver in
            trait.isOptional.toggle()
            if trait.isOptional { return }
            let fallback = driver.fallback(trait)
            trait.expression?.fallback = fallback
            let value: Value = trait.kind == .text ? .string("") : .int(0)
            driver.forEachObject(number) {
                if $0[trait.id] ?? .null == .null { $0[trait.id] = value }
            }
        }
    }

    // MARK: Derived attributes and indexes

    /// Returns an expression for a trait that reads no other derived attribute.
    private mutating func expression(
        for trait: Trait, of number: EntityNumber
    ) -> Trait.Expression? {
        let crosses = number == 1 && chance(2)
        let source = entities[crosses ? 2 : number]
        let inputs = source.places.filter { place in
            !place.isPresence && place.trait.isLeaf && place.trait.expression == nil
                && (place.trait.kind == .text) == (trait.kind == .text)
                && place.trait.id != trait.id
        }
        guard let input = pick(inputs) else { return nil }
        let needsFallback = !trait.isOptional || chance(2)
        return Trait.Expression(
            input: input.trait.id, crossesReference: crosses,
            fallback: needsFallback ? fallback(trait) : nil)
    }

    private mutating func derive(_ trait: Trait, of number: EntityNumber) {
        if !trait.isLeaf || isRead(trait, of: number) || settled.contains(trait.id) { return }
        let isPlain = trait.expression != nil && chance(2)
        let expression = isPlain ? nil : expression(for: trait, of: number)
        if expression == trait.expression { return }
        update(number, trait.id, "derive by \(String(describing: expression))") { trait, _ in
            trait.expression = expression
        }
    }

    private mutating func index(_ trait: Trait, of number: EntityNumber) {
        guard trait.isLeaf || trait.kind == .embedded, !settled.contains(trait.id) else { return }
        let member = pick(Array(trait.members.indices))
        let leaf = member.map { trait.members[$0] } ?? trait
        let indexes: [Trait.Index] = [.none, .values] + (leaf.kind == .text ? [.substrings] : [])
        let index = pick(indexes) ?? .none
        update(number, trait.id, "index \(leaf.name) by \(index)", settles: false) { trait, _ in
            if let member { trait.members[member].index = index } else { trait.index = index }
        }
    }
}

extension ValueType {
    /// The integer type to which the test widens this one.
    var wider: ValueType? {
        switch self {
        case .int8: .int16
        case .int16: .int32
        case .int32: .int
        default: nil
        }
    }
}

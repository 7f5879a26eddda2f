import StetStore

extension TraitDriver {
    mutating func identify(_ trait: Trait, of number: EntityNumber) {
        if trait.kind != .array { return }
        let identity = chance(2) ? nil : pick(trait.members.filter { !$0.isOptional })?.id
        update(number, trait.id, "identify by \(identity ?? 0)", settles: false) { trait, _ in
            trait.identity = identity
        }
    }

    mutating func changeMember(of trait: Trait, of number: EntityNumber) throws {
        guard trait.hasMembers, let member = pick(trait.members) else { return }
        let isChanged = settled.contains(member.id)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: try addMember(to: trait, of: number)
        case 1:
            let rest = trait.members.filter { $0.id != member.id && !added.contains($0.id) }
            if rest.isEmpty || isRead(member, of: number) || trait.identity == member.id { return }
            update(number, trait.id, "remove \(member.name) of", settles: false) { trait, _ in
                trait.members.removeAll { $0.id == member.id }
            }
        case 2:
            updateMember(member, of: trait, of: number, "rename") { $0.name = "m\($1.newID())" }
        case 3:
            guard !isChanged, let type = member.type.wider, member.isLeaf else { return }
            settled.insert(member.id)
            updateMember(member, of: trait, of: number, "widen") { member, _ in
                member.kind = .number(type)
            }
        default:
            if isChanged || trait.identity == member.id { return }
            settled.insert(member.id)
            updateMember(member, of: trait, of: number, "optional \(!member.isOptional)") {
                $0.isOptional.toggle()
                if $0.isOptional { return $1.guardReaders(of: $0) }
                $1.defaults[$0.id] = $0.kind == .text ? .string("was nil") : .int(8)
            }
            fill(member, of: trait, of: number)
        }
    }

    private mutating func updateMember(
        _ member: Trait, of trait: Trait, of number: EntityNumber, _ step: String,
        _ body: (inout Trait, inout TraitDriver) -> Void
    ) {
        update(number, trait.id, "\(step) \(member.name) of", settles: false) { trait, driver in
            for index in trait.members.indices where trait.members[index].id == member.id {
                body(&trait.members[index], &driver)
            }
        }
    }

    /// Makes a property a member of an embedded value that is not optional, or the other way round.
    mutating func move(_ trait: Trait, of number: EntityNumber) {
        let traits = entities[number].traits
        if let member = pick(trait.members), trait.kind == .embedded, !trait.isOptional {
            if settled.contains(trait.id) || trait.members.count < 2 { return }
            update(number, trait.id, "move \(member.name) out of") { trait, _ in
                trait.members.removeAll { $0.id == member.id }
            }
            entities[number].traits.append(member)
        } else if trait.isLeaf, trait.expression == nil, traits.count > 3 {
            let values = traits.filter {
                $0.kind == .embedded && !$0.isOptional && !settled.contains($0.id)
            }
            guard let value = pick(values) else { return }
            entities[number].traits.removeAll { $0.id == trait.id }
            update(number, value.id, "move \(trait.name) into") { value, _ in
                value.members.append(trait)
            }
        }
    }

    private mutating func addMember(to trait: Trait, of number: EntityNumber) throws {
        let member = newLeaf()
        if !member.isOptional { defaults[member.id] = try value(member, of: nil) }
        update(number, trait.id, "add \(member) to", settles: false) { trait, driver in
            let place = Int.random(in: 0...trait.members.count, using: &driver.generator)
            trait.members.insert(member, at: place)
        }
        fill(member, of: trait, of: number)
    }

    /// Gives a member its default wherever it has no value.
    private mutating func fill(_ member: Trait, of trait: Trait, of number: EntityNumber) {
        guard let value = defaults[member.id] else { return }
        forEachObject(number) { object in
            if trait.kind == .embedded {
                if object[trait.id] != .bool(true) { return }
                if object[member.id] ?? .null == .null { object[member.id] = value }
            } else if case .list(let elements)? = object[trait.id] {
                object[trait.id] = .list(
                    elements.map { element in
                        guard case .dictionary(var members) = element else { return element }
                        if members[.int(member.id)] ?? .null == .null {
                            members[.int(member.id)] = value
                        }
                        return .dictionary(members)
                    })
            }
        }
    }
}

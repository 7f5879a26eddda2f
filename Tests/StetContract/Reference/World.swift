/// A source and a target that are linked.
struct Pair: Hashable {
    let source: Label
    let target: Label
}

/// The list of one owner.
struct OwnedList: Hashable {
    let list: List
    let owner: Label
}

/// A state of a store, or of a context with its pending changes: plain values, in which objects are
/// numbers.
///
/// It does not use any code under test.
struct World: Equatable {
    struct Object: Equatable {
        let kind: Kind
        var name = ""
        var key: String?
        /// The number of the content that is its large data.
        var file: Int?
        var secret: Secret?
        var parts: [Part] = []
        var trail: [Spot] = []
        var spot = Spot()
        var pose: Spot?
        var number = 0
        /// The sum of all increments.
        var count = 0
        /// The time of the last save that changed the object's values.
        var stamp: Int?
        var references: [Relation: Label] = [:]

        /// The values that no other object of the kind may have: the key, or key and number.
        var claim: String? {
            switch kind {
            case .box, .item: key
            case .tag: number >= 5 ? nil : key
            case .leaf: key.map { "\($0) \(number)" }
            }
        }
    }

    var objects: [Label: Object] = [:]
    var links: [Relation: Set<Pair>] = [:]
    /// The members of ordered lists, including members that are deleted but not saved.
    var order: [OwnedList: [Label]] = [:]
    /// The objects that are deleted but not saved.
    var dead: Set<Label> = []

    // MARK: Looking

    func isAlive(_ label: Label) -> Bool { objects[label] != nil && !dead.contains(label) }

    func hasLost(_ label: Label) -> Bool { objects[label] == nil }

    func alive(_ kind: Kind) -> [Label] {
        objects.filter { $1.kind == kind && !dead.contains($0) }.keys.sorted()
    }

    /// Returns the objects with a key, and with a number where the two are unique together.
    func alive(_ kind: Kind, with key: String, _ number: Int) -> [Label] {
        let claim = Object(kind: kind, key: key, number: number).claim
        return alive(kind).filter { objects[$0]?.claim == claim }
    }

    /// Returns the members of a list, in their order if it has one.
    func members(_ list: List, of owner: Label) -> [Label] {
        if list.isOrdered {
            return (order[OwnedList(list: list, owner: owner)] ?? []).filter(isAlive)
        }
        return Array(sources(list, owner)).filter(isAlive).sorted()
    }

    private func sources(_ list: List, _ owner: Label) -> [Label] {
        if !list.relation.isLink {
            return objects.compactMap { $1.references[list.relation] == owner ? $0 : nil }
        }
        return (links[list.relation] ?? []).compactMap { pair in
            list.isAtSource
                ? (pair.source == owner ? pair.target : nil)
                : (pair.target == owner ? pair.source : nil)
        }
    }

    // MARK: Editing

    /// Returns the list whose order a relationship has.
    private func ordered(_ relation: Relation, _ source: Label, _ target: Label) -> OwnedList? {
        guard relation.isOrdered else { return nil }
        return OwnedList(
            list: List(relation: relation, isAtSource: relation.isLink),
            owner: relation.isLink ? source : target)
    }

    mutating func refer(_ relation: Relation, _ source: Label, to target: Label?) {
        let old = objects[source]?.references[relation]
        if old == target { return }
        if let old, let list = ordered(relation, source, old) {
            order[list]?.removeAll { $0 == source }
        }
        objects[source]?.references[relation] = target
        if let target, let list = ordered(relation, source, target) {
            order[list, default: []].append(source)
        }
    }

    mutating func setLink(_ relation: Relation, _ pair: Pair, _ isPresent: Bool) {
        if isPresent {
            guard links[relation, default: []].insert(pair).inserted else { return }
        } else {
            guard links[relation]?.remove(pair) != nil else { return }
        }
        guard let list = ordered(relation, pair.source, pair.target) else { return }
        if isPresent {
            order[list, default: []].append(pair.target)
        } else {
            order[list]?.removeAll { $0 == pair.target }
        }
    }

    mutating func setMember(_ list: List, of owner: Label, _ member: Label, _ isPresent: Bool) {
        if list.relation.isLink {
            let pair =
                list.isAtSource
                ? Pair(source: owner, target: member) : Pair(source: member, target: owner)
            setLink(list.relation, pair, isPresent)
        } else if isPresent {
            refer(list.relation, member, to: owner)
        } else if objects[member]?.references[list.relation] == owner {
            refer(list.relation, member, to: nil)
        }
    }

    /// Makes an object a member at an index.
    mutating func place(_ list: List, of owner: Label, _ member: Label, at index: Int) {
        setMember(list, of: owner, member, true)
        var present = order[OwnedList(list: list, owner: owner)] ?? []
        present.removeAll { $0 == member }
        let others = present.filter(isAlive)
        let place =
            index < others.count ? present.firstIndex(of: others[index])! : present.endIndex
        present.insert(member, at: place)
        order[OwnedList(list: list, owner: owner)] = present
    }

    mutating func assign(_ list: List, of owner: Label, _ wanted: [Label]) {
        for member in members(list, of: owner) where !wanted.contains(member) {
            setMember(list, of: owner, member, false)
        }
        for member in wanted { setMember(list, of: owner, member, true) }
        guard list.isOrdered else { return }
        let key = OwnedList(list: list, owner: owner)
        order[key] = wanted + (order[key] ?? []).filter { !wanted.contains($0) }
    }

    /// Removes an object as if it had never existed.
    mutating func forget(_ label: Label) {
        objects[label] = nil
        dead.remove(label)
        for (source, object) in objects {
            for (relation, target) in object.references where target == label {
                objects[source]?.references[relation] = nil
            }
        }
        for relation in Relation.links {
            links[relation] = links[relation]?.filter { $0.source != label && $0.target != label }
        }
        for key in order.keys {
            if key.owner == label {
                order[key] = nil
            } else {
                order[key]?.removeAll { $0 == label }
            }
        }
    }

    /// Removes the objects that are deleted but not saved.
    mutating func bury() {
        for label in dead { forget(label) }
    }

    /// The visible state in one form: without deleted objects and empty lists.
    var visible: World {
        var world = self
        world.dead = []
        for label in dead { world.objects[label] = nil }
        for relation in Relation.links {
            let pairs = (links[relation] ?? []).filter { isAlive($0.source) && isAlive($0.target) }
            world.links[relation] = pairs.isEmpty ? nil : pairs
        }
        world.order = [:]
        for key in order.keys where isAlive(key.owner) {
            let members = members(key.list, of: key.owner)
            if !members.isEmpty { world.order[key] = members }
        }
        return world
    }
}

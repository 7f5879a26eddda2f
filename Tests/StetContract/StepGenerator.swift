import StetTestSupport

/// Generates random steps that fit the state of the reference.
struct StepGenerator {
    private var generator: SeededGenerator
    private var nextLabel = 0

    /// True if asynchronous saves are generated.
    private let flies: Bool

    /// True if undos, redos and reverts are generated.
    private let undoes: Bool

    init(seed: UInt64, flies: Bool, undoes: Bool) {
        generator = SeededGenerator(seed: seed)
        self.flies = flies
        self.undoes = undoes
    }

    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    mutating func chance(_ count: Int) -> Bool { below(count) == 0 }

    private mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.randomElement(using: &generator)
    }

    mutating func move(_ scenes: [Scene]) -> Move {
        let context = below(scenes.count)
        let step = step(scenes[context], among: scenes.count)
        return Move(context: context, step: step, query: below(60))
    }

    private mutating func step(_ scene: Scene, among count: Int) -> Step {
        switch below(undoes ? 121 : 100) {
        case 100...110:
            let what: [TakingBack] = [.undo, .undo, .redo, .revert(below(6))]
            return .takeBack(
                pick(what)!, pick([.fail, .fail, .skip, .overwrite])!,
                chance(8) ? failure() : nil)
        case 111: return chance(4) ? .trim : .save(keepsPending: false, nil)
        case 112...117:
            // Nothing of a deleted object is in use.
            let label = chance(2) ? popular(scene.base) : 1 + below(nextLabel + 1)
            return .redact(label, pick(Attribute.allCases)!)
        case 118...120: return .group(chance(2))
        case 0..<75: return edit(scene)
        case 75...77: return keyStep(scene)
        case 78: return .rollBack
        case 79, 80: return .snapshot(below(3))
        case 81, 82: return .restore(below(3))
        case 83...85: return .edit(edits(scene), fails: chance(2))
        case 91...93 where flies:
            return .flight(
                later: chance(3) ? [] : (0...below(6)).map { _ in laterStep(scene) },
                end: end(), keepsPending: chance(3))
        case 86...94: return .save(keepsPending: chance(3), chance(6) ? failure() : nil)
        case 95: return .validate
        case 96:
            let label = any(scene.base)
            return pick([.letGo, .rotateKey(label), .rotateKey(label), .destroyKey(label)])!
        case 97: return .refresh
        case 98: return count > 1 || chance(4) ? .renew : .letGo
        default: return .policy(pick(Policy.allCases)!)
        }
    }

    /// Returns a change of the key of an object by which values are sealed, or a use of the present
    /// one.
    private mutating func keyStep(_ scene: Scene) -> Step {
        let secrets = scene.base.objects.values.compactMap(\.secret)
        let outdated = secrets.filter { $0.version < scene.keys.versions[$0.owner ?? -1] ?? 0 }
        if let owner = pick(Set(outdated.compactMap(\.owner)).sorted()), !chance(3) {
            return .sealAnew(owner)
        }
        // A value whose object does not refer to the owner any more is rare otherwise.
        let items = scene.base.objects.filter { $1.kind == .item && $1.secret?.owner != nil }
        let left = items.values.filter { $0.references[.box] != $0.secret?.owner }
        if left.isEmpty, chance(3), let item = pick(items.keys.sorted()) {
            return .refer(.box, item, nil)
        }
        let owners = chance(2) && !left.isEmpty ? left.compactMap(\.secret) : secrets
        guard let owner = pick(Set(owners.compactMap(\.owner)).sorted()) else {
            return edit(scene)
        }
        return chance(8) ? .destroyKey(owner) : chance(6) ? .sealAnew(owner) : .rotateKey(owner)
    }

    private mutating func end() -> FlightEnd {
        #if STET_FAULTS
            pick(FlightEnd.allCases)!
        #else
            pick([.landed, .refresh, .second])!
        #endif
    }

    private mutating func laterStep(_ scene: Scene) -> Step {
        switch below(20) {
        case 0: .rollBack
        case 1: .snapshot(below(3))
        case 2: .restore(below(3))
        case 3: .letGo
        default: edit(scene)
        }
    }

    private mutating func failure() -> Failure? {
        #if STET_FAULTS
            pick(Failure.allCases)
        #else
            .willCommit
        #endif
    }

    /// Returns a few edits in a closure, some of them in a nested closure.
    private mutating func edits(_ scene: Scene) -> [Step] {
        (0...below(4)).map { _ in
            chance(5)
                ? .edit((0...below(3)).map { _ in edit(scene) }, fails: chance(2)) : edit(scene)
        }
    }

    mutating func edit(_ scene: Scene) -> Step {
        let world = scene.now
        let most = world.objects.count > 14 ? 4 : 1
        let choice = below(55)
        switch choice {
        case 0...7: if chance(most) { return insertion(world) }
        case 14...17: return .delete(chance(2) ? edited(scene) : any(world))
        case 18:
            return pick(world.dead.sorted()).map { .reinsert($0) } ?? .delete(any(world))
        case 19: return .rollBackObject(any(world))
        case 20...25:
            let relation = pick(Relation.references)!
            return .refer(
                relation, one(relation.source, world),
                chance(4) ? nil : one(relation.target, world))
        default: if let edit = valueEdit(choice, world) { return edit }
        }
        let list = pick(List.all)!
        let (owner, member) = (one(list.owner, world), one(list.member, world))
        let count = world.members(list, of: owner).count
        guard list.isOrdered, chance(2) else {
            switch below(8) {
            case 0:
                let members = (0..<below(4)).map { _ in one(list.member, world) }
                return .assign(list, owner, members.uniqued)
            case 1, 2: return .remove(list, owner, member)
            default: return .append(list, owner, member)
            }
        }
        if count > 1, chance(2) { return .move(list, owner, below(count), below(count)) }
        return .place(list, owner, member, below(count + 1))
    }

    /// Returns an edit of a value; nil for an edit of a relationship.
    private mutating func valueEdit(_ choice: Int, _ world: World) -> Step? {
        switch choice {
        case 8...10: return .number(any(world), below(12) == 0 ? 10 : below(10))
        case 11: return .name(any(world), names[below(names.count)])
        case 12, 13: return .key(any(world), chance(3) ? nil : Self.keys[below(Self.keys.count)])
        case 26...28: return .count(any(world), by: [-4, -1, 1, 1, 2, 3][below(6)])
        case 29, 30: return .file(any(world), chance(4) ? nil : below(Contents.all.count))
        case 31...34: return .secret(popular(world), chance(4) ? nil : below(3))
        case 40...45:
            let label = popular(world)
            return .parts(label, changed(world.objects[label]?.parts ?? []))
        case 46...48: return .spot(popular(world), spot(), byMember: chance(2))
        case 49...51:
            return .pose(popular(world), chance(3) ? nil : spot(), byMember: chance(2))
        case 52...54:
            let label = popular(world)
            return .trail(label, changed(world.objects[label]?.trail ?? []))
        default: return nil
        }
    }

    private mutating func spot() -> Spot {
        Spot(row: chance(16) ? 10 : below(3), mark: chance(3) ? nil : names[below(3)])
    }

    private let names = ["a", " b", "c ", "a b", "b  c", "a name that is too long"]
    static let keys = ["k", "l", "m", "n"]

    private mutating func any(_ world: World) -> Label {
        pick(world.objects.keys.filter(world.isAlive).sorted()) ?? -1
    }

    /// Returns an object that other contexts often change, too: edits of the same value rarely
    /// coincide by chance.
    private mutating func popular(_ world: World) -> Label {
        chance(3) ? any(world) : world.objects.keys.filter(world.isAlive).min() ?? -1
    }

    /// Returns an array with a few changes.
    private mutating func changed(_ parts: [Part]) -> [Part] {
        var parts = parts
        if parts.isEmpty { return (0..<4).map { Part(id: $0, size: 0) } }
        for _ in 0...below(3) {
            let place = below(parts.count)
            switch below(6) {
            case 0:
                let id = below(7)
                // Rarely with the identity of another element.
                guard chance(12) || !parts.contains(where: { $0.id == id }) else { continue }
                parts.insert(Part(id: id, size: below(3)), at: place)
            case 1: parts[place].size = below(3)
            case 2: parts[place].note = chance(3) ? nil : below(2)
            case 3: if parts.count > 1 { parts.remove(at: place) }
            default:
                let part = parts.remove(at: place)
                parts.insert(part, at: below(parts.count + 1))
            }
        }
        return parts
    }

    /// Returns an array without identities with a change.
    private mutating func changed(_ trail: [Spot]) -> [Spot] {
        var trail = trail
        let place = below(trail.count + 1)
        switch below(trail.count > 4 ? 3 : 6) {
        case 0: return []
        case 1, 2: if place < trail.count { trail.remove(at: place) }
        case 3: if place < trail.count { trail[place] = spot() }
        default: trail.insert(spot(), at: place)
        }
        return trail
    }

    /// Returns an object with pending changes: edits and the deletion of one object rarely coincide
    /// by chance.
    private mutating func edited(_ scene: Scene) -> Label {
        let (now, base) = (scene.now, scene.base)
        let edited = now.objects.keys.filter { label in
            now.isAlive(label) && now.objects[label] != base.objects[label]
        }
        return pick(edited.sorted()) ?? any(now)
    }

    private mutating func one(_ kind: Kind, _ world: World) -> Label {
        pick(world.alive(kind)) ?? -1
    }

    private mutating func insertion(_ world: World) -> Step {
        let kind = pick([Kind.box, .item, .item, .tag, .leaf])!
        // The keys of tags are unique under a condition, and not looked up.
        if kind != .tag, chance(4) {
            nextLabel += 1
            let present = world.alive(kind).compactMap { world.objects[$0]?.key }
            let key = chance(3) ? nil : pick(present)
            return .upsert(
                nextLabel, kind, key: key ?? pick(Self.keys)!, number: below(2),
                name: names[below(5)])
        }
        var references: [Relation: Label] = [:]
        for relation in Relation.references where relation.source == kind && chance(5) {
            references[relation] = pick(world.alive(relation.target))
        }
        nextLabel += 1
        return .insert(nextLabel, kind, name: names[below(5)], references: references)
    }
}

extension [Label] {
    fileprivate var uniqued: [Label] {
        var seen: Set<Label> = []
        return filter { seen.insert($0).inserted }
    }
}

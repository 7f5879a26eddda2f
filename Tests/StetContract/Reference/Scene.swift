import Stet

/// The state that a context must show: a revision of the store, and its pending changes.
struct Scene {
    /// The state at the revision that the context shows.
    var base = World()
    var revision = 0
    /// The state with the pending changes.
    var now = World()
    /// The values that objects had before others deleted them and a merge inserted them again: an
    /// undo of the deletion is no second insertion.
    var revived: [Label: World.Object] = [:]
    var policy = Policy.fail
    var keys = Keys()
    /// The lists whose order the contract leaves open: it is taken from the context.
    var uncertain: Set<OwnedList> = []
    /// The pending state at the time of each snapshot.
    var snapshots: [Int: World] = [:]
    /// The objects that edits have named since the last rollback, whether or not they changed them.
    var named: Set<Label> = []

    /// True if nothing visible differs from the last saved state; positions may differ.
    var isUnchanged: Bool { now.visible == base.visible && now.dead.isEmpty }

    /// Returns the values that the pending changes of an object are based on; nil if it is new.
    func before(_ label: Label) -> World.Object? { base.objects[label] ?? revived[label] }

    /// Restores the last saved state.
    mutating func rollBack() {
        now = base
        snapshots = [:]
        uncertain = []
        named = []
        revived = [:]
    }

    /// Carries out an edit.
    mutating func apply(_ step: Step) {
        named.formUnion(step.labels(in: now))
        switch step {
        case .insert(let label, let kind, let name, let references):
            now.objects[label] = World.Object(kind: kind, name: name)
            for relation in Relation.references {
                if let target = references[relation] { now.refer(relation, label, to: target) }
            }
        case .upsert(let label, let kind, let key, let number, let name):
            if now.objects[label] == nil {
                now.objects[label] = World.Object(kind: kind, key: key, number: number)
            }
            now.objects[label]?.name = name
        case .refer(let relation, let source, let target):
            now.refer(relation, source, to: target)
        case .append(let list, let owner, let member):
            now.setMember(list, of: owner, member, true)
        case .remove(let list, let owner, let member):
            now.setMember(list, of: owner, member, false)
        case .place(let list, let owner, let member, let index):
            now.place(list, of: owner, member, at: index)
        case .move(let list, let owner, let from, let to):
            now.place(list, of: owner, now.members(list, of: owner)[from], at: to)
        case .assign(let list, let owner, let members): now.assign(list, of: owner, members)
        case .delete(let label): now.dead.insert(label)
        case .reinsert(let label):
            now.dead.remove(label)
            distrust(listsWith: label)
        case .rollBackObject(let label): rollBack(label)
        default: setValue(step)
        }
    }

    private mutating func setValue(_ step: Step) {
        switch step {
        case .name(let label, let name): now.objects[label]?.name = name
        case .number(let label, let number): now.objects[label]?.number = number
        case .count(let label, let increment): now.objects[label]?.count += increment
        case .key(let label, let key): now.objects[label]?.key = key
        case .file(let label, let number): now.objects[label]?.file = number
        case .parts(let label, let parts): now.objects[label]?.parts = parts
        case .trail(let label, let trail): now.objects[label]?.trail = trail
        case .spot(let label, let spot, _): now.objects[label]?.spot = spot
        case .pose(let label, let pose, let byMember):
            if !byMember || now.objects[label]?.pose != nil && pose != nil {
                now.objects[label]?.pose = pose
            }
        case .secret(let label, let number):
            now.objects[label]?.secret = number.map { Secret(number: $0) }
        default: break
        }
    }

    /// Marks the order of all lists that contain an object as unknown.
    mutating func distrust(listsWith label: Label) {
        for (list, members) in now.order where members.contains(label) || list.owner == label {
            uncertain.insert(list)
        }
    }

    private mutating func rollBack(_ label: Label) {
        guard let before = base.objects[label] else { return }
        distrust(listsWith: label)
        now.dead.remove(label)
        var values = before
        values.references = now.objects[label]?.references ?? [:]
        now.objects[label] = values
        for relation in Relation.references where relation.source == before.kind {
            now.refer(relation, label, to: before.references[relation])
        }
        for relation in Relation.links {
            let own = { (pair: Pair) in
                pair.source == label || pair.target == label && relation.inverse != nil
            }
            let pairs = now.links[relation, default: []].union(base.links[relation] ?? [])
            for pair in pairs where own(pair) {
                let isPresent = base.links[relation]?.contains(pair) ?? false
                now.setLink(relation, pair, isPresent)
            }
        }
        distrust(listsWith: label)
    }
}

/// The objects that commits have changed.
struct Touched {
    let all: Set<Label>
    /// The objects of which more than counters and derived numbers differs in the end.
    let edited: Set<Label>
    /// The objects of which nothing but derived numbers and stamps differs.
    var unchanged: Set<Label> = []
}

/// The contents that a store must have, revision by revision.
struct RunReference {
    /// The state after each commit.
    var states: [World] = [World()]
    /// The objects whose values each commit changed.
    var touched: [Set<Label>] = [[]]
    /// The values of all objects after each commit, with positions, without counters and stamps.
    var cells: [[Label: [String: Value]]] = [[:]]
    /// The undo stacks by the author's context.
    var stacks: [Int: UndoModel] = [:]
    /// The group to which the commits of a context belong.
    var groups: [Int: Int] = [:]
    private var groupCount = 0
    /// The values that the journal has lost, and the commits that have lost them.
    var redacted: Set<ValueImage> = []
    var erased: Set<Int> = []
    /// The last commit that was trimmed.
    var floor = 0
    /// All labels that were ever given.
    var known: Set<Label> = []

    var head: Int { states.count - 1 }

    mutating func beginGroup(_ begins: Bool, _ index: Int) {
        groupCount += 1
        groups[index] = begins ? groupCount : nil
    }

    /// Returns the objects that commits after a revision have changed; a secret in another form is
    /// no edit as long as both can be read.
    func touched(since revision: Int, _ keys: Keys) -> Touched {
        let all = touched[(revision + 1)...].reduce(into: Set()) { $0.formUnion($1) }
        let (before, after) = (cells[revision], cells[head])
        let (old, new) = (states[revision].objects, states[head].objects)
        let edited = all.filter { label in
            before[label] != after[label]
                || !keys.areSame(old[label]?.secret, new[label]?.secret)
        }
        let unchanged = all.filter { label in
            guard !edited.contains(label), let one = old[label], var two = new[label]
            else { return false }
            two.secret = one.secret
            return one.isSame(as: two)
        }
        return Touched(all: all, edited: edited, unchanged: unchanged)
    }
}

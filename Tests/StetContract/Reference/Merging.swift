/// The result of merging pending changes with the changes of others.
enum Merged {
    case world(World, uncertain: Set<OwnedList>)
    case conflict
}

extension Policy {
    /// True if pending changes are merged with the changes of others at all.
    var merges: Bool { self != .fail }
    /// True if the stored state wins when both sides have changed or deleted an object.
    var favorsStore: Bool { self == .storeWins || self == .sum }
    /// True if a reference to an object that others have deleted becomes nil.
    var letsGo: Bool { [.storeWins, .sum, .theirs].contains(self) }

    /// Returns the value of a number that both sides have changed.
    func number(base: Int, mine: Int, theirs: Int) -> Int {
        switch self {
        case .sum: theirs + mine - base
        case .contextWins: mine
        default: theirs
        }
    }
}

extension Scene {
    /// Returns the labels of objects that have been edited or deleted in this scene; `moved` are
    /// the objects of which only a position differs.
    func edited(_ moved: Set<Label>) -> Set<Label> {
        let labels = now.objects.keys.filter {
            now.dead.contains($0) || now.objects[$0] != base.objects[$0]
        }
        return Set(labels).union(moved)
    }

    /// Returns the pending changes applied to another state of the store.
    func merged(onto theirs: World, touched: Touched, moved: Set<Label>) -> Merged {
        var scene = self
        scene.reuseSecrets(of: theirs, touched.all)
        return scene.mergedWithoutReuse(onto: theirs, touched: touched, moved: moved)
    }

    private func mergedWithoutReuse(
        onto theirs: World, touched: Touched, moved: Set<Label>
    ) -> Merged {
        var merged = theirs
        var isPossible = true
        for label in edited(moved).sorted() {
            guard let mine = now.objects[label] else { continue }
            guard touched.all.contains(label) else {
                merged.take(mine, label, isDead: now.dead.contains(label))
                continue
            }
            switch (now.dead.contains(label), theirs.objects[label]) {
            case (true, nil): if policy == .fail { isPossible = false }
            case (true, _?) where touched.unchanged.contains(label):
                merged.dead.insert(label)
            case (true, _?):
                if policy == .fail || policy == .theirs { isPossible = false }
                if policy == .contextWins { merged.dead.insert(label) }
            case (false, nil):
                if policy == .fail || policy == .theirs { isPossible = false }
                if policy == .contextWins { merged.take(mine, label, isDead: false) }
            case (false, let stored?):
                let isCounted = hasOnlyCounted(label, moved) || !touched.edited.contains(label)
                if policy == .fail, !isCounted { isPossible = false }
                let values = combine(before(label), mine, stored)
                merged.take(values, label, isDead: false)
            }
        }
        guard isPossible else { return .conflict }
        mergeLinks(into: &merged)
        let uncertain = mergeOrder(into: &merged, theirs)
        return .world(merged, uncertain: uncertain)
    }

    /// Returns whether the pending changes of an object are increments only.
    private func hasOnlyCounted(_ label: Label, _ moved: Set<Label>) -> Bool {
        guard let before = before(label), let mine = now.objects[label] else { return false }
        return !moved.contains(label) && mine.isSame(as: before, ignoringCount: true)
    }

    private func combine(
        _ before: World.Object?, _ mine: World.Object, _ theirs: World.Object
    ) -> World.Object {
        // If both sides have inserted the object, every difference is a conflict.
        guard let base = before else { return policy == .contextWins ? mine : theirs }
        func choose<V: Equatable>(_ path: KeyPath<World.Object, V>) -> V {
            let (before, here, there) = (
                base[keyPath: path], mine[keyPath: path], theirs[keyPath: path]
            )
            if here == before || here == there { return there }
            return there == before || policy == .contextWins ? here : there
        }
        var values = theirs
        values.name = choose(\.name)
        values.key = choose(\.key)
        values.file = choose(\.file)
        values.secret = choose(\.secret)
        values.parts = mergedParts(base.parts, mine.parts, theirs.parts) ?? choose(\.parts)
        values.trail = choose(\.trail)
        values.spot = Spot(row: choose(\.spot.row), mark: choose(\.spot.mark))
        values.pose = choose(\.pose)
        if base.pose != nil, mine.pose != nil, theirs.pose != nil {
            values.pose = Spot(row: choose(\.pose!.row), mark: choose(\.pose!.mark))
        }
        values.number = choose(\.number)
        if mine.number != base.number, theirs.number != base.number, mine.number != theirs.number {
            values.number = policy.number(
                base: base.number, mine: mine.number, theirs: theirs.number)
        }
        values.count = theirs.count + mine.count - base.count
        for relation in Relation.references {
            values.references[relation] = choose(\.references[relation])
        }
        return values
    }

    /// Returns an array that both sides have changed; nil if it is compared as a whole.
    private func mergedParts(_ base: [Part], _ mine: [Part], _ theirs: [Part]) -> [Part]? {
        guard mine != base, theirs != base, mine != theirs,
            let merge = PartMerge(
                base, mine: mine, theirs: theirs, favorsMine: !policy.favorsStore),
            !merge.isContested || policy != .theirs
        else { return nil }
        return merge.parts
    }

    private func mergeLinks(into merged: inout World) {
        for relation in Relation.links {
            let (before, here) = (base.links[relation] ?? [], now.links[relation] ?? [])
            for pair in here.subtracting(before) {
                // The links of an object that both sides have deleted.
                let isVain = now.dead.contains(pair.source) || now.dead.contains(pair.target)
                let isThere = [pair.source, pair.target].allSatisfy { merged.objects[$0] != nil }
                if isThere || !isVain { merged.setLink(relation, pair, true) }
            }
            for pair in before.subtracting(here) { merged.setLink(relation, pair, false) }
        }
    }

    /// Gives lists that one side has reordered the order of that side, and returns the lists that
    /// both sides have reordered: their order is unknown.
    private func mergeOrder(into merged: inout World, _ theirs: World) -> Set<OwnedList> {
        var uncertain: Set<OwnedList> = []
        for list in Set(merged.order.keys).union(now.order.keys) {
            let before = base.order[list] ?? []
            let isMine = (now.order[list] ?? []) != before
            guard isMine else { continue }
            let members = merged.order[list] ?? []
            let mine = now.order[list] ?? []
            if (theirs.order[list] ?? []) == before, Set(mine) == Set(members) {
                merged.order[list] = mine
            } else {
                uncertain.insert(list)
            }
        }
        return uncertain
    }
}

extension World {
    /// Adds an object with its values.
    mutating func take(_ values: Object, _ label: Label, isDead: Bool) {
        let references = objects[label]?.references ?? [:]
        objects[label] = values
        objects[label]?.references = references
        for relation in Relation.references {
            refer(relation, label, to: values.references[relation])
        }
        if isDead { dead.insert(label) } else { dead.remove(label) }
    }

    /// True if an existing object refers to, or is linked with, one that does not exist.
    var hasDangling: Bool {
        objects.contains { label, object in
            isAlive(label) && object.references.values.contains { objects[$0] == nil }
        }
            || links.values.contains { pairs in
                pairs.contains { pair in
                    !dead.contains(pair.source) && objects[pair.target] == nil
                        || !dead.contains(pair.target) && objects[pair.source] == nil
                }
            }
    }

    /// Removes references and links to objects that do not exist.
    mutating func letGo() {
        for (label, object) in objects {
            for (relation, target) in object.references where objects[target] == nil {
                refer(relation, label, to: nil)
            }
        }
        for (relation, pairs) in links {
            for pair in pairs where objects[pair.source] == nil || objects[pair.target] == nil {
                setLink(relation, pair, false)
            }
        }
    }
}

import StetStore

/// The three-way rule of cells, applied to whole states.
struct ReferenceInversion {
    typealias Key = ReferenceModel.Key
    typealias State = ReferenceModel.State
    let now: State
    let policy: ReferenceModel.Policy
    private(set) var state: State
    private(set) var isRefused = false
    private var leftOut: Set<Key> = []
    /// The objects whose insertion is not reversed.
    private var kept: Set<Key> = []

    init(now: State, policy: ReferenceModel.Policy) {
        (self.now, self.policy, state) = (now, policy, now)
    }

    enum Answer { case keep, restore, refuse }

    mutating func conflict(mayKeep: Bool, mayRestore: Bool) -> Answer {
        switch policy {
        case .skip where mayKeep: return .keep
        case .overwrite where mayRestore: return .restore
        default:
            isRefused = true
            return .refuse
        }
    }

    private func isStamp(_ key: Key, _ slot: Slot) -> Bool {
        key.entity == SimulationEntity.item && slot == SimulationEntity.stamp
    }

    private func isCounter(_ key: Key, _ slot: Slot) -> Bool {
        key.entity == SimulationEntity.box && slot == SimulationEntity.counter
    }

    private func isDerived(_ key: Key, _ slot: Slot) -> Bool {
        key.entity == SimulationEntity.item && SimulationEntity.derived.contains(slot)
    }

    /// Returns whether two values are equal apart from a position among members.
    private func areSame(_ one: Value, _ other: Value) -> Bool {
        one == other || (one.target != nil && one.target == other.target)
    }

    // MARK: Cells

    mutating func takeBack(_ key: Key, _ before: [Value]?, _ after: [Value]?) {
        switch (before, after, state[key]) {
        case (let before?, let after?, var present?):
            let isWhole = takeBackSite(of: key, before, after, &present)
            for slot in present.slots
            where before[slot] != after[slot] && !isDerived(key, slot)
                && !(isWhole && SimulationEntity.site.contains(slot))
            {
                if isCounter(key, slot) {
                    present[slot] = present[slot].adding(before[slot], without: after[slot])
                    continue
                }
                if key.entity == SimulationEntity.box, slot == SimulationEntity.parts {
                    takeBackParts(&present[slot], before[slot], after[slot])
                    continue
                }
                takeBack(&present[slot], before[slot], after[slot], isStamp(key, slot))
            }
            state[key] = present
        case (let before?, let after?, nil):
            let isMove = before.slots.allSatisfy {
                areSame(before[$0], after[$0]) || isDerived(key, $0)
            }
            if !isMove { _ = conflict(mayKeep: true, mayRestore: false) }
        case (nil, let after?, let present?):
            let isSame = present.slots.allSatisfy {
                areSame(present[$0], after[$0]) || isStamp(key, $0) || isDerived(key, $0)
            }
            if !isSame, conflict(mayKeep: true, mayRestore: true) == .keep {
                kept.insert(key)
            } else {
                state[key] = nil
            }
        case (let before?, nil, nil): state[key] = before
        case (let before?, nil, let present?): restore(key, before, over: present)
        default: break
        }
    }

    /// Restores an object that another commit has restored already.
    private mutating func restore(_ key: Key, _ before: [Value], over other: [Value]) {
        var present = other
        let site = key.entity == SimulationEntity.box ? SimulationEntity.site : []
        if site.contains(where: { present[$0] != before[$0] }),
            conflict(mayKeep: true, mayRestore: true) == .restore
        {
            for slot in site { present[slot] = before[slot] }
        }
        for slot in present.slots
        where !areSame(present[slot], before[slot]) && !isStamp(key, slot)
            && !isCounter(key, slot) && !isDerived(key, slot) && !site.contains(slot)
        {
            if conflict(mayKeep: true, mayRestore: true) == .restore {
                present[slot] = before[slot]
            }
        }
        state[key] = present
    }

    /// Takes back the change of a box's embedded value as a whole, unless the box has one at all
    /// times; returns whether it has not.
    private mutating func takeBackSite(
        of key: Key, _ before: [Value], _ after: [Value], _ present: inout [Value]
    ) -> Bool {
        guard key.entity == SimulationEntity.box else { return false }
        let slots = SimulationEntity.site
        if ![before, after, present].contains(where: { $0[slots[0]] == .null }) { return false }
        func isSame(_ one: [Value], _ other: [Value]) -> Bool {
            slots.allSatisfy { one[$0] == other[$0] }
        }
        if isSame(before, after) || isSame(before, present) { return true }
        if isSame(present, after) || conflict(mayKeep: true, mayRestore: true) == .restore {
            for slot in slots { present[slot] = before[slot] }
        }
        return true
    }

    private mutating func takeBack(
        _ present: inout Value, _ before: Value, _ after: Value, _ isStamp: Bool
    ) {
        if present == after {
            present = before
        } else if areSame(before, after) {
            // Only the position differs: it is restored unless the object has moved since.
        } else if areSame(present, after) {
            // The object was moved within the list from which the undo takes it.
            present = before
        } else if !areSame(present, before), !isStamp,
            conflict(mayKeep: true, mayRestore: true) == .restore
        {
            present = before
        }
    }

    mutating func takeBack(_ key: LinkKey, _ before: Membership, _ after: Membership) {
        if before == after { return }
        let present = state.links[key] ?? .absent
        let isTakenBack =
            before.isPresent == after.isPresent
            ? present == after : present.isPresent == after.isPresent
        if isTakenBack { state.links[key] = before.isPresent ? before : nil }
    }

    // MARK: Settling

    mutating func settle(_ repeated: (State, Set<Key>) -> [Key]) {
        var last: State?
        while last != state, !isRefused {
            last = state
            settleDeletions()
            settleReferences()
            settleLinks()
            if last == state { settleUniqueValues(repeated) }
        }
    }

    private mutating func settleDeletions() {
        for key in now.objects.keys.sorted() where state[key] == nil {
            if state.referrers(to: key).isEmpty, links(of: key).isEmpty {
                // Removes links to deleted objects as well.
                state.links = state.links.filter {
                    ![$0.key.source, $0.key.target].contains(key.id)
                }
                continue
            }
            switch conflict(mayKeep: true, mayRestore: true) {
            case .keep:
                kept.insert(key)
                state[key] = now[key]
            case .restore: propagate(key)
            case .refuse: return
            }
        }
    }

    /// Returns the links of an object with other objects that will exist.
    private func links(of key: Key) -> [LinkKey] {
        guard key.entity == SimulationEntity.item else { return [] }
        return state.links.keys.filter { link in
            let others = [link.source, link.target].filter { $0 != key.id }
            return others.count == 1
                && state[Key(entity: SimulationEntity.item, id: others[0])] != nil
        }
    }

    /// Applies the delete rules of a deleted object.
    private mutating func propagate(_ key: Key) {
        for link in links(of: key) { state.links[link] = nil }
        for (source, slot) in state.referrers(to: key) where state[source] != nil {
            if key.entity == SimulationEntity.box {
                state[source] = nil
                propagate(source)
            } else if SimulationEntity.isRequired(source.entity) {
                isRefused = true
            } else {
                state[source]?[slot] = .null
            }
        }
    }

    private mutating func settleReferences() {
        for key in state.objects.keys.sorted() {
            for slot in (SimulationEntity.references[key.entity] ?? [:]).keys.sorted() {
                guard let id = state[key]?[slot].target, now[key]?[slot].target != id,
                    let target = SimulationEntity.references[key.entity]?[slot]
                else { continue }
                let targetKey = Key(entity: target, id: id)
                if state[targetKey] != nil { continue }
                let isRequired = SimulationEntity.isRequired(key.entity)
                let goesAlong = target == SimulationEntity.box
                let mayKeep =
                    !leftOut.contains(targetKey) || goesAlong || now[key] != nil || !isRequired
                guard conflict(mayKeep: mayKeep, mayRestore: false) == .keep else { return }
                if let stored = now[key] {
                    state[key]?[slot] = stored[slot]
                } else if isRequired {
                    leftOut.insert(key)
                    state[key] = nil
                } else {
                    state[key]?[slot] = .null
                }
            }
        }
    }

    private mutating func settleLinks() {
        for link in Set(now.links.keys).union(state.links.keys).sorted()
        where now.links[link] != state.links[link] {
            let ends = [link.source, link.target].map {
                Key(entity: SimulationEntity.item, id: $0)
            }
            if now.links[link] != nil {
                if ends.contains(where: kept.contains) { state.links[link] = now.links[link] }
            } else if state[ends[0]] == nil {
                // The link goes with its source.
                state.links[link] = nil
            } else if state[ends[1]] == nil {
                guard conflict(mayKeep: true, mayRestore: false) == .keep else { return }
                state.links[link] = nil
            }
        }
    }

    private mutating func settleUniqueValues(_ repeated: (State, Set<Key>) -> [Key]) {
        let changed = Set(
            state.objects.keys.filter { key in
                guard let slots = SimulationEntity.unique[key.entity] else { return false }
                return slots.contains { now[key]?[$0] != state[key]?[$0] }
            })
        for key in repeated(state, changed) {
            guard conflict(mayKeep: true, mayRestore: false) == .keep else { return }
            guard let stored = now[key] else {
                leftOut.insert(key)
                state[key] = nil
                continue
            }
            for slot in SimulationEntity.unique[key.entity] ?? [] {
                state[key]?[slot] = stored[slot]
            }
        }
    }

    // MARK: Places

    /// Gives restored members their positions: the former ones or, if the order has changed since,
    /// those after the nearest remaining neighbour on the left.
    mutating func settlePositions(formerly before: State) {
        if isRefused { return }
        let slot = SimulationEntity.boxOfItem
        for box in state.objects.keys where box.entity == SimulationEntity.box {
            let settled = settle(
                state.items(ofBox: box.id), now.items(ofBox: box.id), before.items(ofBox: box.id))
            for place in settled {
                guard let position = place.position else { continue }
                state[Key(entity: SimulationEntity.item, id: place.id)]?[slot] = .placed(
                    box.id, position)
            }
        }
        for item in state.objects.keys where item.entity == SimulationEntity.item {
            let settled = settle(
                state.steps(of: item.id), now.steps(of: item.id), before.steps(of: item.id))
            for place in settled {
                let key = LinkKey(link: SimulationLink.steps, source: item.id, target: place.id)
                state.links[key] = .present(place.position)
            }
        }
    }

    /// Returns the members of a list that get other positions.
    private func settle(
        _ places: [MemberPlace], _ stored: [MemberPlace], _ before: [MemberPlace]
    ) -> [MemberPlace] {
        let restored = places.filter { !stored.contains($0) }
        if restored.isEmpty { return [] }
        var present = places.filter(stored.contains)
        let ids = Set(present.map(\.id))
        let earlier = before.filter { ids.contains($0.id) }
        // A member that was added since may have the place of a restored one.
        let known = Set(earlier.map(\.id))
        let taken = Set(present.filter { !known.contains($0.id) }.map(\.position))
        if earlier.allSatisfy(present.contains),
            !restored.contains(where: {
                taken.contains($0.position)
            })
        {
            return []
        }
        let former = (earlier + restored).sorted()
        var moved: [MemberPlace] = []
        for (index, place) in former.enumerated() where restored.contains(place) {
            let left = former[..<index].reversed().lazy
                .compactMap { left in present.firstIndex { $0.id == left.id } }.first
            // After all members that share the neighbour's place.
            let next = left.map { left in
                present[left...].firstIndex { $0.position != present[left].position }
                    ?? present.count
            }
            present.insert(MemberPlace(nil, place.id), at: next ?? 0)
            moved += ListPlacement.place([next ?? 0], in: &present)
        }
        return moved
    }
}

extension Value {
    /// Returns the number with the difference between two others; all are integers.
    fileprivate func adding(_ plus: Value, without minus: Value) -> Value {
        guard case .int(let number) = self, case .int(let plus) = plus,
            case .int(let minus) = minus
        else { return self }
        return .int(number + plus - minus)
    }
}

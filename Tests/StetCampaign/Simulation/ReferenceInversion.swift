import StetStore

/// The rule of cells on whole states.
struct ReferenceInversion {
    typealias Key = ReferenceModel.Key
    let now: ReferenceModel.State
    let policy: ReferenceModel.Policy
    private(set) var state: ReferenceModel.State
    private(set) var isRefused = false
    private var leftOut: Set<Key> = []

    init(now: ReferenceModel.State, policy: ReferenceModel.Policy) {
        (self.now, self.policy, state) = (now, policy, now)
    }

    private enum Answer { case keep, restore, refuse }

    private mutating func conflict(mayKeep: Bool, mayRestore: Bool) -> Answer {
        switch policy {
        case .skip where mayKeep: return .keep
        case .overwrite where mayRestore: return .restore
        default:
            isRefused = true
            return .refuse
        }
    }

    private func isWeak(_ key: Key, _ slot: Int) -> Bool {
        (key.entity == SimulationEntity.item && slot == SimulationEntity.stamp)
            || (key.entity == SimulationEntity.steps && slot == SimulationEntity.position)
    }

    mutating func takeBack(_ key: Key, _ before: [Value]?, _ after: [Value]?) {
        switch (before, after, state[key]) {
        case (let before?, let after?, var present?):
            for slot in present.indices where before[slot] != after[slot] {
                if present[slot] == after[slot] {
                    present[slot] = before[slot]
                } else if present[slot] != before[slot], !isWeak(key, slot),
                    conflict(mayKeep: true, mayRestore: true) == .restore
                {
                    present[slot] = before[slot]
                }
            }
            state[key] = present
        case (_?, _?, nil): _ = conflict(mayKeep: true, mayRestore: false)
        case (nil, let after?, let present?):
            let isSame = present.indices.allSatisfy {
                present[$0] == after[$0] || isWeak(key, $0)
            }
            if isSame || conflict(mayKeep: true, mayRestore: true) != .keep { state[key] = nil }
        case (let before?, nil, nil): state[key] = before
        case (let before?, nil, var present?):
            for slot in present.indices where present[slot] != before[slot] && !isWeak(key, slot) {
                if conflict(mayKeep: true, mayRestore: true) == .restore {
                    present[slot] = before[slot]
                }
            }
            state[key] = present
        default: break
        }
    }

    mutating func settle(
        _ repeated: (ReferenceModel.State, Set<Key>) -> [Key]
    ) {
        var last: ReferenceModel.State?
        while last != state, !isRefused {
            last = state
            settleDeletions()
            settleReferences()
            if last == state { settleUniqueValues(repeated) }
        }
    }

    private mutating func settleDeletions() {
        for key in now.keys.sorted() where state[key] == nil {
            let referrers = referrers(to: key)
            if referrers.isEmpty { continue }
            switch conflict(mayKeep: true, mayRestore: true) {
            case .keep: state[key] = now[key]
            case .restore:
                for (source, slot) in referrers {
                    if SimulationEntity.isLink(source.entity) {
                        state[source] = nil
                    } else if source.entity == SimulationEntity.item,
                        key.entity == SimulationEntity.box
                    {
                        state[source] = nil
                    } else if SimulationEntity.isRequired(source.entity, slot) {
                        isRefused = true
                    } else {
                        state[source]?[slot] = .null
                    }
                }
            case .refuse: return
            }
        }
    }

    /// References that are stored now, and are not taken away.
    private func referrers(to key: Key) -> [(Key, Int)] {
        var referrers: [(Key, Int)] = []
        for (source, values) in now {
            for (slot, target) in SimulationEntity.references[source.entity] ?? [:]
            where target == key.entity && values[slot] == .reference(key.id)
                && state[source]?[slot] == .reference(key.id)
            {
                referrers.append((source, slot))
            }
        }
        return referrers
    }

    private mutating func settleReferences() {
        for key in state.keys.sorted() {
            for slot in (SimulationEntity.references[key.entity] ?? [:]).keys.sorted() {
                guard let values = state[key], case .reference(let id) = values[slot],
                    now[key]?[slot] != values[slot],
                    let target = SimulationEntity.references[key.entity]?[slot]
                else { continue }
                let targetKey = Key(entity: target, id: id)
                if state[targetKey] != nil { continue }
                let isRequired = SimulationEntity.isRequired(key.entity, slot)
                let goesAlong =
                    SimulationEntity.isLink(key.entity) || target == SimulationEntity.box
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

    private mutating func settleUniqueValues(
        _ repeated: (ReferenceModel.State, Set<Key>) -> [Key]
    ) {
        let changed = Set(
            state.keys.filter { key in
                guard let slots = SimulationEntity.unique[key.entity] else { return false }
                return slots.contains { now[key]?[$0] != state[key]?[$0] }
            })
        for key in repeated(state, changed) {
            if SimulationEntity.isLink(key.entity) {
                state[key] = now[key]
                continue
            }
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

    private struct Place: Comparable {
        let position: ListPosition
        let key: Key

        static func < (one: Place, other: Place) -> Bool {
            (one.position, one.key) < (other.position, other.key)
        }
    }

    /// Gives steps that came back their places: those that they had or, where the order has changed
    /// since, behind the nearest left neighbour.
    mutating func settlePositions(formerly before: ReferenceModel.State) {
        let steps = state.filter { $0.key.entity == SimulationEntity.steps }
        for (source, steps) in Dictionary(grouping: steps, by: { $0.value[0] }) {
            let places = steps.compactMap { key, values in
                ListPosition(values).map { Place(position: $0, key: key) }
            }
            settle(places.sorted(), of: source, before)
        }
    }

    private mutating func settle(
        _ places: [Place], of source: Value, _ before: ReferenceModel.State
    ) {
        let slot = SimulationEntity.position
        let restored = Set(
            places.map(\.key).filter { now[$0]?[slot] != state[$0]?[slot] })
        if restored.isEmpty { return }
        var present = places.filter { !restored.contains($0.key) }
        let earlier = present.compactMap { place -> Place? in
            guard let values = before[place.key], values[0] == source else { return nil }
            return ListPosition(values).map { Place(position: $0, key: place.key) }
        }
        let taken = Set(present.map(\.position))
        let isFree = places.allSatisfy {
            !restored.contains($0.key) || !taken.contains($0.position)
        }
        if isFree, earlier.allSatisfy(present.contains) { return }
        let former = (earlier + places.filter { restored.contains($0.key) }).sorted()
        for (index, place) in former.enumerated() where restored.contains(place.key) {
            let left = former[..<index].last { left in present.contains { $0.key == left.key } }
            let lower = left.flatMap { left in present.first { $0.key == left.key } }?.position
            let upper = present.map(\.position).filter { lower == nil || $0 > lower! }.min()
            let position = ListPosition.between(lower, upper)
            state[place.key]?[slot] = .data(position.bytes)
            present.append(Place(position: position, key: place.key))
        }
    }
}

extension ListPosition {
    /// Of a step with these values.
    init?(_ values: [Value]) {
        guard case .data(let bytes) = values[SimulationEntity.position] else { return nil }
        self.init(bytes)
    }
}

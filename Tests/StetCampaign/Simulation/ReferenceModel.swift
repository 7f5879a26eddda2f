import StetStore

/// What a store must be: an array of states and two lists per author, without a journal, an index
/// or a byte.
struct ReferenceModel {
    /// Entity and id.
    struct Key: Hashable, Comparable {
        let entity: Int
        let id: ObjectID

        static func < (one: Key, other: Key) -> Bool {
            (one.entity, one.id) < (other.entity, other.id)
        }
    }
    typealias State = [Key: [Value]]

    struct Owner: Hashable {
        var author: String
        var scope: String?
    }

    struct Commit {
        var owner: Owner?
        var group: UndoGroup?
        var isUndoable = true
        var cause = Cause.edit
    }

    /// The state after revision n stands at index n.
    private(set) var states: [State] = [[:]]
    /// Commit n stands at index n - 1.
    private(set) var commits: [Commit] = []
    private(set) var undo: [Owner: [Int]] = [:]
    private(set) var redo: [Owner: [Int]] = [:]

    var now: State { states[states.count - 1] }
    var revision: Int { commits.count }

    // MARK: Saving

    /// True when a save that makes this state of the present one is right.
    func accepts(_ state: State) -> Bool {
        for (key, values) in state {
            for (slot, target) in SimulationEntity.references[key.entity] ?? [:] {
                guard case .reference(let id) = values[slot] else { continue }
                if state[Key(entity: target, id: id)] == nil { return false }
            }
            if key.entity == SimulationEntity.box, values[0] == .string("") { return false }
        }
        return Self.repeated(in: state).isEmpty
    }

    /// The objects that share a unique value with one of a smaller id, or of any other when only
    /// `among` are asked.
    private static func repeated(in state: State, among changed: Set<Key>? = nil) -> [Key] {
        var groups: [[Value]: [Key]] = [:]
        for (key, values) in state {
            guard let slots = SimulationEntity.unique[key.entity] else { continue }
            groups[[.int(key.entity)] + slots.map { values[$0] }, default: []].append(key)
        }
        let shared = groups.values.filter { $0.count > 1 }.joined()
        return shared.filter { changed?.contains($0) ?? true }.sorted()
    }

    mutating func save(_ state: State, _ commit: Commit) {
        append(state, commit)
        guard let owner = commit.owner, commit.isUndoable else { return }
        undo[owner, default: []].append(revision)
        redo[owner] = []
    }

    private mutating func append(_ state: State, _ commit: Commit) {
        states.append(state)
        commits.append(commit)
    }

    // MARK: Undo, redo, revert

    /// The step on top of a stack, the last commit first.
    func step(_ stack: [Int]) -> [Int] {
        guard let top = stack.last else { return [] }
        guard let group = commits[top - 1].group else { return [top] }
        return Array(stack.reversed().prefix { commits[$0 - 1].group == group })
    }

    /// What an operation on a stack comes to.
    enum Outcome: Equatable {
        case written, nothing, conflicts
    }

    mutating func undo(_ owner: Owner, _ policy: Policy) -> Outcome {
        let step = step(undo[owner] ?? [])
        if step.isEmpty { return .nothing }
        guard let state = inverse(of: step, policy) else { return .conflicts }
        undo[owner]?.removeLast(step.count)
        let top = Revision(UInt64(step[0]))
        guard state != now else {
            append(now, Commit(owner: owner, isUndoable: false, cause: .discard(of: top)))
            return .nothing
        }
        append(state, Commit(owner: owner, cause: .undo(of: top)))
        redo[owner, default: []].append(revision)
        return .written
    }

    mutating func redo(_ owner: Owner, _ policy: Policy) -> Outcome {
        let step = step(redo[owner] ?? [])
        if step.isEmpty { return .nothing }
        guard let state = inverse(of: step, policy) else { return .conflicts }
        redo[owner]?.removeLast(step.count)
        let top = Revision(UInt64(step[0]))
        guard state != now else {
            append(now, Commit(owner: owner, isUndoable: false, cause: .discard(of: top)))
            return .nothing
        }
        append(state, Commit(owner: owner, cause: .redo(of: top)))
        undo[owner, default: []].append(revision)
        return .written
    }

    mutating func revert(_ revision: Int, _ owner: Owner?, _ policy: Policy) -> Outcome {
        guard let state = inverse(of: [revision], policy) else { return .conflicts }
        if state == now { return .nothing }
        save(state, Commit(owner: owner, cause: .revert(of: Revision(UInt64(revision)))))
        return .written
    }

    enum Policy: Int, CaseIterable, Codable {
        case fail, skip, overwrite

        var policy: UndoPolicy {
            switch self {
            case .fail: .fail
            case .skip: .skip
            case .overwrite: .overwrite
            }
        }
    }

    /// The state without what the commits did; nil when something stands in the way.
    private func inverse(of revisions: [Int], _ policy: Policy) -> State? {
        var inversion = ReferenceInversion(now: now, policy: policy)
        for revision in revisions {
            let (before, after) = (states[revision - 1], states[revision])
            for key in Set(before.keys).union(after.keys).sorted() where before[key] != after[key] {
                inversion.takeBack(key, before[key], after[key])
            }
        }
        inversion.settle { Self.repeated(in: $0, among: $1) }
        return inversion.isRefused ? nil : inversion.state
    }
}

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
        key.entity == SimulationEntity.item && slot == SimulationEntity.stamp
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
                    if source.entity == SimulationEntity.related {
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
                    key.entity == SimulationEntity.related || target == SimulationEntity.box
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
            if key.entity == SimulationEntity.related {
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
}

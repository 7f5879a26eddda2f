import StetStore

/// The expected contents of a store: an array of states and two lists for each author, without a
/// journal, an index or a byte.
struct ReferenceModel {
    /// The entity and the id of an object.
    struct Key: Hashable, Comparable {
        let entity: EntityNumber
        let id: ObjectID

        static func < (one: Key, other: Key) -> Bool {
            (one.entity, one.id) < (other.entity, other.id)
        }
    }

    struct Owner: Hashable {
        var author: String
        var scope: String?

        init(_ author: Int, _ scope: Bool) {
            self.author = "author \(author)"
            self.scope = scope ? "scope" : nil
        }

        init?(_ author: Int?, _ scope: Bool) {
            guard let author else { return nil }
            self.init(author, scope)
        }

        var owner: UndoOwner { UndoOwner(author: author, scope: scope) }
    }

    struct Commit {
        var owner: Owner?
        var group: UndoGroup?
        var isUndoable = true
        var cause = Cause.edit
    }

    /// The states; the index is the number of the revision.
    private(set) var states = [State()]
    /// The commits; commit n has the index n - 1.
    private(set) var commits: [Commit] = []
    private(set) var undo: [Owner: [Int]] = [:]
    private(set) var redo: [Owner: [Int]] = [:]
    /// The number of the next object.
    private(set) var nextID: UInt64 = 1

    var now: State { states[states.count - 1] }
    var revision: Int { commits.count }

    /// The outcome of an operation.
    enum Outcome: String {
        case written, nothing, refused, conflicts
    }

    /// Carries out an operation as a store should.
    mutating func carryOut(_ operation: SimulatedOperation) -> Outcome {
        switch operation {
        case .edit(let author, let scope, let group, let isUndoable, let steps):
            let commit = Commit(
                owner: Owner(author, scope), group: group.map(UndoGroup.simulated),
                isUndoable: isUndoable)
            return edit(steps, commit)
        case .undo(let author, let scope, let policy): return undo(Owner(author, scope), policy)
        case .redo(let author, let scope, let policy): return redo(Owner(author, scope), policy)
        case .revert(let number, let author, let policy):
            guard revision > 0 else { return .nothing }
            return revert(number % revision + 1, author.map { Owner($0, false) }, policy)
        case .race, .fail, .kill, .reopen: return .nothing
        }
    }

    // MARK: Saving

    private mutating func edit(
        _ steps: [SimulatedOperation.Step], _ commit: Commit
    ) -> Outcome {
        var edit = SimulatedEdit(of: now, nextID: nextID)
        edit.apply(steps, at: revision + 1)
        nextID = edit.nextID
        if edit.state == now { return .nothing }
        guard accepts(edit.state) else { return .refused }
        save(edit.state, commit)
        return .written
    }

    /// Returns whether a save that leads from the present state to this one is valid.
    private func accepts(_ state: State) -> Bool {
        for (key, values) in state.objects {
            for (slot, target) in SimulationEntity.references[key.entity] ?? [:] {
                guard let id = values[slot].target else { continue }
                if state[Key(entity: target, id: id)] == nil { return false }
            }
            if key.entity == SimulationEntity.box {
                let site = SimulationEntity.site.map { values[$0] }
                if values[0] == .string("") || site[0] != .null && site[1] == .null {
                    return false
                }
            }
        }
        for link in state.links.keys {
            for id in [link.source, link.target]
            where state[Key(entity: SimulationEntity.item, id: id)] == nil { return false }
        }
        return Self.repeated(in: state).isEmpty
    }

    /// Returns the objects that share a unique value with an object with a smaller id, or, with
    /// `among`, the objects of that set that share one with any other.
    private static func repeated(in state: State, among changed: Set<Key>? = nil) -> [Key] {
        var groups: [[Value]: [Key]] = [:]
        for (key, values) in state.objects {
            guard let slots = SimulationEntity.unique[key.entity] else { continue }
            groups[[.int(key.entity.rawValue)] + slots.map { values[$0] }, default: []].append(key)
        }
        let shared = groups.values.filter { $0.count > 1 }.joined()
        return shared.filter { changed?.contains($0) ?? true }.sorted()
    }

    private mutating func save(_ state: State, _ commit: Commit) {
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

    /// Returns the step on top of a stack, the last commit first.
    private func step(_ stack: [Int]) -> [Int] {
        guard let top = stack.last else { return [] }
        guard let group = commits[top - 1].group else { return [top] }
        return Array(stack.reversed().prefix { commits[$0 - 1].group == group })
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

    private mutating func redo(_ owner: Owner, _ policy: Policy) -> Outcome {
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

    private mutating func revert(_ revision: Int, _ owner: Owner?, _ policy: Policy) -> Outcome {
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

    /// Returns the state without the effects of the commits; nil if a conflict prevents this.
    private func inverse(of revisions: [Int], _ policy: Policy) -> State? {
        var inversion = ReferenceInversion(now: now, policy: policy)
        for revision in revisions {
            let (before, after) = (states[revision - 1], states[revision])
            for key in Set(before.objects.keys).union(after.objects.keys).sorted()
            where before[key] != after[key] {
                inversion.takeBack(key, before[key], after[key])
            }
            for key in Set(before.links.keys).union(after.links.keys) {
                inversion.takeBack(
                    key, before.links[key] ?? .absent, after.links[key] ?? .absent)
            }
        }
        inversion.settle { Self.repeated(in: $0, among: $1) }
        inversion.settlePositions(formerly: states[(revisions.last ?? 1) - 1])
        if inversion.isRefused { return nil }
        var state = inversion.state
        state.derive()
        return state
    }
}

extension UndoGroup {
    /// Returns the group with a number, which is the same in every process.
    static func simulated(_ number: Int) -> UndoGroup {
        UndoGroup(ObjectID(high: 2 << 32, low: UInt64(number) + 1))
    }
}

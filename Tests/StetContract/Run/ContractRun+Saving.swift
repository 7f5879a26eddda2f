import Glibc
import Stet
import StetLMDB
import StetStore

/// The outcome of a save of the library.
enum Ended {
    case committed(Commit)
    case nothing
    case refused(Set<Breach>)
    case conflict
    case failed(any Error)
}

extension Ended {
    /// The changes of a commit, as lines.
    fileprivate var changes: String {
        guard case .committed(let commit) = self else { return "" }
        return commit.changeSet.changes.map { "\n  \($0)" }.joined()
    }
}

extension ContractRun {
    func ending(_ body: () throws -> Commit?) -> Ended {
        do {
            return try body().map { .committed($0) } ?? .nothing
        } catch {
            return ending(error)
        }
    }

    func ending(_ error: any Error) -> Ended {
        switch error {
        case let error as ValidationError:
            .refused(
                Set(
                    error.violations.map { violation in
                        Breach(
                            code: violation.code.number,
                            object: violation.object.map(registry.label) ?? -1,
                            property: violation.property ?? "")
                    }))
        case let error as DiscardedEditsError: ending(error.cause)
        case let error as ConflictError where error.reason == .changed: .conflict
        default: .failed(error)
        }
    }

    /// Saves, and adopts the outcome.
    func save(_ index: Int, _ keepsPending: Bool, _ failure: Failure?) throws {
        time += 1
        let positions = moved(index)
        let expected = scenes[index].expectedSave(reference, moved: positions)
        let context = stages[index].context
        let ended = failing(failure, context) {
            ending {
                try context.save("save", onFailure: keepsPending ? .keepPending : .rollback)
            }
        }
        let before = scenes[index]
        if try settle(index, expected, ended, failure) { return }
        if keepsPending { return try keep(index, before, positions) }
        scenes[index].rollBack()
        try adoptRevision(index)
    }

    /// Compares an outcome with the expected one, and returns whether the save succeeded.
    func settle(
        _ index: Int, _ expected: Expected, _ ended: Ended, _ failure: Failure?
    ) throws -> Bool {
        switch (expected.agreeing(with: ended), ended) {
        // A writer that has refused the save once has already used up the failure.
        case (.committed, .committed(let commit))
        where failure == nil || scenes[index].revision < reference.head:
            try adopt(commit, expected.commits, by: index)
            count("committed")
            return true
        case (.nothing, .nothing):
            scenes[index].rollBack()
            try adoptRevision(index)
            count("nothing")
            return true
        case (.refused(let one), .refused(let other)) where one == other: count("refused")
        case (.conflict, .conflict): count("conflict")
        case (_, .failed(let error)):
            guard let failure, isInjected(error) else {
                throw Difference("the save threw \(error)")
            }
            count("failed in \(failure)")
        default:
            throw Difference(
                "the save ended as \(ended), not as \(expected)\(ended.changes)")
        }
        return false
    }

    func isInjected(_ error: any Error) -> Bool {
        error is Thrown || error is StoreError
    }

    /// Checks that after a refusal everything is pending as before; the context may have followed
    /// the store if this needs no merge.
    func keep(_ index: Int, _ before: Scene, _ moved: Set<Label>) throws {
        scenes[index].now = before.now
        let shown = Int(stages[index].context.revision.number)
        if shown == before.revision { return }
        let touched = reference.touched(since: before.revision, scenes[index].keys)
        guard shown == reference.head, before.edited(moved).isDisjoint(with: touched.all),
            case .world(let world, let uncertain) = before.merged(
                onto: reference.states[shown], touched: touched, moved: moved),
            !world.hasDangling
        else { throw Difference("a refused save has moved the context to \(shown)") }
        scenes[index].now = world
        scenes[index].uncertain = uncertain
        scenes[index].base = reference.states[shown]
        scenes[index].revision = shown
        scenes[index].snapshots = before.snapshots.compactMapValues { pending in
            var scene = before
            scene.now = pending
            guard scene.edited([]).isDisjoint(with: touched.all),
                case .world(let world, let uncertain) = scene.merged(
                    onto: reference.states[shown], touched: touched, moved: []),
                uncertain.isEmpty, !world.hasDangling
            else { return nil }
            return world
        }
    }

    /// Runs a save that fails for an external reason.
    func failing<Result>(
        _ failure: Failure?, _ context: ManagedContext, _ body: () throws -> Result
    ) rethrows -> Result {
        let observer = context.willCommit { _ in if failure == .willCommit { throw Thrown() } }
        defer { observer.cancel() }
        return try failing(failure, body)
    }

    /// Runs a commit during which a call of LMDB fails.
    func failing<Result>(
        _ failure: Failure?, _ body: () throws -> Result
    ) rethrows -> Result {
        #if STET_FAULTS
            let faults = store.file.environment.faults
            switch failure {
            case .begin: faults.failNext(.begin, code: EIO)
            case .put: faults.failNext(.put, after: 2, code: ENOSPC)
            case .full: faults.failNext(.put, after: 2, code: LMDBError.mapFull)
            case .commit: faults.failNext(.commit, code: EIO)
            case .willCommit, nil: break
            }
            defer { faults.disarm() }
        #endif
        return try body()
    }

    // MARK: Edits, checks and refreshes

    func edit(_ steps: [Step], _ fails: Bool, _ index: Int, _ isInEdit: Bool) throws {
        let before = scenes[index]
        let positions = moved(index)
        if !isInEdit { time += 1 }
        var expected = Expected.nothing
        var difference: (any Error)?
        let ended = ending {
            try stages[index].context.edit("edit") {
                do {
                    for step in steps { try performNow(step, in: index, isInEdit: true) }
                    if !fails, !isInEdit {
                        expected = scenes[index].expectedSave(reference, moved: moved(index))
                    }
                } catch {
                    difference = error
                    throw error
                }
                if fails { throw Thrown() }
            }
        }
        if let difference { throw difference }
        if fails {
            guard case .failed(let error) = ended, error is Thrown else {
                throw Difference("the edit ended as \(ended)")
            }
            scenes[index].now = before.now
            return count("edit thrown")
        }
        if isInEdit { return }
        if try settle(index, expected, ended, nil) { return }
        try keep(index, before, positions)
    }

    func validate(_ index: Int) throws {
        let scene = scenes[index]
        let breaches = scene.now.prepared(since: scene.base, moved: moved(index), scene.keys)
            .breaches
        let ended = ending {
            try stages[index].context.validate()
            return nil
        }
        switch ended {
        case .nothing where breaches.isEmpty: count("valid")
        case .refused(let found) where found == breaches: count("invalid")
        // Unique values and counts are compared with the last commit.
        case .nothing, .refused:
            if scenes[index].revision == reference.head {
                throw Difference("validate ended as \(ended), not with \(breaches)")
            }
        default: throw Difference("validate ended as \(ended)")
        }
    }

    func refresh(_ index: Int) throws {
        let moved = moved(index)
        let ended = ending {
            try stages[index].context.refresh()
            return nil
        }
        let scene = scenes[index]
        let theirs = reference.states[reference.head]
        var merged = scene.merged(
            onto: theirs, touched: reference.touched(since: scene.revision, scene.keys),
            moved: moved)
        if case .world(var world, let uncertain) = merged, world.hasDangling {
            world.letGo()
            merged = scene.policy.letsGo ? .world(world, uncertain: uncertain) : .conflict
        }
        switch (merged, ended) {
        case (.world(let world, let uncertain), .nothing):
            for label in world.objects.keys where theirs.objects[label] == nil {
                scenes[index].revived[label] = scenes[index].before(label)
            }
            scenes[index].now = world
            scenes[index].uncertain.formUnion(uncertain)
            scenes[index].base = theirs
            scenes[index].revision = reference.head
            scenes[index].snapshots = [:]
            count("refreshed")
        case (.conflict, .conflict): count("refresh in conflict")
        default: throw Difference("the refresh ended as \(ended), not as \(merged)")
        }
    }
}

extension Policy {
    var mergePolicy: MergePolicy {
        switch self {
        case .fail: .fail
        case .storeWins: .mergeStoreWins
        case .contextWins: .mergeContextWins
        case .theirs: .custom { $0.theirs }
        case .sum:
            .mergeStoreWins.merging(Box.self, \.number, by: .sum)
                .merging(Item.self, \.number, by: .sum).merging(Tag.self, \.number, by: .sum)
                .merging(Leaf.self, \.number, by: .sum)
        }
    }
}

import Foundation
import Logging
import Stet
import StetLMDB
import StetStore
import StetTestSupport

/// One run of the checker: a store of the library and its reference, side by side.
@MainActor final class ContractRun {
    private let directory = TemporaryDirectory()
    private let clock: Monitor<Double>
    let store: Store
    let registry = Registry()
    var reference = RunReference()
    var scenes: [Scene]
    let stages: [Stage]
    private var fold = JournalFold()
    /// True while an asynchronous save is in progress.
    var isFlying = false
    /// The number of times that each outcome of a save occurred.
    private(set) var counts: [String: Int] = [:]

    /// Selects the queries that are compared.
    private(set) var query = 0

    let keys: KeyFile

    init(contexts: Int) async throws {
        let clock = Monitor(1.0)
        self.clock = clock
        var configuration = Store.Configuration()
        configuration.clock = {
            Date(timeIntervalSinceReferenceDate: clock.withLock { $0 })
        }
        // Injected failures would fill the log.
        configuration.logger.logLevel = .critical
        let key = directory.file("key")
        try Data(repeating: 1, count: 32).write(to: URL(filePath: key))
        keys = try await KeyFile.open(at: directory.file("keys"), provider: .file(key))
        configuration.keys = keys
        let store = try Store.open(
            at: directory.file(), for: Box.self, Item.self, Tag.self, Leaf.self,
            configuration: configuration)
        self.store = store
        scenes = Array(repeating: Scene(), count: contexts)
        let registry = registry
        let contents = try Contents.write(to: store)
        stages = (0..<contexts).map {
            Stage(store, registry, author: "author \($0)", contents: contents)
        }
    }

    /// The time of the next save.
    var time: Int {
        get { Int(clock.withLock { $0 }) }
        set { clock.withLock { $0 = Double(newValue) } }
    }

    func count(_ event: String) { counts[event, default: 0] += 1 }

    // MARK: Steps

    /// Carries out a step, and compares everything that is visible.
    func perform(_ move: Move) async throws {
        guard move.step.applies(to: scenes[move.context], reference) else { return }
        query = move.query
        if case .flight(let later, let end, let keepsPending) = move.step {
            try await fly(move.context, later, end, keepsPending)
        } else if case .sealAnew(let label) = move.step {
            try await sealAnew(by: label)
        } else {
            try performNow(move.step, in: move.context, isInEdit: false)
        }
        for index in scenes.indices { try compare(index) }
    }

    /// Carries out a step that does not wait.
    func performNow(_ step: Step, in index: Int, isInEdit: Bool) throws {
        guard step.applies(to: scenes[index], reference) else { return }
        let stage = stages[index]
        switch step {
        case .rollBack:
            if isInEdit { return }
            stage.context.rollback()
            scenes[index].rollBack()
            if !isFlying { try adoptRevision(index) }
        case .snapshot(let number):
            stage.snapshots[number] = stage.context.snapshot()
            scenes[index].snapshots[number] = scenes[index].now
        case .restore(let number):
            guard let snapshot = stage.snapshots[number], !snapshot.isVoid else { return }
            stage.context.restore(snapshot)
            scenes[index].now = scenes[index].snapshots[number]!
        case .edit(let steps, let fails):
            try edit(steps, fails, index, isInEdit)
        case .save(let keepsPending, let failure):
            if isInEdit { return }
            try save(index, keepsPending, failure)
        case .validate: if !isInEdit { try validate(index) }
        case .letGo: stage.letGo()
        case .refresh: if !isInEdit { try refresh(index) }
        case .renew: if !isInEdit { try renew(index) }
        case .takeBack(let what, let answer, let failure):
            if !isInEdit { try takeBack(what, answer, failure, author: index) }
        case .trim: if !isInEdit { try trim() }
        case .redact(let label, let attribute): if !isInEdit { try redact(label, attribute) }
        case .rotateKey(let label): if !isInEdit { try changeKey(of: label, destroys: false) }
        case .destroyKey(let label): if !isInEdit { try changeKey(of: label, destroys: true) }
        case .group(let begins):
            reference.beginGroup(begins, index)
            stage.context.undoGroup = begins ? UndoGroup() : nil
        case .policy(let policy):
            scenes[index].policy = policy
            stage.context.mergePolicy = policy.mergePolicy
        case .upsert(let label, let kind, let key, let number, let name):
            try upsert(label, kind, key, number, name, in: index)
        default:
            if case .insert(let label, _, _, _) = step { reference.known.insert(label) }
            if isInEdit, case .rollBackObject = step { return }
            scenes[index].apply(step)
            try stage.apply(step)
        }
    }

    private func renew(_ index: Int) throws {
        stages[index].renew()
        reference.groups[index] = nil
        let (policy, keys) = (scenes[index].policy, scenes[index].keys)
        scenes[index] = Scene()
        scenes[index].policy = policy
        scenes[index].keys = keys
        stages[index].context.mergePolicy = policy.mergePolicy
        try adoptRevision(index)
    }

    /// Checks that the revision of a context is a state of the store, and adopts it.
    func adoptRevision(_ index: Int) throws {
        let revision = Int(stages[index].context.revision.number)
        guard reference.states.indices.contains(revision) else {
            throw Difference("the context shows revision \(revision) of \(reference.head)")
        }
        let hadChanges = !scenes[index].isUnchanged
        if hadChanges { return }
        scenes[index].revision = revision
        scenes[index].base = reference.states[revision]
        scenes[index].now = scenes[index].base
    }

    // MARK: Comparing

    /// Compares the state that a context shows with its scene.
    func compare(_ index: Int) throws {
        let shown = try stages[index].shown()
        let scene = scenes[index]
        var expected = scene.now.visible
        expected.letGoOfUnknown(scene.now)
        var seen = shown
        seen.letGoOfUnknown(scene.now)
        if let text = seen.difference(from: expected, ignoring: scene.uncertain) {
            throw Difference("context \(index) shows\n  \(text)")
        }
        try compareQueries(index)
        adoptOrder(index, shown)
        let context = stages[index].context
        if !scenes[index].isUnchanged, !context.hasChanges {
            let text = scenes[index].now.difference(from: scenes[index].base, ignoring: [])
            throw Difference("context \(index) has no changes, and should have \(text ?? "some")")
        }
        if context.revision.number != scene.revision {
            throw Difference(
                "context \(index) shows revision \(context.revision) and not \(scene.revision)")
        }
    }

    private func adoptOrder(_ index: Int, _ shown: World) {
        for list in scenes[index].uncertain {
            let members = shown.order[list] ?? []
            let hidden = (scenes[index].now.order[list] ?? []).filter { !members.contains($0) }
            scenes[index].now.order[list] = members + hidden
        }
        scenes[index].uncertain = []
    }

    /// Returns the objects that the context would update only because of their positions.
    func moved(_ index: Int) -> Set<Label> {
        let scene = scenes[index]
        let changes = stages[index].context.changes.changes
        return Set(
            changes.filter { $0.kind == .update && $0.isEdited }
                .map { registry.label(of: $0.id) }
                .filter { label in
                    guard let now = scene.now.objects[label], let base = scene.base.objects[label]
                    else { return false }
                    return now.isSame(as: base, ignoringCount: true)
                })
    }

    // MARK: What was written

    /// Adds a commit to the fold of the journal, and returns the labels of the objects whose values
    /// it changed.
    private func record(_ commit: Commit) throws -> Set<Label> {
        guard commit.revision.number == reference.head + 1 else {
            throw Difference("the commit is \(commit.revision) after \(reference.head)")
        }
        let changes = commit.changeSet
        try fold.add(changes)
        try compareTotals(fold.totals(registry), fold.world(registry), "the journal")
        reference.cells.append(fold.cells(registry))
        return Set(
            changes.changes.filter { $0.kind != .update || !$0.properties.isEmpty }
                .map { registry.label(of: $0.id) })
    }

    /// Adopts a commit as the journal describes it.
    func adoptFolded(_ commit: Commit) throws {
        let touched = try record(commit)
        let world = fold.world(registry)
        reference.states.append(world.visible)
        reference.touched.append(touched)
        try compareFresh(world, commit)
    }

    private func compareFresh(_ world: World, _ commit: Commit) throws {
        let fresh = Stage(store, registry, author: "nobody")
        // A waiting save may have been committed since.
        if fresh.context.revision != commit.revision { return }
        if let text = try fresh.shown().difference(from: world.visible) {
            throw Difference("a fresh context shows\n  \(text)")
        }
        try compareTotals(fresh.totals, world.visible, "a fresh context")
    }

    /// Adds a commit to the reference, and compares it with the possible outcomes.
    func adopt(
        _ commit: Commit, _ possible: [(world: World, uncertain: Set<OwnedList>)], by index: Int
    ) throws {
        let touched = try record(commit)
        let folded = fold.world(registry)
        var found: World?
        var difference: String?
        for (world, uncertain) in possible where found == nil {
            var world = world
            // A derived number is no edit of the object.
            let stamped = commit.changeSet.changes.filter { change in
                change.properties.contains { $0.name != "total" }
            }
            for change in stamped { world.objects[registry.label(of: change.id)]?.stamp = time }
            if let text = folded.visible.difference(from: world.visible, ignoring: uncertain) {
                difference = difference ?? text
                continue
            }
            for list in uncertain { world.order[list] = folded.order[list] ?? [] }
            found = world
        }
        guard let world = found else {
            throw Difference("the journal comes to\n  \(difference ?? "a commit")")
        }
        reference.states.append(world.visible)
        reference.touched.append(touched)
        reference.stacks[index, default: UndoModel()].edited(
            reference.head, in: reference.groups[index], floor: reference.floor)
        try compareFresh(world, commit)
        scenes[index].rollBack()
        scenes[index].revision = reference.head
        scenes[index].base = world.visible
        scenes[index].now = world.visible
    }

    /// Makes the comparisons at the end of a run.
    func finish() throws {
        let report = try store.verify()
        if !report.isClean { throw Difference("verify: \(report)") }
        if reference.floor == 0, reference.erased.isEmpty { try compareProjection() }
    }
}

extension ObjectChange {
    /// True for a change of more than counters.
    var isEdited: Bool { properties.contains { !["count", "stamp"].contains($0.name) } }
}

extension World {
    /// Removes references to objects that do not exist in another world: others have deleted them,
    /// and the contract does not say whether they can still be read.
    mutating func letGoOfUnknown(_ world: World) {
        for (label, object) in objects {
            for (relation, target) in object.references where world.objects[target] == nil {
                objects[label]?.references[relation] = nil
            }
        }
        for relation in Relation.links {
            links[relation] = links[relation]?.filter {
                world.objects[$0.source] != nil && world.objects[$0.target] != nil
            }
            if links[relation]?.isEmpty == true { links[relation] = nil }
        }
    }
}

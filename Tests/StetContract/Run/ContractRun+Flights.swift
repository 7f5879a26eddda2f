import Foundation
import Stet
import StetLMDB
import StetStore

/// Holds LMDB's writer lock until it is released.
private final class WriterHold: Sendable {
    private let isReleased = Monitor(false)
    private struct NothingToWrite: Error {}

    init(_ environment: Environment) {
        let (isHeld, isReleased) = (Monitor(false), isReleased)
        Thread {
            try? environment.write { _ in
                isHeld.withLock { $0 = true }
                isHeld.notify()
                isReleased.wait { $0 ? () : nil }
                throw NothingToWrite()
            }
        }.start()
        isHeld.wait { $0 ? () : nil }
    }

    func release() {
        isReleased.withLock { $0 = true }
        isReleased.notify()
    }
}

/// An asynchronous save, and its outcome.
@MainActor private final class Flight {
    private(set) var ended: Ended?
    /// True if edits made during the save were discarded with it.
    private(set) var hasLostLater = false
    /// True once the save has gone as far as it can without waiting.
    private var hasStarted = false
    private var task: Task<Void, Never>?

    /// Creates a flight, and returns when the save waits for something.
    init(_ run: ContractRun, _ context: ManagedContext, _ keepsPending: Bool) async {
        task = Task {
            hasStarted = true
            do {
                let commit = try await context.save(
                    "flight", onFailure: keepsPending ? .keepPending : .rollback)
                ended = commit.map { .committed($0) } ?? .nothing
            } catch {
                hasLostLater = error is DiscardedEditsError
                ended = run.ending(error)
            }
        }
        while !hasStarted { await Task.yield() }
    }

    func cancel() { task?.cancel() }

    func value() async -> Ended {
        await task?.value
        return ended ?? .nothing
    }
}

extension ContractRun {
    /// Saves asynchronously, with edits during the save.
    func fly(
        _ index: Int, _ later: [Step], _ end: FlightEnd, _ keepsPending: Bool
    ) async throws {
        time += 1
        let before = scenes[index]
        let positions = moved(index)
        let expected = before.expectedSave(reference, moved: positions)
        let context = stages[index].context
        let hold = WriterHold(store.file.environment)
        let flight = await Flight(self, context, keepsPending)
        guard flight.ended == nil else {
            hold.release()
            return try settleAtOnce(
                index, expected, await flight.value(), keepsPending, before, positions)
        }
        scenes[index] = before.sent(positions, time)
        stages[index].snapshots = [:]
        let sent = scenes[index].base
        isFlying = true
        defer { isFlying = false }
        try compare(index)
        try performLater(later, before, in: index)
        try compare(index)
        let hasLater = context.hasChanges
        let second = end.hasSecond ? await Flight(self, context, false) : nil
        if end == .secondCancelled { second?.cancel() }
        // A cancelled save withdraws the changes that were pending when it was called.
        let laterPositions = second == nil ? [] : moved(index)
        let ended = try await land(flight, end, hold, index)
        stages[index].snapshots = [:]
        scenes[index].snapshots = [:]
        try settle(
            index, expected, ended,
            Landing(
                before: before, sent: sent, positions: positions, keepsPending: keepsPending,
                hasLater: hasLater, end: end, hasLostLater: flight.hasLostLater))
        if let second {
            try await settle(second, index, end, ended, hasLater, laterPositions, left: positions)
        }
        if end == .refresh { try refresh(index) }
    }

    /// The facts about a save that are needed when it ends.
    struct Landing {
        let before: Scene
        let sent: World
        let positions: Set<Label>
        let keepsPending: Bool
        let hasLater: Bool
        let end: FlightEnd
        let hasLostLater: Bool
    }

    /// Carries out the edits during a save.
    private func performLater(_ later: [Step], _ before: Scene, in index: Int) throws {
        // An overtaken object with later edits shows its old values, and is merged with the next
        // save. That state of two revisions is not modelled.
        let overtaken = reference.touched(since: before.revision, scenes[index].keys)
        for step in later where step.isMadeInFlight {
            let labels = step.labels(in: scenes[index].now)
            if !overtaken.all.isDisjoint(with: labels) { continue }
            try performNow(step, in: index, isInEdit: false)
        }
    }

    private func land(
        _ flight: Flight, _ end: FlightEnd, _ hold: WriterHold, _ index: Int
    ) async throws -> Ended {
        #if STET_FAULTS
            let faults = store.file.environment.faults
            defer { faults.disarm() }
            switch end {
            case .begin: faults.failNext(.begin, code: 5)
            case .put: faults.failNext(.put, after: 2, code: 28)
            case .commit: faults.failNext(.commit, code: 5)
            default: break
            }
        #endif
        if end == .cancelled {
            flight.cancel()
            await Task.yield()
        }
        hold.release()
        // An edit needs the outcome, and so completes the save.
        if end == .edit { _ = try? stages[index].context.edit { throw Thrown() } }
        return await flight.value()
    }

    /// Settles a save that was never sent to the writer.
    private func settleAtOnce(
        _ index: Int, _ expected: Expected, _ ended: Ended, _ keepsPending: Bool, _ before: Scene,
        _ positions: Set<Label>
    ) throws {
        if try settle(index, expected, ended, nil) { return }
        if keepsPending { return try keep(index, before, positions) }
        scenes[index].rollBack()
        try adoptRevision(index)
    }

    private func settle(
        _ index: Int, _ expected: Expected, _ ended: Ended, _ landing: Landing
    ) throws {
        let mine = scenes[index]
        switch (expected.agreeing(with: ended), ended) {
        case (.committed, .committed(let commit)):
            try adopt(commit, expected.commits, by: index)
            scenes[index].putOnTop(mine, of: landing.sent)
            count("flight committed")
            return
        case (.nothing, .nothing):
            scenes[index] = landing.before
            scenes[index].rollBack()
            scenes[index].follow(reference, to: Int(stages[index].context.revision.number))
            scenes[index].putOnTop(mine, of: landing.sent)
            count("flight of nothing")
            return
        case (.refused(let one), .refused(let other)) where one == other: count("flight refused")
        case (.conflict, .conflict): count("flight in conflict")
        case (_, .failed(let error)):
            guard landing.end.fails, error is StoreError || error is CancellationError else {
                throw Difference("the asynchronous save threw \(error)")
            }
            count("flight failed: \(landing.end)")
        default: throw Difference("the asynchronous save ended as \(ended), not as \(expected)")
        }
        // A cancelled second save may have withdrawn the later edits before.
        if landing.hasLater, !landing.hasLostLater, landing.end != .secondCancelled {
            throw Difference("later edits went, and the save did not say so")
        }
        scenes[index] = landing.before
        scenes[index].snapshots = [:]
        if landing.keepsPending { return try keep(index, landing.before, landing.positions) }
        scenes[index].rollBack()
        try adoptRevision(index)
    }

    /// Settles the save that has waited for the first one.
    private func settle(
        _ second: Flight, _ index: Int, _ end: FlightEnd, _ first: Ended, _ hasLater: Bool,
        _ positions: Set<Label>, left: Set<Label>
    ) async throws {
        // Without edits of its own the second save takes the edits that the first one left.
        var positions = positions
        switch first {
        case .committed, .nothing: break
        default:
            positions = left
            let ended = await second.value()
            if hasLater {
                guard second.hasLostLater || end == .secondCancelled else {
                    throw Difference("a waiting save whose edits went ended as \(ended)")
                }
                return
            }
        }
        if end == .secondCancelled {
            let ended = await second.value()
            guard case .failed(let error) = ended, error is CancellationError else {
                throw Difference("a cancelled save that waits ended as \(ended)")
            }
            if hasLater { scenes[index].now = scenes[index].base }
            return
        }
        let before = scenes[index]
        let expected = before.expectedSave(reference, moved: positions)
        if try settle(index, expected, await second.value(), nil) { return }
        scenes[index].rollBack()
        try adoptRevision(index)
    }
}

extension FlightEnd {
    var hasSecond: Bool { self == .second || self == .secondCancelled }
    var fails: Bool { [.begin, .put, .commit, .cancelled].contains(self) }
}

extension Step {
    /// True if the step does not need the outcome of the save in progress.
    var isMadeInFlight: Bool {
        switch self {
        case .edit, .save, .flight, .validate, .refresh, .renew, .policy, .takeBack, .trim,
            .redact, .group, .sealAnew:
            false
        default: true
        }
    }
}

extension Scene {
    /// Returns the scene after a save has been sent: its objects count as saved.
    func sent(_ moved: Set<Label>, _ time: Int) -> Scene {
        var scene = self
        var (next, _) = now.prepared(since: base, moved: moved, keys)
        for (label, object) in next.objects
        where object != base.objects[label] || moved.contains(label) {
            next.objects[label]?.stamp = time
        }
        scene.base = next
        scene.now = next
        scene.snapshots = [:]
        return scene
    }

    mutating func follow(_ run: RunReference, to revision: Int) {
        self.revision = revision
        base = run.states[revision]
        now = base
    }

    /// Applies edits that were made on another state.
    mutating func putOnTop(_ later: Scene, of sent: World) {
        var mine = later
        mine.base = sent
        mine.policy = .contextWins
        let labels = Set(sent.objects.keys).union(base.objects.keys)
        let touched = labels.filter { sent.objects[$0] != base.objects[$0] }
        // An object that was removed with the save's changes is not inserted again.
        for label in sent.objects.keys where base.objects[label] == nil { mine.now.forget(label) }
        for label in sent.objects.keys where base.objects[label] == nil { mine.base.forget(label) }
        guard
            case .world(let world, let uncertain) = mine.merged(
                onto: base, touched: Touched(all: touched, edited: touched), moved: [])
        else { return }
        now = world
        named.formUnion(later.named)
        self.uncertain.formUnion(uncertain)
    }
}

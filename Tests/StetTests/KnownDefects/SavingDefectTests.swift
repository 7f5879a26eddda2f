import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Defects of saves that wait or are on their way, and of `store.edit`, each in the program that
/// showed it.
@MainActor struct SavingDefectTests {
    private typealias Part = Crates.Part

    private let scene: CrateScene
    private var context: ManagedContext { scene.mine.context }

    init() throws { scene = try CrateScene() }

    /// Saves in a task; returns when the change set is on its way to a writer that is held.
    private func send() async -> (task: Task<Commit?, any Error>, writer: HeldWriter) {
        let writer = HeldWriter(scene.store.file.environment)
        let context = context
        let task = Task { try await context.save() }
        while context.core.saves.inFlight == nil { await Task.yield() }
        return (task, writer)
    }

    private nonisolated static func saveInside(_ store: Store) throws {
        try store.edit { context in _ = try context.save() }
    }

    /// A blocking save, as a function that is not asynchronous makes it.
    private static func blocking(_ context: ManagedContext) throws {
        _ = try context.save("blocking")
    }

    private static func refresh(_ context: ManagedContext) throws { try context.refresh() }

    private func wait() async -> Task<Commit?, any Error> {
        let context = context
        let count = context.core.saves.waiting.count
        let task = Task { try await context.save() }
        while context.core.saves.waiting.count == count { await Task.yield() }
        return task
    }

    @Test("D4 a member that a save takes out can be put back while the save is on its way")
    func aMemberCanBePutBackDuringASave() async throws {
        let (mine, part) = (scene.mine, scene.mine.parts[0])
        part.marks.append(mine.mark)
        mine.b.pins.append(part)
        try await context.save()
        part.marks.remove(mine.mark)
        mine.b.pins.remove(part)
        mine.a.shelf.remove(part)
        let (task, writer) = await send()
        part.marks.append(mine.mark)
        mine.b.pins.append(part)
        mine.a.shelf.append(part)
        part.number = 7
        #expect(part.marks.count == 1)
        #expect(mine.b.pins.names == ["1"])
        #expect(mine.a.shelf.names == ["1"])
        writer.release()
        _ = try await task.value
        try await context.save()
        let stored = try scene.stored()
        #expect(stored.parts[0].marks.count == 1)
        #expect(stored.parts[0].number == 7)
        #expect(stored.b.pins.names == ["1"])
        #expect(stored.a.shelf.names == ["1"])
    }

    @Test("D9 a cancelled save that waits with nothing of its own takes nobody's edits with it")
    func aCancelledSaveTakesNobodysEdits() async throws {
        scene.mine.a.number = 1
        let (first, writer) = await send()
        let second = await wait()
        second.cancel()
        scene.mine.b.number = 3
        writer.release()
        #expect(try await first.value != nil)
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(scene.mine.b.number == 3)
        #expect(try await context.save() != nil)
        #expect(try scene.stored().b.number == 3)
    }

    @Test("A4 a save that waits is told when the one before it takes its changes along")
    func aWaitingSaveIsToldOfItsLoss() async throws {
        scene.mine.parts[0].key = "k"
        scene.theirs.parts[1].key = "k"
        let writer = HeldWriter(scene.store.file.environment)
        let theirs = scene.theirs.context
        let other = Task { try await theirs.save() }
        while theirs.core.saves.inFlight == nil { await Task.yield() }
        let context = context
        let first = Task { try await context.save() }
        while context.core.saves.inFlight == nil { await Task.yield() }
        scene.mine.b.number = 3
        let second = await wait()
        writer.release()
        _ = try await other.value
        await #expect(throws: DiscardedEditsError.self) { try await first.value }
        await #expect(throws: DiscardedEditsError.self) { try await second.value }
        #expect(scene.mine.b.number == 0)
    }

    @Test("A4 a save that waits is told when a blocking save that fails takes its changes along")
    func aWaitingSaveIsToldOfAnothersFailure() async throws {
        scene.mine.a.number = 1
        let writer = HeldWriter(scene.store.file.environment)
        let context = context
        let parts = scene.mine.parts
        let first = Task {
            _ = try await context.save()
            // Runs before the waiting save has its turn.
            for part in parts { part.key = "the same" }
            try Self.blocking(context)
        }
        while context.core.saves.inFlight == nil { await Task.yield() }
        scene.mine.b.number = 3
        let second = await wait()
        writer.release()
        await #expect(throws: ValidationError.self) { try await first.value }
        await #expect(throws: DiscardedEditsError.self) { try await second.value }
        #expect(scene.mine.b.number == 0)
    }

    @Test("Edits on top of a save that others have made needless stay pending")
    func laterEditsOfANeedlessSaveStay() async throws {
        let (mine, theirs) = (scene.mine, scene.theirs)
        mine.mark.parts.append(mine.parts[1])
        theirs.mark.parts.append(theirs.parts[1])
        try await theirs.context.save()
        let (task, writer) = await send()
        mine.parts[0].number = 7
        context.delete(mine.petal)
        writer.release()
        // The blocking call completes the save before the save's own task continues.
        try Self.refresh(context)
        #expect(try await task.value == nil)
        #expect(mine.petal.hasChanges)
        #expect(mine.parts[0].hasChanges)
        try await context.save()
        let stored = scene.store.context()
        #expect(try stored.fetch(Crates.Petal.self).all().isEmpty)
        #expect(try stored.object(Part.self, id: mine.parts[0].id)?.number == 7)
    }

    @Test("Low 2 the violation of a repeated value names the value")
    func aRepeatedValueIsNamed() throws {
        scene.mine.parts[0].key = "k"
        scene.mine.parts[1].key = "k"
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.value) == [.string("k"), .string("k")])
        #expect(error.violations.allSatisfy { !$0.message.contains("\"k\"") })
        scene.mine.parts[0].key = "k"
        scene.mine.parts[1].key = "k"
        let early = try #require(throws: ValidationError.self) {
            try scene.mine.parts[1].validate(\.key)
        }
        #expect(early.violations.map(\.value) == [.string("k")])
    }

    @Test("Low 6 an edit by willSave that never settles names the property")
    func anEditThatNeverSettlesIsNamed() throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Restless.self)
        let context = store.context()
        context.insert(Restless())
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.property) == ["count"])
        #expect(error.description == "count was still changed by willSave in round 8")
    }

    @Test("Low 7 each observer hears of commits in their order, also when one of them saves")
    func observersHearOfCommitsInOrder() throws {
        var heard: [[Revision]] = [[], []]
        let (context, part) = (context, scene.mine.parts[0])
        context.didCommit { commit in
            heard[0].append(commit.revision)
            guard part.number < 3 else { return }
            part.number += 1
            _ = try? context.save()
        }
        context.didCommit { heard[1].append($0.revision) }
        part.number = 1
        let first = try #require(try context.save())
        let expected = [first.revision, first.revision.next, first.revision.next.next]
        #expect(heard == [expected, expected])
    }

    @Test("Low 8 a cancelled task whose save has nothing to write throws")
    func aCancelledTaskThrows() async throws {
        let context = context
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await context.save()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: The store's own edit

    @Test("Service 2 an edit returns snapshots as they are saved")
    func anEditReturnsWhatIsSaved() throws {
        let snapshot = try scene.store.edit { context in
            let part = Part(name: "  Ann ")
            context.insert(part)
            return part.snapshot
        }
        let stored = try #require(try scene.store.context().object(Part.self, id: snapshot.id))
        #expect(snapshot == stored.snapshot)
        #expect(snapshot.name == "Ann")
        #expect(snapshot.created != nil)
    }

    @Test("Service 9 edits that race for a unique value are all made")
    func editsThatRaceForAUniqueValueAreMade() async throws {
        let store = scene.store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try store.edit(retries: 100) { context in
                        let numbers = try context.fetch(Part.self).all().compactMap { $0.key }
                        let part = Part(name: "new")
                        part.key = "\(numbers.count)"
                        context.insert(part)
                    }
                }
            }
            try await group.waitForAll()
        }
        let keys = try store.context().fetch(Part.self).all().compactMap { $0.key }.sorted()
        #expect(keys == (0..<8).map(String.init))
    }

    @Test("Service 10 save inside of an edit traps, and says what to do")
    func saveInsideOfAnEditTraps() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try Self.saveInside(try await CrateScene().store)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains(
                "save(_:) inside Store.edit or Subscription.run, which save when the closure "))
    }
}

@Model final class Restless {
    var count: Int = 0

    init() {}

    func willSave() { count += 1 }
}

import Foundation
import StetLMDB
import StetStore
import StetTestModels
import Testing

@testable import Stet

/// A saved notebook with an article, in a context that the main actor owns, and a writer that can
/// be held, so that saves of the context are on their way for as long as a test likes.
@MainActor final class Desk {
    let scratch: Scratch
    let context: ManagedContext
    let notebook: Notebook
    let article: Article
    private var held: HeldWriter?
    private var plug: Task<Commit?, any Error>?

    var store: Store { scratch.store }

    init() throws {
        scratch = try Scratch()
        (context, notebook, article) = try scratch.saved()
    }

    /// From now on nothing is committed.
    func hold() { held = HeldWriter(store.file.environment) }

    /// From now on change sets stay in the queue, where they can be withdrawn: the writer is busy
    /// with a notebook of somebody else.
    func holdQueue() async {
        hold()
        let other = store.context(author: "plug")
        plug = Task {
            other.insert(Notebook(name: "plug"))
            return try await other.save("plug")
        }
        await until { other.core.saves.inFlight != nil && store.file.waitingCount == 0 }
    }

    /// Returns when the writer is free again, and what it had in its hands is committed.
    func release() async throws {
        releaseNow()
        _ = try await plug?.value
        plug = nil
    }

    /// Releases the writer without letting other tasks run on the main actor: the flight is decided
    /// then, and has not landed.
    func releaseNow() {
        held?.release()
        held = nil
    }

    /// Saves in a task of its own; returns when the change set is on its way to the held writer.
    func send(
        _ label: String? = nil, id: CommitID? = nil,
        onFailure: ManagedContext.FailureBehavior = .rollback
    ) async -> Task<Commit?, any Error> {
        let task = save(label, id: id, onFailure: onFailure)
        await until { context.core.saves.inFlight != nil }
        return task
    }

    /// Saves in a task of its own; returns when the save waits for its turn.
    func queue(
        _ label: String? = nil, onFailure: ManagedContext.FailureBehavior = .rollback
    ) async -> Task<Commit?, any Error> {
        let count = context.core.saves.waiting.count
        let task = save(label, id: nil, onFailure: onFailure)
        await until { context.core.saves.waiting.count > count }
        return task
    }

    private func save(
        _ label: String?, id: CommitID?, onFailure: ManagedContext.FailureBehavior
    ) -> Task<Commit?, any Error> {
        Task { try await context.save(label, id: id, onFailure: onFailure) }
    }

    /// The blocking save, which asynchronous code cannot call.
    @discardableResult
    func saveNow(_ label: String? = nil, _ context: ManagedContext? = nil) throws -> Commit? {
        try (context ?? self.context).save(label)
    }

    /// Saves an edit in another context, before this desk's save is submitted.
    func elsewhere(_ edit: (ManagedContext) throws -> Void) throws {
        let other = store.context(author: "somebody else")
        try edit(other)
        try saveNow("elsewhere", other)
    }

    /// The notebook is renamed by somebody else, so that a save that renames it is refused.
    func renameElsewhere(_ name: String = "theirs") throws {
        try elsewhere { other in
            try #require(try other.object(Notebook.self, id: notebook.id)).name = name
        }
    }

    /// Returns the state of the saved objects and of `others` in the context.
    func dump(_ others: any Model...) throws -> RestoreDump {
        var objects = LabelledObjects(notebooks: [0: notebook], articles: [1: article])
        for (index, object) in others.enumerated() {
            if let notebook = object as? Notebook { objects.notebooks[index + 2] = notebook }
            if let article = object as? Article { objects.articles[index + 2] = article }
        }
        return try objects.dump(context)
    }

    /// The labels in the journal, oldest first.
    func labels() throws -> [String?] { try store.journal().map(\.label) }
}

/// Lets others run until a condition holds.
@MainActor func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

/// Blocks the thread until other threads have made a condition true.
func untilNow(_ condition: () -> Bool) {
    while !condition() { sched_yield() }
}

/// The error of a task that fails.
func failure<Value>(of task: Task<Value, any Error>) async -> (any Error)? {
    do {
        _ = try await task.value
        return nil
    } catch {
        return error
    }
}

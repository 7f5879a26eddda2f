import Logging
public import StetStore

/// What a destructive action would destroy.
public struct DestructionPlan: Sendable, Hashable {
    /// The objects of one model that would be lost.
    public struct Loss: Sendable, Hashable {
        /// The model.
        public let entity: String
        /// How many objects.
        public let count: Int
        /// The objects, at most 100 of them, in ascending order.
        public let objects: [ObjectID]
    }

    /// A question, as "Delete Notebook?".
    public let title: String
    /// What the person who confirms presses, as "Delete".
    public let destructiveTitle: String
    /// What would be lost, delete rules included, by name of the model.
    public let losses: [Loss]
    /// The history that would be lost; nil when it stays.
    public let history: HistoryLoss?

    init(
        title: String, destructiveTitle: String, lost: [(entity: String, objects: [ObjectID])] = [],
        history: HistoryLoss? = nil
    ) {
        self.title = title
        self.destructiveTitle = destructiveTitle
        self.history = history
        losses = lost.filter { !$0.objects.isEmpty }.sorted { $0.entity < $1.entity }.map { lost in
            Loss(
                entity: lost.entity, count: lost.objects.count,
                objects: Array(lost.objects.sorted().prefix(100)))
        }
    }

    /// What would be lost, as a sentence.
    public var message: String {
        let parts = losses.map { "\($0.count) \($0.entity)" } + (history?.parts ?? [])
        return parts.isEmpty
            ? "Nothing is lost." : "Lost for good: \(parts.joined(separator: ", "))."
    }
}

/// A destructive action was not confirmed, so nothing has changed.
public struct NotConfirmedError: Error, Sendable, Hashable {
    /// What would have been destroyed.
    public let plan: DestructionPlan
    /// Why it was not.
    public let reason: String
}

extension NotConfirmedError: CustomStringConvertible {
    /// What was not done, and why.
    public var description: String { "\(plan.title) \(reason) Nothing was changed." }
}

/// Something that cannot be undone, before it is done: it says what would be lost, and is done once
/// it is confirmed.
///
/// It cannot be copied, so it is confirmed once. One that is dropped is cancelled, and the log says
/// so: the compiler warns of a result that is not used, and cannot do more.
///
/// ```swift
/// let action = try context.requestDelete(notebook)
/// try await action.confirm(with: TerminalConfirmer())
/// try await context.save("delete notebook")
/// ```
public struct DestructiveAction: ~Copyable {
    /// What would be lost.
    public let plan: DestructionPlan
    private let logger: Logger
    private let perform: () throws -> Void
    private var isOpen = true

    init(plan: DestructionPlan, logger: Logger, perform: @escaping () throws -> Void) {
        self.plan = plan
        self.logger = logger
        self.perform = perform
    }

    deinit {
        if isOpen {
            logger.warning("A destructive action was neither confirmed nor cancelled.")
        }
    }

    /// Does it.
    ///
    /// - Throws: `StoreError`.
    public consuming func confirm() throws {
        isOpen = false
        try perform()
    }

    /// Leaves everything as it is.
    public consuming func cancel() {
        isOpen = false
    }

    /// Asks, and does it when the answer is yes.
    ///
    /// - Throws: `NotConfirmedError` when the answer is no, and what the confirmer throws: nothing
    ///   has changed.
    public nonisolated(nonsending) consuming func confirm(with confirmer: some Confirmer)
        async throws
    {
        isOpen = false
        guard try await confirmer.confirms(plan) else {
            throw NotConfirmedError(plan: plan, reason: "The answer was no.")
        }
        try perform()
    }
}

/// Who is asked before something is destroyed: a service, a terminal, a page.
public protocol Confirmer: Sendable {
    /// True when the plan may be carried out.
    func confirms(_ plan: DestructionPlan) async throws -> Bool
}

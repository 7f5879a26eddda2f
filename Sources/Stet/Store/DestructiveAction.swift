public import Logging
public import StetStore

/// An action that cannot be undone and is not performed yet: it describes what would be lost, and
/// runs once it is confirmed.
///
/// It cannot be copied, so it is confirmed at most once. Dropping it cancels it and writes a log
/// message; the compiler warns about an unused result.
///
/// ```swift
/// let action = try context.requestDelete(notebook)
/// try await action.confirm(with: TerminalConfirmer())
/// try await context.save("delete notebook")
/// ```
public struct DestructiveAction: ~Copyable {
    /// The description of what would be lost.
    public let plan: DestructiveAction.Plan
    private let logger: Logger
    private let perform: () throws -> Void
    private var isOpen = true

    /// Creates an action of an application's own.
    ///
    /// ```swift
    /// let plan = DestructiveAction.Plan(title: "Close the account?", destructiveTitle: "Close")
    /// let action = DestructiveAction(plan: plan) { try closeAccount() }
    /// ```
    ///
    /// - Parameters:
    ///   - plan: the description of what would be lost.
    ///   - logger: the log for a message when the action is dropped.
    ///   - perform: the action, which runs at most once, when it is confirmed.
    public init(
        plan: DestructiveAction.Plan, logger: Logger = Logger(label: "stet"),
        perform: @escaping () throws -> Void
    ) {
        self.plan = plan
        self.logger = logger
        self.perform = perform
    }

    deinit {
        if isOpen {
            logger.warning("A destructive action was neither confirmed nor cancelled.")
        }
    }

    /// Performs the action without asking.
    ///
    /// - Throws: `StoreError`.
    public consuming func confirm() throws {
        isOpen = false
        try perform()
    }

    /// Cancels the action; nothing changes.
    public consuming func cancel() {
        isOpen = false
    }

    /// Asks a confirmer, and performs the action if the answer is yes.
    ///
    /// - Throws: `NotConfirmedError` when the answer is no, and the error of the confirmer; in both
    ///   cases nothing has changed. `StoreError`.
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

extension DestructiveAction {
    /// The description of what a destructive action would destroy.
    public struct Plan: Sendable, Hashable {
        /// The objects of one model that would be lost.
        public struct Loss: Sendable, Hashable {
            /// The name of the model.
            public let entity: String
            /// The number of objects.
            public let count: Int
            /// The ids of at most 100 of the objects, in ascending order.
            public let objects: [ObjectID]

            /// Creates the loss of some objects of a model.
            ///
            /// - Parameters:
            ///   - entity: the name of the model.
            ///   - objects: the ids of all objects that would be lost.
            public init(entity: String, objects: [ObjectID]) {
                self.entity = entity
                count = objects.count
                self.objects = Array(objects.sorted().prefix(100))
            }
        }

        /// A question, such as "Delete Notebook?".
        public let title: String
        /// The title of the button that confirms, such as "Delete".
        public let destructiveTitle: String
        /// The objects that would be lost, including by delete rules, by name of the model.
        public let losses: [Loss]
        /// The part of the history that would be lost; nil when none would.
        public let history: DestructiveAction.HistoryLoss?
        /// A sentence that lists what would be lost, in the language of the store's configuration.
        public let message: String

        /// Creates the plan of an application's own action.
        ///
        /// - Parameters:
        ///   - title: a question.
        ///   - destructiveTitle: the title of the button that confirms.
        ///   - losses: the objects that would be lost; models without any are left out.
        ///   - messages: the language of the message.
        public init(
            title: String, destructiveTitle: String, losses: [Loss] = [],
            messages: MessageTable = .english
        ) {
            self.init(
                title: title, destructiveTitle: destructiveTitle, losses: losses, history: nil,
                messages)
        }

        /// Creates the plan of an action of Stet, whose title is a sentence of the table.
        init(
            _ title: Sentence, entity: String = "", _ destructiveTitle: String,
            losses: [Loss] = [], history: DestructiveAction.HistoryLoss? = nil,
            _ messages: MessageTable
        ) {
            self.init(
                title: messages.text(title, entity: entity),
                destructiveTitle: messages.text(Sentence(destructiveTitle), entity: entity),
                losses: losses, history: history, messages)
        }

        private init(
            title: String, destructiveTitle: String, losses: [Loss],
            history: DestructiveAction.HistoryLoss?, _ messages: MessageTable
        ) {
            self.title = title
            self.destructiveTitle = destructiveTitle
            self.history = history
            self.losses = losses.filter { $0.count > 0 }.sorted { $0.entity < $1.entity }
            let parts =
                self.losses.map { loss in
                    messages.text(
                        Sentence("{count} {entity}", count: loss.count), entity: loss.entity)
                } + (history?.parts(messages) ?? [])
            let sentence =
                parts.isEmpty
                ? Sentence("Nothing is lost.")
                : Sentence(
                    "Lost for good: {limit}.",
                    limit: parts.joined(separator: messages.separators.between))
            message = messages.text(sentence, entity: "")
        }
    }
}

/// The error of a destructive action that was not confirmed; nothing has changed.
public struct NotConfirmedError: Error, Sendable, Hashable {
    /// The plan of the action.
    public let plan: DestructiveAction.Plan
    /// The reason why it was not confirmed.
    public let reason: String
}

extension NotConfirmedError: CustomStringConvertible {
    /// A sentence about what was not done, and why.
    public var description: String { "\(plan.title) \(reason) Nothing was changed." }
}

/// A service, terminal or page that confirms an action before it destroys something.
public protocol Confirmer: Sendable {
    /// Returns whether the plan may be carried out.
    func confirms(_ plan: DestructiveAction.Plan) async throws -> Bool
}

public import StetStore

/// A durable subscription: a named position in a feed, kept in the store.
///
/// It delivers the commits of its feed, in order, to one owner at a time: the first one that runs
/// it, in this process or another. Others that run it wait, and take over when the owner ends or is
/// killed. There are two ways to consume it:
///
/// - `run(author:_:)` passes each element to a closure with a context. The edits and the new
///   position are one commit: the edits of the closure are saved exactly once for each element.
/// - `deliveries` returns each element with an acknowledgement, for effects outside the store. An
///   element that was not acknowledged is delivered again: at least once.
///
/// The subscription's own commits are not delivered to it.
///
/// ```swift
/// let great = store.changes(of: Article.self, when: .entering) { $0.rating == 5 }
/// let subscription = try store.subscribe("announce", to: great.withSnapshots())
/// ```
public struct Subscription<Element: Sendable>: Sendable {
    let store: Store
    /// The name.
    public let name: String
    let source: _SubscriptionSource<Element>
    let policy: SubscriptionPolicy

    /// The stored state of the subscription, for inspection and management.
    public var control: SubscriptionControl { store.subscription(named: name) }

    /// The elements that were not acknowledged, one after another, each with an acknowledgement.
    ///
    /// ```swift
    /// for try await delivery in mailer.deliveries {
    ///     try await send(delivery.element)
    ///     try await delivery.acknowledge()
    /// }
    /// ```
    public var deliveries: Subscription<Element>.Deliveries {
        Subscription.Deliveries(subscription: self)
    }

    /// Passes each element to a closure with a context, and saves the edits of the closure together
    /// with the new position, as one commit.
    ///
    /// The edits are saved exactly once for each element, also when a save fails or a process is
    /// killed. A closure that edits nothing only moves the position. The closure may run several
    /// times for an element before its edits are saved: when others have changed what they are
    /// based on, when it throws, or when the process ends. Saving in it traps, and it must not keep
    /// objects.
    ///
    /// - Parameters:
    ///   - author: the author of the commits; nil for commits that are on no undo stack.
    ///   - handler: edits objects of the context that it is given, on the caller's isolation.
    /// - Throws: `SubscriptionError` (`.stopped`) after the last attempt, where the policy stops;
    ///   `.notFound` when the subscription was removed; the errors of the feed. Returns when the
    ///   task is cancelled or the store closed.
    public nonisolated(nonsending) func run(
        author: String? = nil,
        _ handler:
            nonisolated(nonsending) (_ element: Element, _ context: ManagedContext) async throws
            -> Void
    ) async throws {
        var reader = SubscriptionReader(self)
        while let item = try await reader.next() {
            do {
                try await save(item, by: author, handler)
                reader.finish(item)
            } catch {
                if Task.isCancelled || store.file.isClosing { return }
                try await reader.goOn(after: error, from: item)
            }
        }
    }

    /// Runs the handler and saves its edits; retries when others have changed what they are based
    /// on.
    private nonisolated(nonsending) func save(
        _ item: SubscriptionReader<Element>.Item, by author: String?,
        _ handler:
            nonisolated(nonsending) (_ element: Element, _ context: ManagedContext) async throws
            -> Void
    ) async throws {
        for attempt in 0...Self.retries {
            let context = store.context(author: author)
            if attempt < Self.retries {
                context.core.saves.isRepeated = StoreEdit.overtaking(context)
            }
            context.core.configure { $0.subscription = item.update }
            try await context.core.inHandler { try await handler(item.element, context) }
            do {
                if try await context.save(name) == nil {
                    try await store.file.subscriptions.update(item.update)
                }
                return
            } catch {
                guard context.core.saves.willRepeat else { throw error }
            }
        }
    }

    private static var retries: Int { 8 }
}

extension Store {
    /// Returns a durable subscription: a named position in a feed, which the store keeps so that
    /// its consumer continues from there, in whichever process it runs.
    ///
    /// ```swift
    /// let mailer = try store.subscribe(
    ///     "mailer", to: store.changes(of: Order.self, when: .entering) { $0.isPaid })
    /// try await mailer.run { event, context in
    ///     for change in event.changes { context.insert(Email(order: change.id)) }
    /// }
    /// ```
    ///
    /// A new subscription begins where the feed begins; an existing one continues, and the feed's
    /// start is ignored. Only the name, the position and `policy.holdsHistory` are stored: the
    /// filter may differ next time.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes, without zeros.
    ///   - feed: `commits(after:)` or `changes(of:after:when:where:)`, with its filters.
    ///   - policy: the rules for deliveries that fail.
    /// - Returns: the subscription, which delivers nothing before it is run.
    /// - Throws: `SubscriptionError` (`.invalidName`); `StoreError`.
    /// - Complexity: a read; for a new subscription also a durable transaction, which blocks the
    ///   thread.
    public func subscribe<Source: SubscriptionSource>(
        _ name: String, to feed: Source, policy: SubscriptionPolicy = SubscriptionPolicy()
    ) throws -> Subscription<Source.Element> {
        guard 1...Limits.authorByteCount ~= name.utf8.count, !name.utf8.contains(0) else {
            throw SubscriptionError.invalidName(name)
        }
        let source = feed._subscriptionSource
        let known = try file.subscriptions.record(named: name)
        if known?.holdsHistory != policy.holdsHistory {
            let start = try known?.position ?? position(of: source.start)
            try file.subscriptions.update(
                SubscriptionUpdate(
                    name, .create(after: start, holdsHistory: policy.holdsHistory)))
        }
        return Subscription(store: self, name: name, source: source, policy: policy)
    }

    private func position(of start: FeedStart) throws -> Revision {
        try file.read { reader in
            let (floor, head) = (try reader.floor(), try reader.head().revision)
            switch start {
            case .beginning: return floor
            case .now: return head
            case .revision(let revision):
                guard revision <= head else {
                    throw StoreError.noSuchRevision(revision, head: head, path: path)
                }
                guard revision >= floor else {
                    throw StoreError.historyTrimmed(revision.next, floor: floor, path: path)
                }
                return revision
            }
        }
    }

    /// Returns the durable subscription with a name, for inspection and management.
    ///
    /// Nothing is read before a method of it is called.
    public func subscription(named name: String) -> SubscriptionControl {
        SubscriptionControl(file: file, name: name)
    }

    /// Returns the states of all durable subscriptions, in ascending order of their names.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: O(subscriptions + parked deliveries) reads.
    public func subscriptions() throws -> [SubscriptionState] { try file.subscriptions.states() }
}

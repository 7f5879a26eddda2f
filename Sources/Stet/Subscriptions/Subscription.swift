public import StetStore

extension Store {
    /// Returns a durable subscription: a named position in a feed that the store keeps, so that
    /// what consumes it goes on where it stood, whichever process it runs in.
    ///
    /// ```swift
    /// let mailer = try store.subscribe(
    ///     "mailer", to: store.changes(of: Order.self, when: .entering) { $0.isPaid })
    /// try await mailer.run { event, context in
    ///     for change in event.changes { context.insert(Email(order: change.id)) }
    /// }
    /// ```
    ///
    /// A subscription that is new begins where the feed begins; one that is there goes on, and the
    /// feed's start is ignored. Only the name, the position and `policy.holdsHistory` are stored:
    /// the filter may be another one next time.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes, without zeros.
    ///   - feed: `commits(after:)` or `changes(of:after:when:where:)`, with its filters.
    ///   - policy: what happens when a delivery fails.
    /// - Returns: the subscription, of which nothing is delivered before it is run.
    /// - Throws: `SubscriptionError` (`.invalidName`); `StoreError`.
    /// - Complexity: a read; a durable transaction for a new subscription, which blocks the thread.
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

    /// Returns the durable subscription with a name, to look at it and to manage it.
    ///
    /// Nothing is read before it is asked for.
    public func subscription(named name: String) -> SubscriptionControl {
        SubscriptionControl(file: file, name: name)
    }

    /// Returns the states of all durable subscriptions, in ascending order of their names.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: O(subscriptions + parked deliveries) reads.
    public func subscriptions() throws -> [SubscriptionState] { try file.subscriptions.states() }
}

/// A durable subscription: a named position in a feed, kept in the store.
///
/// It delivers the commits that its feed asks for, in order, to one owner at a time: the first who
/// runs it, in this process or another. Others who run it wait, and take over when the owner ends,
/// also by being killed. There are two ways to consume it:
///
/// - `run(author:_:)` gives each element to a closure with a context. The edits and the new
///   position are one commit: what the closure saves is there exactly once for each element.
/// - `deliveries` gives each element with an acknowledgement, for effects outside of the store. An
///   element that was not acknowledged comes again: at least once.
///
/// Commits that the subscription makes itself are not delivered to it.
public struct Subscription<Element: Sendable>: Sendable {
    let store: Store
    /// The name.
    public let name: String
    let source: _SubscriptionSource<Element>
    let policy: SubscriptionPolicy

    /// The stored state of the subscription, to look at it and to manage it.
    public var control: SubscriptionControl { store.subscription(named: name) }

    /// The elements that were not acknowledged, each with an acknowledgement, one after the other.
    ///
    /// ```swift
    /// for try await delivery in mailer.deliveries {
    ///     try await send(delivery.element)
    ///     try await delivery.acknowledge()
    /// }
    /// ```
    public var deliveries: Deliveries<Element> { Deliveries(subscription: self) }

    /// Gives each element to a closure with a context, and saves what the closure has edited
    /// together with the new position, as one commit.
    ///
    /// The edits are saved exactly once for each element, also when a save fails or a process is
    /// killed. A closure that edits nothing moves the position alone. The closure may run several
    /// times for an element before its edits are saved: when others have saved what they are based
    /// on, when it throws, or when the process ends. It does not save, which traps, and keeps no
    /// object.
    ///
    /// - Parameters:
    ///   - author: who makes the commits; nil for commits that are on no undo stack.
    ///   - handler: edits objects of the context that it is given, on the caller's isolation.
    /// - Throws: `SubscriptionError` (`.stopped`) after the last attempt, where the policy stops;
    ///   `.notFound` when the subscription was removed; what the feed throws. Returns when the task
    ///   is cancelled or the store closed.
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

    /// Runs the handler and saves its edits, again where others were faster.
    private nonisolated(nonsending) func save(
        _ item: SubscriptionReader<Element>.Item, by author: String?,
        _ handler:
            nonisolated(nonsending) (_ element: Element, _ context: ManagedContext) async throws
            -> Void
    ) async throws {
        for attempt in 0...Self.retries {
            let context = store.context(author: author)
            let beginning = context.revision
            context.core.settings.subscription = item.update
            try await context.core.inStoreEdit { try await handler(item.element, context) }
            do {
                if try await context.save(name) == nil {
                    try await store.file.subscriptions.update(item.update)
                }
                return
            } catch {
                guard attempt < Self.retries, try store.isOvertaken(error, since: beginning) else {
                    throw error
                }
            }
        }
    }

    private static var retries: Int { 8 }
}

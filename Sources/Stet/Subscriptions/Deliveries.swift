import StetStore
import Synchronization

/// An element of a durable subscription that is to be acknowledged.
public struct Delivery<Element: Sendable>: Sendable {
    /// The commit, or its changes.
    public let element: Element
    /// The number of the commit.
    public let revision: Revision
    /// The number of this attempt, from 1; attempts of earlier processes count where they were
    /// noted as failed.
    public let attempt: Int
    let decision: DeliveryDecision

    /// Moves the subscription past the element; returns when the disk has the new position.
    ///
    /// - Throws: `SubscriptionError`: `.lost` when another has taken the subscription over, or it
    ///   was moved, so that the element may come again; `.alreadyDecided`. `StoreError`: the
    ///   position has not moved, and this can be called again.
    public nonisolated(nonsending) func acknowledge() async throws {
        try decision.begin()
        do {
            try await decision.file.subscriptions.update(decision.update)
            decision.end(.acknowledged)
        } catch {
            decision.end(error is SubscriptionError ? .lost : .open)
            throw error
        }
    }

    /// Says that the element could not be dealt with: it comes again after a pause, or is parked,
    /// as the policy says.
    ///
    /// - Parameter error: the cause, whose text is kept.
    /// - Throws: `SubscriptionError` (`.alreadyDecided`).
    public func fail(_ error: any Error) throws {
        try decision.begin()
        decision.end(.failed("\(error)"))
    }
}

/// The end of a delivery, which the one who deals with it and the iterator share.
final class DeliveryDecision: Sendable {
    enum State {
        case open
        case underWay
        case acknowledged
        case failed(String)
        case lost
    }

    let file: StoreFile
    let update: SubscriptionUpdate
    private let revision: Revision
    private let state = Mutex(State.open)

    init(_ file: StoreFile, _ update: SubscriptionUpdate, _ revision: Revision) {
        self.file = file
        self.update = update
        self.revision = revision
    }

    var current: State { state.withLock { $0 } }

    func begin() throws {
        try state.withLock { state in
            guard case .open = state else {
                throw SubscriptionError.alreadyDecided(name: update.name, revision)
            }
            state = .underWay
        }
    }

    func end(_ end: State) { state.withLock { $0 = end } }
}

/// The elements of a durable subscription that were not acknowledged, in order, one after the
/// other, each at least once.
///
/// Asking for the next one without having acknowledged the last one is a failure of that, which
/// comes again as the policy of the subscription says. Whoever iterates owns the subscription until
/// the iterator goes; another who iterates waits until then. The sequence ends when the store is
/// closed or the task cancelled.
public struct Deliveries<Element: Sendable>: AsyncSequence, Sendable {
    let subscription: Subscription<Element>

    /// Creates an iterator, which waits until it owns the subscription.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: SubscriptionReader(subscription))
    }

    /// The owner of a subscription.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: SubscriptionReader<Element>
        private var last: (item: SubscriptionReader<Element>.Item, decision: DeliveryDecision)?

        fileprivate init(reader: SubscriptionReader<Element>) { self.reader = reader }

        /// Returns the next element, or nil when the store was closed or the task cancelled.
        ///
        /// - Throws: `SubscriptionError`: `.stopped` after the last attempt, where the policy
        ///   stops; `.notFound` when the subscription was removed. What the feed throws.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Delivery<Element>? {
            if Task.isCancelled { return nil }
            if let (item, decision) = last {
                last = nil
                switch decision.current {
                case .acknowledged: reader.finish(item)
                case .lost: reader.forget()
                case .failed(let message): try await reader.fail(item, message)
                case .open, .underWay: try await reader.fail(item, "it was not acknowledged")
                }
            }
            guard let item = try await reader.next() else { return nil }
            let decision = DeliveryDecision(reader.file, item.update, item.revision)
            last = (item, decision)
            return Delivery(
                element: item.element, revision: item.revision, attempt: item.attempt,
                decision: decision)
        }
    }
}

import StetStore
import Synchronization

extension Subscription {
    /// An element of a durable subscription, with its acknowledgement.
    public struct Delivery: Sendable {
        /// The commit, or its changes.
        public let element: Element
        /// The number of the commit.
        public let revision: Revision
        /// The number of this attempt, starting at 1; attempts of earlier processes count when they
        /// were recorded as failed.
        public let attempt: Int
        let decision: DeliveryDecision

        /// Moves the subscription past the element; returns when the new position is on the disk.
        ///
        /// - Throws: `SubscriptionError`: `.lost` when another owner has taken over the
        ///   subscription, or it was moved, so that the element may be delivered again;
        ///   `.alreadyDecided`. `StoreError`: the position has not moved, and the call can be
        ///   repeated.
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

        /// Reports that the element could not be handled: it is delivered again after a pause, or
        /// parked, as the policy says.
        ///
        /// - Parameter error: the cause, whose text is stored.
        /// - Throws: `SubscriptionError` (`.alreadyDecided`).
        public func fail(_ error: any Error) throws {
            try decision.begin()
            decision.end(.failed("\(error)"))
        }
    }
}

/// The decision about a delivery, which its consumer and the iterator share.
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

extension Subscription {
    /// The elements of a durable subscription that were not acknowledged, in order, one after
    /// another, each at least once.
    ///
    /// Requesting the next element without having acknowledged the last one counts as a failure of
    /// the last one, which is delivered again as the policy says. The iterator owns the
    /// subscription as long as it lives; other iterators wait until then. The sequence ends when
    /// the store is closed or the task cancelled.
    public struct Deliveries: AsyncSequence, Sendable {
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
            ///   stops; `.notFound` when the subscription was removed. The errors of the feed.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws -> Delivery? {
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
                return Subscription.Delivery(
                    element: item.element, revision: item.revision, attempt: item.attempt,
                    decision: decision)
            }
        }
    }
}

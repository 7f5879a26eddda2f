import StetStore

/// The owner's side of a durable subscription: holds the lease, reads the feed from the position,
/// and decides what is delivered next.
///
/// State: belongs to the isolation of the consumer.
struct SubscriptionReader<Element: Sendable> {
    /// An element to be delivered.
    struct Item {
        let commit: Commit
        let element: Element
        let objects: [ObjectID]
        /// The number of the attempt, starting at 1.
        let attempt: Int
        let isParked: Bool
        /// The change that handling the element makes to the subscription.
        let update: SubscriptionUpdate

        var revision: Revision { commit.revision }
    }

    /// The number of unrelated commits after which the position is stored.
    private static var skippedLimit: UInt64 { 1_024 }
    /// The time for which the position may stay behind unrelated commits.
    private static var storingInterval: Duration { .seconds(30) }

    private let subscription: Subscription<Element>
    /// The observer that wakes up for changes of the subscription, not for commits.
    private let wakes: CommitFeed.Observer
    private var lease: SubscriptionLease?
    /// The subscription as this owner last read or wrote it; nil while it owns nothing.
    private var record: SubscriptionRecord?
    /// The version that this owner has applied; its own update may return a later one.
    private var version: UInt64 = 0
    private var position = Revision.zero
    private var lot: [SubscriptionState.ParkedDelivery] = []
    private var feed: FeedReader?
    private var lastStored = ContinuousClock.now

    init(_ subscription: Subscription<Element>) {
        self.subscription = subscription
        wakes = CommitFeed.Observer(nudgesOf: subscription.store.file.feed)
    }

    private var name: String { subscription.name }
    private var policy: SubscriptionPolicy { subscription.policy }
    var file: StoreFile { subscription.store.file }

    // MARK: Delivering

    /// Returns the next element; nil when the store was closed or the task cancelled.
    nonisolated(nonsending) mutating func next() async throws -> Item? {
        do {
            while !Task.isCancelled, try await own() {
                if let item = try await nextParked() { return item }
                guard let reading = try await feed?.read(isolation: #isolation) else { return nil }
                switch reading {
                case .end: return nil
                case .nudged: try await storePosition()
                case .commit(let commit):
                    guard let item = try item(commit) else { continue }
                    if !lot.contains(where: { $0.concerns(item.objects) }) { return item }
                    try await park(item, for: nil)
                }
            }
        } catch let error as StoreError where error.code == .storeClosed {}
        return nil
    }

    private mutating func item(_ commit: Commit) throws -> Item? {
        if commit.subscription == name { return nil }
        do {
            guard let found = try subscription.source.item(commit) else { return nil }
            let failure = record?.failure.flatMap { $0.revision == commit.revision ? $0 : nil }
            return Item(
                commit: commit, element: found.element, objects: found.objects,
                attempt: (failure?.count ?? 0) + 1, isParked: false,
                update: update(.advance(from: position, to: commit.revision)))
        } catch {
            feed?.giveBack(commit)
            throw error
        }
    }

    /// Returns the first parked delivery that is due and does not wait for another one.
    private nonisolated(nonsending) mutating func nextParked() async throws -> Item? {
        var waiting: Set<ObjectID> = []
        for parked in lot {
            guard parked.isDue, waiting.isDisjoint(with: parked.objects) else {
                waiting.formUnion(parked.objects)
                continue
            }
            let commit = try file.read { try $0.commit(parked.revision) }
            guard let found = try subscription.source.item(commit) else {
                // The filter has changed since the delivery was parked.
                guard try await perform(.finishParked(parked.revision)) else { return nil }
                lot.removeAll { $0.revision == parked.revision }
                continue
            }
            return Item(
                commit: commit, element: found.element, objects: parked.objects,
                attempt: (parked.failure?.count ?? 0) + 1, isParked: true,
                update: update(.finishParked(parked.revision)))
        }
        return nil
    }

    private func update(_ action: SubscriptionUpdate.Action) -> SubscriptionUpdate {
        SubscriptionUpdate(name, fence: record?.fence, action)
    }

    // MARK: After a delivery

    /// Continues after an element that was handled, which the store already records.
    mutating func finish(_ item: Item) {
        if item.isParked {
            lot.removeAll { $0.revision == item.revision }
        } else {
            position = item.revision
            lastStored = .now
        }
    }

    /// Continues after an error in the effects of an element: from the stored state when the
    /// subscription was lost or the outcome is unknown, otherwise as after a failure.
    nonisolated(nonsending) mutating func goOn(
        after error: any Error, from item: Item
    ) async throws {
        switch (error as? SubscriptionError)?.code {
        case .lost: forget()
        case .notFound: throw error
        default:
            if error is UnknownOutcomeError {
                forget()
            } else {
                try await fail(item, "\(error)")
            }
        }
    }

    /// Records that an element could not be handled, and waits, parks it or stops.
    nonisolated(nonsending) mutating func fail(_ item: Item, _ message: String) async throws {
        let failure = SubscriptionState.Failure(
            revision: item.revision, count: item.attempt,
            time: subscription.store.configuration.clock(), message: message)
        if item.isParked {
            if try await perform(.failParked(item.revision, failure)) {
                lot = try file.subscriptions.parkedDeliveries(of: name)
            }
        } else if item.attempt < policy.attempts {
            guard try await perform(.fail(failure, isLast: false)) else { return }
            feed?.giveBack(item.commit)
            let delay = policy.delay(
                afterFailures: item.attempt, random: .random(in: 0...1))
            // Cancellation is checked before the next delivery.
            try? await Task.sleep(for: delay)
        } else if policy.whenExhausted == .park {
            try await park(item, for: failure)
        } else if try await perform(.fail(failure, isLast: true)) {
            forget()
            lease = nil
            throw SubscriptionError.stopped(name: name, failure)
        }
    }

    private nonisolated(nonsending) mutating func park(
        _ item: Item, for failure: SubscriptionState.Failure?
    ) async throws {
        let parked = SubscriptionState.ParkedDelivery(
            revision: item.revision, objects: item.objects, failure: failure)
        guard try await perform(.park(parked, from: position)) else { return }
        lot.append(parked)
        position = item.revision
        lastStored = .now
    }

    /// Changes the subscription; returns false when it was lost.
    private nonisolated(nonsending) mutating func perform(
        _ action: SubscriptionUpdate.Action
    ) async throws -> Bool {
        do {
            record = try await file.subscriptions.update(update(action))
            return true
        } catch let error as SubscriptionError where error.code == .lost {
            forget()
            return false
        }
    }

    // MARK: Owning

    /// Forgets the known state of the subscription; keeps the lease.
    mutating func forget() {
        record = nil
        feed = nil
    }

    /// Waits until this reader owns the subscription and it may deliver; returns false when the
    /// store was closed or the task cancelled.
    private nonisolated(nonsending) mutating func own() async throws -> Bool {
        while !Task.isCancelled {
            if let known = record {
                let now = try file.subscriptions.record(named: name)
                guard let now else { throw SubscriptionError.notFound(name: name) }
                if now.fence != known.fence {
                    forget()
                } else if now.version != version {
                    try show(now)
                }
            }
            if record == nil {
                if lease == nil { lease = try file.subscriptions.lease(of: name) }
                // There is one owner: the lease excludes others, and the fence excludes former
                // owners.
                if lease != nil {
                    try show(
                        try await file.subscriptions.update(SubscriptionUpdate(name, .acquire)))
                }
            }
            if feed != nil { return true }
            guard try await file.subscriptions.wait(wakes) else { return false }
        }
        return false
    }

    /// Continues from the stored state.
    private mutating func show(_ now: SubscriptionRecord) throws {
        forget()
        version = now.version
        switch now.status {
        case .paused: record = now
        case .stopped:
            lease = nil
            let failure =
                now.failure
                ?? SubscriptionState.Failure(
                    revision: now.position, count: 0,
                    time: subscription.store.configuration.clock(), message: "unknown")
            throw SubscriptionError.stopped(name: name, failure)
        case .active:
            record = now
            position = now.position
            lot = try file.subscriptions.parkedDeliveries(of: name)
            feed = FeedReader(
                file: file, after: .revision(position), subscription.source.interests,
                isNudged: true)
            lastStored = .now
        }
    }

    /// Stores the position after many unrelated commits, or after a long time without related ones.
    private nonisolated(nonsending) mutating func storePosition() async throws {
        guard let reached = feed?.reached, reached > position else { return }
        guard
            reached.number - position.number >= Self.skippedLimit
                || lastStored.duration(to: .now) >= Self.storingInterval
        else { return }
        if try await perform(.advance(from: position, to: reached)) {
            position = reached
            lastStored = .now
        }
    }
}

extension SubscriptionState.ParkedDelivery {
    /// Returns whether the delivery concerns one of some objects, which are in ascending order.
    fileprivate func concerns(_ others: [ObjectID]) -> Bool {
        others.contains { other in
            let index = objects.partitionPoint { $0 < other }
            return objects.element(at: index) == other
        }
    }
}

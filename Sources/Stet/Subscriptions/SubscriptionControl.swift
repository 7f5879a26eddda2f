public import StetStore

/// The stored state of a durable subscription, for inspection and management.
///
/// The owner of the subscription, in whichever process it is, applies each change before its next
/// delivery. Each change is one durable transaction, which blocks the thread.
public struct SubscriptionControl: Sendable {
    let file: StoreFile
    /// The name.
    public let name: String

    /// Returns the state of the subscription; nil when there is none with this name.
    ///
    /// - Throws: `StoreError`.
    public func state() throws -> SubscriptionState? {
        try file.subscriptions.states().first { $0.name == name }
    }

    /// Pauses the subscription until it is resumed; a delivery in progress is completed.
    ///
    /// - Throws: `SubscriptionError` (`.notFound`), `StoreError`.
    public func pause() throws { try update(.pause) }

    /// Resumes a subscription that was paused or has stopped.
    ///
    /// The failures of the next delivery are reset. A subscription that has stopped must also be
    /// run again.
    ///
    /// - Throws: `SubscriptionError` (`.notFound`), `StoreError`.
    public func resume() throws { try update(.resume) }

    /// Moves the subscription to a revision: the commits after it are delivered, even if they were
    /// delivered before; the commits between the old position and a later revision are skipped.
    ///
    /// Parked deliveries of commits after the revision are dropped, because these are delivered
    /// again. A delivery in progress is dropped, too: its acknowledgement throws `.lost`.
    ///
    /// - Parameter revision: the new position, from the journal's floor to the last commit.
    /// - Throws: `StoreError`: `.historyTrimmed`, `.noSuchRevision`. `SubscriptionError`
    ///   (`.notFound`).
    public func rewind(to revision: Revision) throws { try update(.rewind(to: revision)) }

    /// Returns the parked deliveries, in ascending order of their commits.
    ///
    /// - Throws: `StoreError`.
    public func parkedDeliveries() throws -> [SubscriptionState.ParkedDelivery] {
        try file.subscriptions.parkedDeliveries(of: name)
    }

    /// Schedules parked deliveries for another attempt.
    ///
    /// Deliveries that concern the same object stay in order: a delivery that waits for another one
    /// is delivered after it.
    ///
    /// - Parameter revision: the revision of one delivery; nil for all of them.
    /// - Throws: `SubscriptionError` (`.notFound`), `StoreError`.
    public func retryParked(_ revision: Revision? = nil) throws {
        try update(.retryParked(revision))
    }

    /// Drops parked deliveries: they are never delivered, unless the subscription is rewound.
    ///
    /// - Parameter revision: the revision of one delivery; nil for all of them.
    /// - Throws: `SubscriptionError` (`.notFound`), `StoreError`.
    public func dropParked(_ revision: Revision? = nil) throws { try update(.dropParked(revision)) }

    /// Removes the subscription and its parked deliveries.
    ///
    /// - Throws: `SubscriptionError` (`.notFound`), `StoreError`.
    public func remove() throws { try update(.remove) }

    private func update(_ action: SubscriptionUpdate.Action) throws {
        try file.subscriptions.update(SubscriptionUpdate(name, action))
    }
}

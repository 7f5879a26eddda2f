public import StetStore

/// The stored state of a durable subscription, for whoever looks after it.
///
/// The owner of the subscription, in whichever process it is, follows each change before its next
/// delivery. Each is one durable transaction, which blocks the thread.
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

    /// Lets the subscription deliver nothing more until it is resumed; a delivery that is under way
    /// comes to its end.
    ///
    /// - Throws: `SubscriptionError` (`.notFound`), `StoreError`.
    public func pause() throws { try update(.pause) }

    /// Lets a subscription that was paused, or has stopped, go on.
    ///
    /// The failures of the delivery that comes next are forgotten. One that has stopped is to be
    /// run again.
    ///
    /// - Throws: `SubscriptionError` (`.notFound`), `StoreError`.
    public func resume() throws { try update(.resume) }

    /// Moves the subscription to a revision: the commits after it are delivered, again where they
    /// were delivered before, and those between where it stood and a later revision are not.
    ///
    /// Parked deliveries of commits after the revision are given up, as these come again. So is a
    /// delivery that is under way: its acknowledgement throws `.lost`.
    ///
    /// - Parameter revision: from the journal's floor to the last commit.
    /// - Throws: `StoreError`: `.historyTrimmed`, `.noSuchRevision`. `SubscriptionError`
    ///   (`.notFound`).
    public func rewind(to revision: Revision) throws { try update(.rewind(to: revision)) }

    /// Returns the parked deliveries, in ascending order of their commits.
    ///
    /// - Throws: `StoreError`.
    public func parkedDeliveries() throws -> [ParkedDelivery] {
        try file.subscriptions.parkedDeliveries(of: name)
    }

    /// Lets parked deliveries be attempted once more.
    ///
    /// Deliveries that concern the same object stay in order: one that waits behind another is
    /// delivered after it.
    ///
    /// - Parameter revision: of one delivery; nil for all of them.
    /// - Throws: `SubscriptionError` (`.notFound`), `StoreError`.
    public func retryParked(_ revision: Revision? = nil) throws {
        try update(.retryParked(revision))
    }

    /// Gives parked deliveries up: they are never delivered, unless the subscription is rewound.
    ///
    /// - Parameter revision: of one delivery; nil for all of them.
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

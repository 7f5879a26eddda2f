/// The stored state of a durable subscription.
package struct SubscriptionRecord: Hashable, Sendable {
    package let name: String
    /// The last commit that was handled or parked, or does not concern the subscription.
    package internal(set) var position: Revision
    /// A number that only the current owner knows: an owner with a lower number cannot change
    /// anything.
    package internal(set) var fence: UInt64
    /// The number of changes by the management of the subscription, by which its owner notices
    /// them.
    package internal(set) var version: UInt64
    package internal(set) var status: SubscriptionState.Status
    /// Whether commits that the subscription has not handled stay in the journal.
    package internal(set) var holdsHistory: Bool
    /// The failures of the next delivery.
    package internal(set) var failure: SubscriptionState.Failure?

    package init(
        name: String, position: Revision, fence: UInt64 = 0, version: UInt64 = 0,
        status: SubscriptionState.Status = .active, holdsHistory: Bool,
        failure: SubscriptionState.Failure? = nil
    ) {
        self.name = name
        self.position = position
        self.fence = fence
        self.version = version
        self.status = status
        self.holdsHistory = holdsHistory
        self.failure = failure
    }
}

public import FoundationEssentials

extension SubscriptionState {
    /// The status of a durable subscription.
    public enum Status: UInt8, Hashable, Sendable, CaseIterable {
        /// It delivers to its owner.
        case active
        /// It was paused, and waits to be resumed.
        case paused
        /// All attempts of a delivery that the policy allows have failed; it waits to be resumed.
        case stopped
    }
}

extension SubscriptionState {
    /// The failures of one delivery of a durable subscription.
    public struct Failure: Hashable, Sendable {
        /// The greatest length of a stored message, in UTF-8 bytes.
        static let messageByteCount = 1_024

        /// The commit that was delivered.
        public let revision: Revision
        /// The number of consecutive failed attempts.
        public let count: Int
        /// The time of the last failed attempt, by the clock of the process that made it.
        public let time: Date
        /// The error of the last attempt, as text; at most 1,024 bytes of it.
        public let message: String

        package init(revision: Revision, count: Int, time: Date, message: String) {
            self.revision = revision
            self.count = count
            self.time = time
            var message = message
            while message.utf8.count > Self.messageByteCount {
                message.removeLast(max(1, (message.utf8.count - Self.messageByteCount) / 4))
            }
            self.message = message
        }
    }
}

extension SubscriptionState {
    /// A delivery of a durable subscription that was parked.
    public struct ParkedDelivery: Hashable, Sendable, Identifiable {
        /// The commit to be delivered.
        public let revision: Revision
        /// The objects that it concerns, in ascending order: later deliveries that concern one of
        /// them wait for it.
        public let objects: [ObjectID]
        /// The failures that caused the delivery to be parked; nil when it only waits for another
        /// one.
        public internal(set) var failure: SubscriptionState.Failure?
        /// Whether it is delivered as soon as no earlier one concerns its objects.
        public internal(set) var isDue: Bool

        /// The number of the commit.
        public var id: UInt64 { revision.number }

        package init(
            revision: Revision, objects: [ObjectID], failure: SubscriptionState.Failure? = nil
        ) {
            self.revision = revision
            self.objects = objects
            self.failure = failure
            isDue = failure == nil
        }
    }
}

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

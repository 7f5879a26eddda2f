public import FoundationEssentials

/// Whether a durable subscription delivers.
public enum SubscriptionStatus: UInt8, Hashable, Sendable, CaseIterable {
    /// It delivers to whoever owns it.
    case active
    /// It was paused, and waits to be resumed.
    case paused
    /// A delivery has failed as often as the policy allows; it waits to be resumed.
    case stopped
}

/// The failures of one delivery of a durable subscription.
public struct SubscriptionFailure: Hashable, Sendable {
    /// The longest message that is kept, in UTF-8 bytes.
    static let messageByteCount = 1_024

    /// The commit that was delivered.
    public let revision: Revision
    /// The number of failed attempts, one after the other.
    public let count: Int
    /// When the last attempt failed, by the clock of the process that made it.
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

/// A delivery of a durable subscription that was set aside.
public struct ParkedDelivery: Hashable, Sendable, Identifiable {
    /// The commit that was to be delivered.
    public let revision: Revision
    /// The objects that it concerns, in ascending order: later deliveries that concern one of them
    /// wait behind it.
    public let objects: [ObjectID]
    /// The failures that it was parked for; nil when it only waits behind another delivery.
    public internal(set) var failure: SubscriptionFailure?
    /// Whether it is delivered as soon as none before it concerns its objects.
    public internal(set) var isDue: Bool

    /// The number of the commit.
    public var id: UInt64 { revision.number }

    package init(
        revision: Revision, objects: [ObjectID], failure: SubscriptionFailure? = nil
    ) {
        self.revision = revision
        self.objects = objects
        self.failure = failure
        isDue = failure == nil
    }
}

/// The stored state of a durable subscription.
package struct SubscriptionRecord: Hashable, Sendable {
    package let name: String
    /// The last commit that was dealt with or parked, or does not concern the subscription.
    package internal(set) var position: Revision
    /// A number that only the present owner knows: an owner with a lower one moves nothing.
    package internal(set) var fence: UInt64
    /// Counts what those who manage the subscription have changed, so that its owner sees it.
    package internal(set) var version: UInt64
    package internal(set) var status: SubscriptionStatus
    /// Whether commits that the subscription has not dealt with stay in the journal.
    package internal(set) var holdsHistory: Bool
    /// The failures of the delivery that comes next.
    package internal(set) var failure: SubscriptionFailure?

    package init(
        name: String, position: Revision, fence: UInt64 = 0, version: UInt64 = 0,
        status: SubscriptionStatus = .active, holdsHistory: Bool,
        failure: SubscriptionFailure? = nil
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

public import FoundationEssentials
import StetLMDB

/// The durable subscriptions of a store, as they are stored.
package struct StoredSubscriptions: Sendable {
    let file: StoreFile

    /// Changes a subscription; blocks the thread until the change is on the disk.
    ///
    /// - Throws: `SubscriptionError`, `StoreError`: nothing was changed.
    @discardableResult
    package func update(_ update: SubscriptionUpdate) throws -> SubscriptionRecord {
        try submit(update).waitForRecord()
    }

    /// Changes a subscription; only waiting for the disk suspends the task.
    ///
    /// Cancelling the task has no effect: the change is made or refused.
    @discardableResult
    package nonisolated(nonsending) func update(
        _ update: SubscriptionUpdate
    ) async throws -> SubscriptionRecord {
        let submission = try submit(update)
        await submission.decision(isWithdrawable: false)
        return try submission.waitForRecord()
    }

    private func submit(_ update: SubscriptionUpdate) throws -> Submission {
        let submission = Submission(.subscription(update), file)
        try file.writer.submit(submission)
        return submission
    }

    /// Returns the stored state of a subscription; nil when there is none.
    package func record(named name: String) throws -> SubscriptionRecord? {
        try file.read { try SubscriptionTable.record(named: name, in: $0.transaction) }
    }

    /// Returns the parked deliveries of a subscription, in ascending order of their commits.
    package func parkedDeliveries(of name: String) throws -> [SubscriptionState.ParkedDelivery] {
        try file.read { try SubscriptionTable.parked(of: name, in: $0.transaction) }
    }

    /// Returns the states of all subscriptions, in ascending order of their names.
    package func states() throws -> [SubscriptionState] {
        try file.read { reader in
            let head = try reader.head().revision
            return try SubscriptionTable.all(in: reader.transaction).map { record in
                SubscriptionState(
                    name: record.name, status: record.status, position: record.position,
                    lag: Int(head.number - min(head.number, record.position.number)),
                    parkedCount:
                        try SubscriptionTable.parked(of: record.name, in: reader.transaction).count,
                    failure: record.failure, holdsHistory: record.holdsHistory,
                    isOwned: try FileLease.isHeld(
                        Self.leaseNumber(of: record.name), of: file.environment))
            }
        }
    }

    // MARK: Lease

    /// Acquires the right to own a subscription; returns nil while another owner has it, in this
    /// process or another.
    ///
    /// It ends with the process that has it.
    package func lease(of name: String) throws -> SubscriptionLease? {
        try StoreError.wrapping(path: file.path) {
            try FileLease.acquire(Self.leaseNumber(of: name), of: file.environment)
                .map { SubscriptionLease($0) }
        }
    }

    /// Returns a number below 2^48; names that share a number, which is unlikely, exclude each
    /// other.
    private static func leaseNumber(of name: String) -> Int {
        let digest = Array(name.utf8).withUnsafeBytes { Digest(of: $0) }
        return Int(digest.words.0 >> 16)
    }

    // MARK: Waking

    /// Waits until their state may have changed, the store is closed, or the task is
    /// cancelled; at most about a second.
    ///
    /// - Returns: false when the store was closed.
    package func wait(_ observer: CommitFeed.Observer) async throws -> Bool {
        let head = file.feed.head
        if case .end = file.feed.step(after: head) { return false }
        try file.writer.begin()
        _ = await observer.wait(after: head)
        if case .end = file.feed.step(after: file.feed.head) { return false }
        return true
    }
}

/// The state of a durable subscription at a moment.
public struct SubscriptionState: Hashable, Sendable {
    /// The name.
    public let name: String
    /// Whether it delivers.
    public let status: SubscriptionState.Status
    /// The last commit that was handled or parked, or does not concern the subscription.
    public let position: Revision
    /// The number of commits after the position, some of which may not concern the subscription.
    public let lag: Int
    /// The number of parked deliveries.
    public let parkedCount: Int
    /// The failures of the next delivery; nil when it has not failed.
    public let failure: SubscriptionState.Failure?
    /// Whether commits that it has not handled stay in the journal.
    public let holdsHistory: Bool
    /// Whether a live process owns it, and delivers unless it is paused or stopped.
    public let isOwned: Bool

    /// The status of a durable subscription.
    public enum Status: UInt8, Hashable, Sendable, CaseIterable {
        /// It delivers to its owner.
        case active
        /// It was paused, and waits to be resumed.
        case paused
        /// All attempts of a delivery that the policy allows have failed; it waits to be resumed.
        case stopped
    }

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

/// The right to own a subscription, until it is released or its process ends.
package final class SubscriptionLease: Sendable {
    private let lease: FileLease

    fileprivate init(_ lease: FileLease) { self.lease = lease }
}

extension StoreFile {
    package var subscriptions: StoredSubscriptions { StoredSubscriptions(file: self) }
}

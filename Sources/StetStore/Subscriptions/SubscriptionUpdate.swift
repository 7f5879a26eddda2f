import StetLMDB

/// A change of a durable subscription's stored state, made by the writer: by itself, or with the
/// commit that is the effect of a delivery.
package struct SubscriptionUpdate: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        // Management.

        /// Creates the subscription if it does not exist.
        case create(after: Revision, holdsHistory: Bool)
        case pause
        case resume
        /// Moves the position; parked deliveries of later commits are delivered again.
        case rewind(to: Revision)
        /// Makes parked deliveries due; nil for all of them.
        case retryParked(Revision?)
        /// Drops parked deliveries; nil for all of them.
        case dropParked(Revision?)
        case remove

        // By its owner.

        /// Makes the holder of the lease the owner.
        case acquire
        /// Moves the position past a delivery, and past commits that do not concern the
        /// subscription.
        case advance(from: Revision, to: Revision)
        /// Records a failure of the next delivery; the last one stops the subscription.
        case fail(SubscriptionState.Failure, isLast: Bool)
        /// Parks a delivery, and moves the position past it.
        case park(SubscriptionState.ParkedDelivery, from: Revision)
        /// Removes a parked delivery that was handled.
        case finishParked(Revision)
        /// Records a failure of a parked delivery, which is then not due any more.
        case failParked(Revision, SubscriptionState.Failure)
    }

    package let name: String
    /// The number of the owner that makes the update; nil for one that manages the subscription.
    package let fence: UInt64?
    package let action: Action

    package init(_ name: String, fence: UInt64? = nil, _ action: Action) {
        self.name = name
        self.fence = fence
        self.action = action
    }
}

extension SubscriptionUpdate {
    /// Returns the reason why the update cannot be made; nil when it can.
    func refusal(
        after head: Revision, in transaction: borrowing ReadTransaction
    ) throws -> (any Error)? {
        guard let record = try SubscriptionTable.record(named: name, in: transaction) else {
            if case .create = action { return nil }
            return SubscriptionError.notFound(name: name)
        }
        if let fence, fence != record.fence { return SubscriptionError.lost(name: name) }
        switch action {
        case .advance(let from, let to):
            return from == record.position && from < to && to <= head
                ? nil : SubscriptionError.lost(name: name)
        case .park(let parked, let from):
            return from == record.position && from < parked.revision && parked.revision <= head
                ? nil : SubscriptionError.lost(name: name)
        case .finishParked(let revision):
            return try SubscriptionTable.parked(revision, of: name, in: transaction) == nil
                ? SubscriptionError.lost(name: name) : nil
        case .rewind(let revision):
            let path = transaction.environment.path
            if revision > head {
                return StoreError.noSuchRevision(revision, head: head, path: path)
            }
            let floor = try JournalFloor.read(in: transaction)?.revision ?? .zero
            return revision < floor
                ? StoreError.historyTrimmed(revision.next, floor: floor, path: path) : nil
        default: return nil
        }
    }

    /// Makes the update, which `refusal(after:in:)` must have accepted.
    ///
    /// - Returns: the state after the update.
    func apply(in transaction: borrowing WriteTransaction) throws -> SubscriptionRecord {
        let known = try SubscriptionTable.record(named: name, in: transaction.reading)
        var record = known ?? SubscriptionRecord(name: name, position: .zero, holdsHistory: true)
        switch action {
        case .create(let position, let holdsHistory):
            if known == nil { record.position = position }
            record.holdsHistory = holdsHistory
        case .pause: record.status = .paused
        case .resume:
            record.status = .active
            record.failure = nil
        case .rewind(let revision):
            record.position = revision
            record.failure = nil
            try removeParked(in: transaction) { $0 > revision }
        case .retryParked(let revision):
            try changeParked(revision, in: transaction) { $0.isDue = true }
        case .dropParked(let revision):
            try removeParked(in: transaction) { revision == nil || $0 == revision }
        case .remove:
            try SubscriptionTable.remove(name, in: transaction)
            return record
        case .acquire: record.fence &+= 1
        case .advance(_, let revision):
            record.position = revision
            record.failure = nil
        case .fail(let failure, let isLast):
            record.failure = failure
            if isLast { record.status = .stopped }
        case .park(let parked, _):
            try SubscriptionTable.put(parked, of: name, in: transaction)
            record.position = parked.revision
            record.failure = nil
        case .finishParked(let revision):
            try SubscriptionTable.removeParked(revision, of: name, in: transaction)
        case .failParked(let revision, let failure):
            try changeParked(revision, in: transaction) { parked in
                parked.failure = failure
                parked.isDue = false
            }
        }
        if fence == nil { record.version &+= 1 }
        if record != known { try SubscriptionTable.put(record, in: transaction) }
        return record
    }

    private func removeParked(
        in transaction: borrowing WriteTransaction, where isRemoved: (Revision) -> Bool
    ) throws {
        for parked in try SubscriptionTable.parked(of: name, in: transaction.reading)
        where isRemoved(parked.revision) {
            try SubscriptionTable.removeParked(parked.revision, of: name, in: transaction)
        }
    }

    private func changeParked(
        _ revision: Revision?, in transaction: borrowing WriteTransaction,
        _ change: (inout SubscriptionState.ParkedDelivery) -> Void
    ) throws {
        for var parked in try SubscriptionTable.parked(of: name, in: transaction.reading)
        where revision == nil || parked.revision == revision {
            change(&parked)
            try SubscriptionTable.put(parked, of: name, in: transaction)
        }
    }
}

import StetLMDB

extension Verification {
    /// Compares the positions of durable subscriptions, which the journal does not tell, with its
    /// extent.
    mutating func compareSubscriptions(upTo head: Revision) throws {
        do {
            for record in try SubscriptionTable.all(in: transaction) {
                try compare(record, upTo: head)
            }
        } catch let failure as DecodingFailure {
            note("The durable subscriptions cannot be read: \(failure).")
        }
    }

    private mutating func compare(_ record: SubscriptionRecord, upTo head: Revision) throws {
        let name = record.name
        if record.position > head {
            note("Subscription \(name) stands at \(record.position), after the last commit.")
        }
        let parked = try SubscriptionTable.parked(of: name, in: transaction)
        for delivery in parked where delivery.revision > record.position {
            note("Subscription \(name) has parked \(delivery.revision), and not reached it.")
        }
        let first = parked.first.map { $0.revision.previous ?? .zero } ?? record.position
        if record.holdsHistory, min(first, record.position) < floor?.revision ?? .zero {
            note("Commits that subscription \(name) has not dealt with were trimmed.")
        }
    }
}

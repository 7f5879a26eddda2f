import StetLMDB

extension SubscriptionTable {
    /// Compares the positions of durable subscriptions, which do not follow from the journal, with
    /// its extent.
    ///
    /// - Returns: the problems, in sentences.
    static func problems(
        after floor: Revision, upTo head: Revision, in transaction: borrowing ReadTransaction
    ) throws -> [String] {
        do {
            return try all(in: transaction).flatMap { record in
                try problems(of: record, after: floor, upTo: head, in: transaction)
            }
        } catch let failure as DecodingFailure {
            return ["The durable subscriptions cannot be read: \(failure)."]
        }
    }

    private static func problems(
        of record: SubscriptionRecord, after floor: Revision, upTo head: Revision,
        in transaction: borrowing ReadTransaction
    ) throws -> [String] {
        var problems: [String] = []
        let name = record.name
        if record.position > head {
            problems.append(
                "Subscription \(name) stands at \(record.position), after the last commit.")
        }
        let parked = try parked(of: name, in: transaction)
        for delivery in parked where delivery.revision > record.position {
            problems.append(
                "Subscription \(name) has parked \(delivery.revision), and not reached it.")
        }
        let first = parked.first.map { $0.revision.previous ?? .zero } ?? record.position
        if record.holdsHistory, min(first, record.position) < floor {
            problems.append("Commits that subscription \(name) has not dealt with were trimmed.")
        }
        return problems
    }
}

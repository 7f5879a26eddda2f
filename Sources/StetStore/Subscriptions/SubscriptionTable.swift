import StetLMDB

/// Durable subscriptions in the unnamed table: a key `subscription.NAME` for each, and a key
/// `parked.NAME`, zero, revision for each of their parked deliveries.
enum SubscriptionTable {
    private static let prefix = Array("subscription.".utf8)
    private static let parkedPrefix = Array("parked.".utf8)

    private static func key(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    private static func parkedKey(_ name: String, _ revision: Revision? = nil) -> [UInt8] {
        let number = revision.map { withUnsafeBytes(of: $0.number.bigEndian) { Array($0) } } ?? []
        return parkedPrefix + Array(name.utf8) + [0] + number
    }

    private static func revision(of parkedKey: UnsafeRawBufferPointer) throws -> Revision {
        guard parkedKey.count > 8 else { throw DecodingFailure("the key of a parked delivery") }
        return Revision(parkedKey.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    // MARK: Reading

    static func record(
        named name: String, in transaction: borrowing ReadTransaction
    ) throws -> SubscriptionRecord? {
        let value = try key(name).withUnsafeBytes { try transaction.get($0, in: .unnamed) }
        return try value.map { try SubscriptionRecord(decoding: $0, name) }
    }

    /// Returns all subscriptions, in ascending order of their names.
    static func all(in transaction: borrowing ReadTransaction) throws -> [SubscriptionRecord] {
        var all: [SubscriptionRecord] = []
        try transaction.scan(.unnamed, KeyRange(prefix: prefix)) { key, value in
            let bytes = UnsafeRawBufferPointer(rebasing: key[prefix.count...])
            guard let name = String(validating: bytes, as: UTF8.self) else {
                throw DecodingFailure("the name of a subscription that is not UTF-8")
            }
            all.append(try SubscriptionRecord(decoding: value, name))
            return true
        }
        return all
    }

    /// Returns the parked deliveries of a subscription, in ascending order of their commits.
    static func parked(
        of name: String, in transaction: borrowing ReadTransaction
    ) throws -> [SubscriptionState.ParkedDelivery] {
        var parked: [SubscriptionState.ParkedDelivery] = []
        try transaction.scan(.unnamed, KeyRange(prefix: parkedKey(name))) { key, value in
            parked.append(try SubscriptionState.ParkedDelivery(decoding: value, revision(of: key)))
            return true
        }
        return parked
    }

    static func parked(
        _ revision: Revision, of name: String, in transaction: borrowing ReadTransaction
    ) throws -> SubscriptionState.ParkedDelivery? {
        let key = parkedKey(name, revision)
        return try key.withUnsafeBytes { key in
            try transaction.get(key, in: .unnamed).map {
                try SubscriptionState.ParkedDelivery(decoding: $0, revision)
            }
        }
    }

    /// Returns the last commit that no subscription needs any more, with the names of those that
    /// need the next one; nil when none keeps any.
    static func historyLimit(
        in transaction: borrowing ReadTransaction
    ) throws -> (last: Revision, names: [String])? {
        var limit: (last: Revision, names: [String])?
        for record in try all(in: transaction) where record.holdsHistory {
            var last = record.position
            // Keys are ordered by revision, so the first one has the lowest.
            try transaction.scan(.unnamed, KeyRange(prefix: parkedKey(record.name))) { key, _ in
                last = min(last, try revision(of: key).previous ?? .zero)
                return false
            }
            if let known = limit, known.last <= last {
                if known.last == last { limit?.names.append(record.name) }
            } else {
                limit = (last, [record.name])
            }
        }
        return limit
    }

    // MARK: Writing

    static func put(
        _ record: SubscriptionRecord, in transaction: borrowing WriteTransaction
    ) throws {
        try put(record.encoded(), for: key(record.name), in: transaction)
    }

    static func put(
        _ parked: SubscriptionState.ParkedDelivery, of name: String,
        in transaction: borrowing WriteTransaction
    ) throws {
        try put(parked.encoded(), for: parkedKey(name, parked.revision), in: transaction)
    }

    private static func put(
        _ value: [UInt8], for key: [UInt8], in transaction: borrowing WriteTransaction
    ) throws {
        try key.withUnsafeBytes { key in
            try value.withUnsafeBytes { try transaction.put($0, for: key, in: .unnamed) }
        }
    }

    static func removeParked(
        _ revision: Revision, of name: String, in transaction: borrowing WriteTransaction
    ) throws {
        _ = try parkedKey(name, revision).withUnsafeBytes { key in
            try transaction.delete(key, in: .unnamed)
        }
    }

    static func remove(_ name: String, in transaction: borrowing WriteTransaction) throws {
        for parked in try parked(of: name, in: transaction.reading) {
            try removeParked(parked.revision, of: name, in: transaction)
        }
        _ = try key(name).withUnsafeBytes { try transaction.delete($0, in: .unnamed) }
    }
}

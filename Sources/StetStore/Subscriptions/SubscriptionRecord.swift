public import FoundationEssentials
import StetLMDB

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
    package internal(set) var fence: UInt64 = 0
    /// Counts what those who manage the subscription have changed, so that its owner sees it.
    package internal(set) var version: UInt64 = 0
    package internal(set) var status = SubscriptionStatus.active
    /// Whether commits that the subscription has not dealt with stay in the journal.
    package internal(set) var holdsHistory: Bool
    /// The failures of the delivery that comes next.
    package internal(set) var failure: SubscriptionFailure?
}

// MARK: - Storage

/// Durable subscriptions in the unnamed table: a key `subscription.NAME` for each, and a key
/// `parked.NAME`, zero, revision for each of their parked deliveries.
enum SubscriptionTable {
    private static let prefix = Array("subscription.".utf8)
    private static let parkedPrefix = Array("parked.".utf8)
    private static let format: UInt8 = 1

    private static func key(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    private static func parkedKey(_ name: String, _ revision: Revision? = nil) -> [UInt8] {
        let number = revision.map { withUnsafeBytes(of: $0.number.bigEndian) { Array($0) } } ?? []
        return parkedPrefix + Array(name.utf8) + [0] + number
    }

    // MARK: Reading

    static func record(
        named name: String, in transaction: borrowing ReadTransaction
    ) throws -> SubscriptionRecord? {
        let value = try key(name).withUnsafeBytes { try transaction.get($0, in: .unnamed) }
        return try value.map { try decode($0, name) }
    }

    /// All subscriptions, in ascending order of their names.
    static func all(in transaction: borrowing ReadTransaction) throws -> [SubscriptionRecord] {
        var all: [SubscriptionRecord] = []
        try transaction.scan(.unnamed, KeyRange(prefix: prefix)) { key, value in
            let bytes = UnsafeRawBufferPointer(rebasing: key[prefix.count...])
            guard let name = String(validating: bytes, as: UTF8.self) else {
                throw DecodingFailure("the name of a subscription that is not UTF-8")
            }
            all.append(try decode(value, name))
            return true
        }
        return all
    }

    /// The parked deliveries of a subscription, in ascending order of their commits.
    static func parked(
        of name: String, in transaction: borrowing ReadTransaction
    ) throws -> [ParkedDelivery] {
        var parked: [ParkedDelivery] = []
        try transaction.scan(.unnamed, KeyRange(prefix: parkedKey(name))) { key, value in
            parked.append(try decodeParked(key, value))
            return true
        }
        return parked
    }

    static func parked(
        _ revision: Revision, of name: String, in transaction: borrowing ReadTransaction
    ) throws -> ParkedDelivery? {
        let key = parkedKey(name, revision)
        return try key.withUnsafeBytes { key in
            try transaction.get(key, in: .unnamed).map { try decodeParked(key, $0) }
        }
    }

    /// The last commit that the subscriptions do not need any more, with the names of those that
    /// need the one after it; nil when none holds any.
    static func historyLimit(
        in transaction: borrowing ReadTransaction
    ) throws -> (last: Revision, names: [String])? {
        var limit: (last: Revision, names: [String])?
        for record in try all(in: transaction) where record.holdsHistory {
            var last = record.position
            // The first key is that of the lowest revision.
            try transaction.scan(.unnamed, KeyRange(prefix: parkedKey(record.name))) { key, value in
                last = min(last, try decodeParked(key, value).revision.previous ?? .zero)
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
        var value = ByteBuffer()
        value.append(format)
        value.append(record.status.rawValue)
        value.append(UInt8(record.holdsHistory ? 1 : 0))
        value.append(record.position.number)
        value.append(record.fence)
        value.append(record.version)
        append(record.failure, to: &value)
        value.append(Checksum.hash(value.bytes, seed: 0))
        try key(record.name).withUnsafeBytes { key in
            try transaction.put(value.bytes, for: key, in: .unnamed)
        }
    }

    static func put(
        _ parked: ParkedDelivery, of name: String, in transaction: borrowing WriteTransaction
    ) throws {
        var value = ByteBuffer()
        value.append(format)
        value.append(UInt8(parked.isDue ? 1 : 0))
        append(parked.failure, to: &value)
        value.append(UInt32(parked.objects.count))
        for id in parked.objects { value.append(id) }
        value.append(Checksum.hash(value.bytes, seed: 0))
        try parkedKey(name, parked.revision).withUnsafeBytes { key in
            try transaction.put(value.bytes, for: key, in: .unnamed)
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

    // MARK: Bytes

    private static func append(_ failure: SubscriptionFailure?, to buffer: inout ByteBuffer) {
        buffer.append(UInt32(clamping: failure?.count ?? 0))
        guard let failure else { return }
        buffer.append(failure.revision.number)
        buffer.append(failure.time.timeIntervalSinceReferenceDate.bitPattern)
        buffer.append(shortString: failure.message)
    }

    private static func readFailure(
        _ reader: inout ByteReader
    ) throws(DecodingFailure) -> SubscriptionFailure? {
        let count = Int(try reader.read(UInt32.self))
        if count == 0 { return nil }
        let revision = Revision(try reader.read())
        let time = Double(bitPattern: try reader.read())
        return SubscriptionFailure(
            revision: revision, count: count, time: Date(timeIntervalSinceReferenceDate: time),
            message: try reader.readShortString())
    }

    private static func reader(
        of value: UnsafeRawBufferPointer, _ name: String
    ) throws(DecodingFailure) -> ByteReader {
        guard value.count > 8 else { throw DecodingFailure("subscription \(name) is cut short") }
        let checked = UnsafeRawBufferPointer(rebasing: value.dropLast(8))
        var checksum = ByteReader(UnsafeRawBufferPointer(rebasing: value.suffix(8)))
        guard try checksum.read() == Checksum.hash(checked, seed: 0) else {
            throw DecodingFailure("subscription \(name) does not match its checksum")
        }
        var reader = ByteReader(checked)
        guard try reader.read(UInt8.self) == format else {
            throw DecodingFailure("subscription \(name) is of a later format")
        }
        return reader
    }

    private static func decode(
        _ value: UnsafeRawBufferPointer, _ name: String
    ) throws(DecodingFailure) -> SubscriptionRecord {
        var reader = try reader(of: value, name)
        guard let status = SubscriptionStatus(rawValue: try reader.read()) else {
            throw DecodingFailure("subscription \(name) has a status of a later format")
        }
        let flags: UInt8 = try reader.read()
        guard flags <= 1 else {
            throw DecodingFailure("subscription \(name) has flags of a later format")
        }
        let position = Revision(try reader.read())
        let fence: UInt64 = try reader.read()
        let version: UInt64 = try reader.read()
        let failure = try readFailure(&reader)
        try reader.expectEnd()
        return SubscriptionRecord(
            name: name, position: position, fence: fence, version: version, status: status,
            holdsHistory: flags == 1, failure: failure)
    }

    private static func decodeParked(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws(DecodingFailure) -> ParkedDelivery {
        guard key.count > 8 else { throw DecodingFailure("the key of a parked delivery") }
        let number = key.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
        var reader = try reader(of: value, "with parked revision \(number)")
        let flags: UInt8 = try reader.read()
        guard flags <= 1 else { throw DecodingFailure("a parked delivery of a later format") }
        let failure = try readFailure(&reader)
        var objects: [ObjectID] = []
        for _ in 0..<(try reader.read(UInt32.self)) { objects.append(try reader.readObjectID()) }
        try reader.expectEnd()
        var parked = ParkedDelivery(revision: Revision(number), objects: objects, failure: failure)
        parked.isDue = flags == 1
        return parked
    }
}

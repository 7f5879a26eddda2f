import FoundationEssentials
import StetLMDB

/// The bytes of subscriptions and parked deliveries: a format, the fields, a checksum of both.
private enum SubscriptionFormat {
    static let number: UInt8 = 1

    /// Returns the bytes with their checksum.
    static func sealed(_ buffer: inout ByteBuffer) -> [UInt8] {
        buffer.append(Checksum.hash(buffer.bytes, seed: 0))
        return Array(buffer.bytes)
    }

    /// Returns a reader of the fields, after checking format and checksum.
    static func reader(
        of value: UnsafeRawBufferPointer, _ subject: String
    ) throws(DecodingFailure) -> ByteReader {
        guard value.count > 8 else { throw DecodingFailure("\(subject) is cut short") }
        let checked = UnsafeRawBufferPointer(rebasing: value.dropLast(8))
        var checksum = ByteReader(UnsafeRawBufferPointer(rebasing: value.suffix(8)))
        guard try checksum.read() == Checksum.hash(checked, seed: 0) else {
            throw DecodingFailure("\(subject) does not match its checksum")
        }
        var reader = ByteReader(checked)
        guard try reader.read(UInt8.self) == number else {
            throw DecodingFailure("\(subject) is of a later format")
        }
        return reader
    }

    /// Reads a flag.
    static func flag(
        _ reader: inout ByteReader, _ subject: String
    ) throws(DecodingFailure) -> Bool {
        let flags: UInt8 = try reader.read()
        guard flags <= 1 else { throw DecodingFailure("\(subject) has flags of a later format") }
        return flags == 1
    }
}

extension SubscriptionRecord {
    package func encoded() -> [UInt8] {
        var value = ByteBuffer()
        value.append(SubscriptionFormat.number)
        value.append(status.rawValue)
        value.append(UInt8(holdsHistory ? 1 : 0))
        value.append(position.number)
        value.append(fence)
        value.append(version)
        failure.append(to: &value)
        return SubscriptionFormat.sealed(&value)
    }

    package init(
        decoding value: UnsafeRawBufferPointer, _ name: String
    ) throws(DecodingFailure) {
        let subject = "subscription \(name)"
        var reader = try SubscriptionFormat.reader(of: value, subject)
        guard let status = SubscriptionState.Status(rawValue: try reader.read()) else {
            throw DecodingFailure("\(subject) has a status of a later format")
        }
        let holdsHistory = try SubscriptionFormat.flag(&reader, subject)
        let position = Revision(try reader.read())
        let fence: UInt64 = try reader.read()
        let version: UInt64 = try reader.read()
        let failure = try SubscriptionState.Failure?(decoding: &reader)
        try reader.expectEnd()
        self.init(
            name: name, position: position, fence: fence, version: version, status: status,
            holdsHistory: holdsHistory, failure: failure)
    }
}

extension SubscriptionState.ParkedDelivery {
    package func encoded() -> [UInt8] {
        var value = ByteBuffer()
        value.append(SubscriptionFormat.number)
        value.append(UInt8(isDue ? 1 : 0))
        failure.append(to: &value)
        value.append(UInt32(objects.count))
        for id in objects { value.append(id) }
        return SubscriptionFormat.sealed(&value)
    }

    package init(
        decoding value: UnsafeRawBufferPointer, _ revision: Revision
    ) throws(DecodingFailure) {
        let subject = "the parked delivery of commit \(revision)"
        var reader = try SubscriptionFormat.reader(of: value, subject)
        let isDue = try SubscriptionFormat.flag(&reader, subject)
        let failure = try SubscriptionState.Failure?(decoding: &reader)
        var objects: [ObjectID] = []
        for _ in 0..<(try reader.read(UInt32.self)) {
            let id = try reader.readObjectID()
            if let last = objects.last, last >= id {
                throw DecodingFailure("\(subject) has objects out of order")
            }
            objects.append(id)
        }
        try reader.expectEnd()
        self.init(revision: revision, objects: objects, failure: failure)
        self.isDue = isDue
    }
}

extension SubscriptionState.Failure? {
    fileprivate func append(to buffer: inout ByteBuffer) {
        buffer.append(UInt32(clamping: self?.count ?? 0))
        guard let self else { return }
        buffer.append(self.revision.number)
        buffer.append(self.time.timeIntervalSinceReferenceDate.bitPattern)
        buffer.append(shortString: self.message)
    }

    fileprivate init(decoding reader: inout ByteReader) throws(DecodingFailure) {
        let count = Int(try reader.read(UInt32.self))
        if count == 0 {
            self = nil
            return
        }
        let revision = Revision(try reader.read())
        let time = Double(bitPattern: try reader.read())
        let message = try reader.readShortString()
        guard message.utf8.count <= SubscriptionState.Failure.messageByteCount else {
            throw DecodingFailure("the message of a failure is too long")
        }
        self = SubscriptionState.Failure(
            revision: revision, count: count, time: Date(timeIntervalSinceReferenceDate: time),
            message: message)
    }
}

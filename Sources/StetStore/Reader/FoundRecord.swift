import StetLMDB

/// The record of an object that was looked up early, so that it is in the processor's cache when it
/// is used.
///
/// Valid until the read ends or its transaction writes.
package struct FoundRecord {
    let id: ObjectID
    /// The record as it is stored, not checked yet; nil when there never was such an object.
    private let value: UnsafeRawBufferPointer?

    /// Looks up the record of an object, and starts to load it.
    package init(
        _ entity: EntityNumber, _ id: ObjectID, in reader: borrowing StoreReader
    ) throws {
        self.id = id
        value = try reader.record(entity, id)
        value?.prefetch()
    }

    /// Returns header and body, checked; nil when there never was such an object.
    @inline(__always)
    func checked() throws -> (header: RecordHeader, body: UnsafeRawBufferPointer)? {
        guard let value else { return nil }
        return try Self.checked(value, of: id)
    }

    /// Returns header and body of a record as it is stored, checked.
    @inline(__always)
    static func checked(
        _ value: UnsafeRawBufferPointer, of id: ObjectID
    ) throws -> (header: RecordHeader, body: UnsafeRawBufferPointer) {
        let header = try RecordHeader(decoding: value)
        try header.verify(value, of: id)
        return (header, UnsafeRawBufferPointer(rebasing: value[RecordLayout.headerByteCount...]))
    }
}

/// Records that are looked up one ahead; their uses must not write in the same transaction.
package struct RecordsAhead {
    private let entity: EntityNumber
    private var ahead: FoundRecord?

    package init(of entity: EntityNumber) { self.entity = entity }

    /// Returns the record of an object, and looks up the one that is expected to follow.
    ///
    /// A look-up ahead that fails is repeated if the record is needed.
    package mutating func record(
        _ id: ObjectID, before next: ObjectID?, in reader: borrowing StoreReader
    ) throws -> FoundRecord {
        let found = ahead
        ahead = if let next { try? FoundRecord(entity, next, in: reader) } else { nil }
        if let found, found.id == id { return found }
        return try FoundRecord(entity, id, in: reader)
    }
}

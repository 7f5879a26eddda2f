import StetLMDB

/// The records of changed objects at a revision, as far as queries have needed them.
///
/// Nothing is used after something was written, because a redaction changes the past, too.
package struct FormerRecords: Sendable {
    /// The record of an object that existed.
    struct Record: Sendable {
        let revision: Revision
        let body: [UInt8]
    }

    private var records: [ObjectKey: Record?] = [:]
    /// The keys of the objects in indexes that were requested, by the number of the index.
    var keys: [Int: FormerKeys] = [:]
    /// The commit that the records were read in.
    private var source = Environment.CommitNumber(transaction: -1, reopeningCount: 0)
    /// The bytes that are left for records, with about 100 for each entry.
    private var room = 0

    /// Forgets the records unless nothing was written since they were read.
    mutating func use(in reader: borrowing StoreReader) {
        let present = Environment.CommitNumber(
            transaction: reader.transaction.number,
            reopeningCount: reader.file.environment.reopeningCount)
        if source != present { (source, records, keys, room) = (present, [:], [:], 8 << 20) }
    }

    /// Returns the record of an object, which is nil where there was none; nil for an unknown one.
    func record(of key: ObjectKey) -> Record?? { records[key] }

    /// Keeps a record, unless much is kept already.
    mutating func keep(_ record: Record?, of key: ObjectKey) {
        let byteCount = 100 + (record?.body.count ?? 0)
        if byteCount > room { return }
        room -= byteCount
        records[key] = .some(record)
    }
}

/// The keys that changed objects had in an index at a revision.
struct FormerKeys: Sendable {
    private let ids: Set<ObjectID>
    private var objects: [[UInt8]: [ObjectID]] = [:]

    /// Reads the keys of objects.
    init(
        of index: NumberedIndex, ofObjects ids: [ObjectID], asOf revision: Revision,
        _ reader: borrowing StoreReader
    ) throws {
        self.ids = Set(ids)
        let membership = index.membership(in: reader.file.schema)
        let entity = reader.file.schema.entities[index.entity]
        for id in ids {
            let key: [UInt8]?? = try reader.withRecord(
                ofEntity: index.entity, id, asOf: revision
            ) { record in
                let body = try RecordBody(record.body, of: entity)
                return try membership.contains(id, body) ? index.index.key(of: body) : nil
            }
            if let key, let key { objects[key, default: []].append(id) }
        }
    }

    /// Returns whether an object is one of those that have changed.
    func hasChanged(_ id: ObjectID) -> Bool { ids.contains(id) }

    /// Returns the objects that had a key.
    func objects(at key: [UInt8]) -> [ObjectID] { objects[key] ?? [] }
}

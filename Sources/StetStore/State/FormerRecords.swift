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
    /// The commit that the records were read in.
    private var source = Environment.CommitNumber(transaction: -1, reopeningCount: 0)
    /// The bytes that are left for records, with about 100 for each entry.
    private var room = 0

    /// Forgets the records unless nothing was written since they were read.
    mutating func use(in reader: borrowing StoreReader) {
        let present = Environment.CommitNumber(
            transaction: reader.transaction.number,
            reopeningCount: reader.file.environment.reopeningCount)
        if source != present { (source, records, room) = (present, [:], 8 << 20) }
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

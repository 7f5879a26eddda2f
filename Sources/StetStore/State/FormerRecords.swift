import StetLMDB

/// The records of changed objects at a revision, as far as reads have needed them.
///
/// They are forgotten when anything is written, because a redaction changes the past, too.
package struct FormerRecords: Sendable {
    /// The record of an object that existed.
    struct Record: Sendable {
        let revision: Revision
        let body: [UInt8]
    }

    private var records: [ObjectKey: Record?] = [:]
    /// LMDB's number of the commit that the records were read in.
    private var source = 0
    /// The bytes that are left for records, with about 100 for each entry.
    private var room = 0

    /// Returns the record of an object, which is nil where there was none; nil for an unknown one.
    func record(of key: ObjectKey, _ reader: borrowing StoreReader) -> Record?? {
        source == reader.transaction.number ? records[key] : nil
    }

    /// Keeps a record, unless much is kept already.
    mutating func keep(
        _ record: Record?, of key: ObjectKey, _ reader: borrowing StoreReader
    ) {
        if source != reader.transaction.number {
            records = [:]
            source = reader.transaction.number
            room = 8 << 20
        }
        let byteCount = 100 + (record?.body.count ?? 0)
        if byteCount > room { return }
        room -= byteCount
        records[key] = .some(record)
    }
}

package import StetLMDB

/// The tables that are derived from the journal: records, lists of members and entries of indexes.
///
/// They depend only on the entries of the journal, in their order.
package struct Projection: Sendable {
    let schema: Schema
    let members: MemberTree
    /// The table of index entries; nil while the schema has no index.
    let indexes: Table?
    /// The bytes of large values; nil while no schema of the store has had any.
    let largeValues: LargeValueTable?
    /// The tables of records, one for each entity: number n has the index n - 1.
    ///
    /// So each entity's records are appended to the end of a table, which fills its pages
    /// completely.
    let records: [Table]

    /// All tables of the projection.
    package var tables: [Table] {
        journaledTables + [largeValues?.table].compactMap(\.self)
    }

    /// The tables whose contents follow from the journal alone: the bytes of large values are
    /// written before the commit that refers to them.
    package var journaledTables: [Table] {
        records + [members.table] + [indexes].compactMap(\.self)
    }

    /// The table of all index entries.
    ///
    /// - Throws: `DecodingFailure` when the schema has no index.
    var tableOfIndexes: Table {
        get throws(DecodingFailure) {
            guard let indexes else { throw DecodingFailure("there is no table of indexes") }
            return indexes
        }
    }

    /// Returns the stored record of an object; nil when there never was such an object.
    ///
    /// - Complexity: one read.
    func record(
        _ entity: EntityNumber, _ id: ObjectID, in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> UnsafeRawBufferPointer? {
        try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { key throws(LMDBError) in
            id.store(to: key.baseAddress!)
            return try transaction.get(UnsafeRawBufferPointer(key), in: records[entity])
        }
    }

    // MARK: Entries

    /// Writes the effects of an entry of the journal, after those of all earlier entries.
    ///
    /// A save writes the same effects from the change set of the entry.
    ///
    /// - Throws: `DecodingFailure` for an entry of another schema, or one that does not match the
    ///   state.
    package func project(_ entry: Commit, in transaction: borrowing WriteTransaction) throws {
        guard entry.schema.revision == schema.revision else {
            throw DecodingFailure("revision \(entry.revision) was written with another schema")
        }
        var net = ChangeSetBuilder(schema: schema, expectedCount: entry.envelope.changeCount)
        try entry.forEachChange { change in
            if change.changesRecord {
                try append(change, of: entry.history, to: &net, transaction.reading)
            }
            for link in try change.links() { net.append(link) }
        }
        let set = try net.encoded(
            attributes: CommitAttributes(), base: entry.envelope.base, token: entry.envelope.token,
            time: entry.envelope.time)
        try write(set, entry.envelope, in: transaction)
    }

    private func append(
        _ change: JournalChange, of history: SchemaHistory, to net: inout ChangeSetBuilder,
        _ transaction: borrowing ReadTransaction
    ) throws {
        let before = try stored(change, history, transaction)
        let after: [UInt8]
        switch (change.kind, before) {
        case (.insert, nil): after = Array(change.payload)
        case (.update, let before?):
            after = try FoldedBody.applying(
                change, \.after, to: before, of: schema.entities[change.entity])
        case (.delete, _?): after = []
        default: throw DecodingFailure("a change of object \(change.id) that does not follow")
        }
        let ranges = [before ?? [], after].map { body in
            body.withUnsafeBytes { net.copy($0) }
        }
        net.append(
            ChangeSetBuilder.Item(
                kind: change.kind, entity: change.entity, id: change.id, base: change.previous,
                before: ranges[0], after: ranges[1]))
    }

    /// Returns the body of the object of a change, in the current schema; nil when there is none.
    private func stored(
        _ change: JournalChange, _ history: SchemaHistory,
        _ transaction: borrowing ReadTransaction
    ) throws -> [UInt8]? {
        guard let value = try record(change.entity, change.id, in: transaction) else { return nil }
        let header = try RecordHeader(decoding: value)
        if header.isTombstone { return nil }
        let stored = UnsafeRawBufferPointer(rebasing: value[RecordLayout.headerByteCount...])
        return try history.withBody(
            stored, ofEntity: change.entity, from: Int(header.schemaRevision)
        ) { Array($0) }
    }

    // MARK: Writing

    /// Writes the effects of a change set that has become the entry with an envelope.
    func write(
        _ set: EncodedChangeSet, _ envelope: Envelope, in transaction: borrowing WriteTransaction
    ) throws {
        var texts = set.indexChanges.texts
        try shortenIDs(&texts, in: transaction)
        try putRecords(set, envelope, in: transaction)
        try members.apply(set.members, at: envelope.revision, schema, in: transaction)
        try putIndexEntries(set.indexChanges, texts, in: transaction)
        if let largeValues, set.schema.hasLargeValues {
            try largeValues.change(try set.largeValues(), in: transaction)
        }
    }

    private func putRecords(
        _ set: EncodedChangeSet, _ envelope: Envelope, in transaction: borrowing WriteTransaction
    ) throws {
        let headerByteCount = RecordLayout.headerByteCount
        var entity: EntityNumber = 0
        var lastID: ObjectID?
        let key = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 8)
        defer { key.deallocate() }
        for change in set.changes {
            guard let kind = change.kind else { continue }
            if change.entity != entity {
                entity = change.entity
                lastID = try Self.lastKey(of: records[entity], in: transaction.reading)
            }
            change.id.store(to: key.baseAddress!)
            let isLast = lastID.map { $0 < change.id } ?? true
            let body = set.body(of: change)
            let value = try transaction.reserve(
                headerByteCount + body.count, for: UnsafeRawBufferPointer(key),
                in: records[entity], appending: isLast)
            if isLast { lastID = change.id }
            let header = RecordHeader(
                isTombstone: kind == .delete,
                schemaRevision: UInt16(truncatingIfNeeded: envelope.schemaRevision),
                revision: envelope.revision)
            header.store(bodyHash: change.bodyHash, to: value.baseAddress!)
            if let bytes = body.baseAddress {
                (value.baseAddress! + headerByteCount).copyMemory(
                    from: bytes, byteCount: body.count)
            }
        }
    }

    static func lastKey(of table: Table, in transaction: borrowing ReadTransaction) throws
        -> ObjectID?
    {
        guard let entry = try transaction.cursor(in: table).last() else { return nil }
        return try RecordLayout.id(ofKey: entry.key)
    }

    /// Replaces ids by those in the lists of indexes, before the records are written.
    private func shortenIDs(
        _ texts: inout TextEdits, in transaction: borrowing WriteTransaction
    ) throws {
        if texts.isEmpty { return }
        try texts.shortenIDs(in: try tableOfIndexes, records: { records[$0] }, transaction)
    }

    private func putIndexEntries(
        _ changes: IndexChanges, _ texts: TextEdits, in transaction: borrowing WriteTransaction
    ) throws {
        if changes.isEmpty { return }
        let table = try tableOfIndexes
        for entry in changes.removed {
            try changes.withBytes(of: entry) { _ = try transaction.delete($0, in: table) }
        }
        for entry in changes.added {
            try changes.withBytes(of: entry) { try IndexKey.put($0, in: table, transaction) }
        }
        try TextTree(table: table).apply(texts, in: transaction)
    }
}

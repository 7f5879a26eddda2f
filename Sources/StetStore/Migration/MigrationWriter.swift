import StetLMDB

/// Brings a store from one schema to the next inside of a write transaction: the tables, the
/// reverse references and the indexes change at once; records stay as they are, and are read as
/// those of the new schema.
struct MigrationWriter {
    private let migration: Migration
    private let before: SchemaHistory
    private let after: SchemaHistory
    private let journal: Journal
    private let references: Table
    private let indexes: Table?
    /// Those of the entities of the new schema.
    private let records: [Table]

    init(
        _ migration: Migration, after before: SchemaHistory, _ journal: Journal,
        in transaction: borrowing WriteTransaction
    ) throws {
        self.migration = migration
        self.before = before
        self.journal = journal
        after = try SchemaHistory(migration.to, before.migrations + [migration])
        references = try transaction.table(StoreTables.referencesName)
        let hasIndexes = !(migration.from.indexes + migration.to.indexes).isEmpty
        indexes = hasIndexes ? try transaction.table(StoreTables.indexesName) : nil
        var records: [Table] = []
        for offset in migration.to.entities.indices {
            records.append(try transaction.table(StoreTables.recordsName(offset + 1)))
        }
        self.records = records
    }

    /// Writes everything, the entry of the journal first; the entries of added indexes unless they
    /// are there.
    ///
    /// - Throws: `StoreError` (`.migrationFailed`) when values that must be unique are not.
    func write(
        _ head: inout Head, time: Double, isBuilt: Bool,
        in transaction: borrowing WriteTransaction
    ) throws {
        if !isBuilt {
            for index in migration.addedIndexes { try remove(index, in: transaction) }
        }
        try append(&head, time: time, in: transaction)
        for index in migration.removedIndexes { try remove(index, in: transaction) }
        for entity in migration.removedEntities { try remove(entity: entity, in: transaction) }
        for (offset, upcast) in migration.upcasts.enumerated() {
            guard let upcast else { continue }
            let built = isBuilt ? [] : addedIndexes(ofEntity: offset + 1)
            let movesReferences = upcast.movesReferences
            if built.isEmpty, !movesReferences { continue }
            try forEachRecord(ofEntity: offset + 1, in: transaction) { id, old, new in
                if movesReferences {
                    let old = try keys(of: id, RecordBody(old, of: upcast.from), offset + 1)
                    let new = try keys(of: id, RecordBody(new, of: upcast.to), offset + 1)
                    try replace(old, with: new, in: transaction)
                }
                for index in built {
                    try add(id, try RecordBody(new, of: upcast.to), to: index, in: transaction)
                }
                return true
            }
        }
        try renewFloor(head, in: transaction)
        try StoreTables.put(migration.to, in: transaction)
        try head.write(in: transaction)
    }

    /// Brings the digest of the state that a trimmed journal begins with to the new schema: that of
    /// the present state, less the effects of all entries.
    private func renewFloor(_ head: Head, in transaction: borrowing WriteTransaction) throws {
        guard var floor = try JournalFloor.read(in: transaction.reading) else { return }
        var digest = StateDigest()
        for (offset, entity) in migration.to.entities.enumerated() where !entity.isRemoved {
            try transaction.reading.scan(records[offset]) { key, value in
                guard key.count == 16 else {
                    throw DecodingFailure("a record key of \(key.count) bytes")
                }
                digest += try after.digest(ofEntity: offset + 1, ObjectID(bytes: key), value)
                return true
            }
        }
        var revision = floor.revision
        while revision < head.revision {
            revision = revision.next
            let (envelope, body) = try journal.entry(revision, in: transaction.reading)
            let commit = try Commit(
                envelope: envelope, body: body, history: after, store: .none)
            digest -= try StateDigest.effect(of: commit, after)
        }
        floor.digest = digest
        try floor.write(in: transaction)
    }

    private func addedIndexes(ofEntity entity: Int) -> [NumberedIndex] {
        migration.addedIndexes.filter { $0.entity == entity }
    }

    /// Adds the entries of some objects of an entity, those behind `last`, to the added indexes.
    ///
    /// - Throws: as `write`.
    func addEntries(
        ofEntity entity: Int, after last: ObjectID, limit: Int,
        in transaction: borrowing WriteTransaction
    ) throws -> (count: Int, last: ObjectID, isLast: Bool) {
        let built = addedIndexes(ofEntity: entity)
        var done = (count: 0, last: last, isLast: true)
        try forEachRecord(ofEntity: entity, from: last, in: transaction) { id, _, new in
            if id == last { return true }
            if done.count == limit {
                done.isLast = false
                return false
            }
            let body = try RecordBody(new, of: migration.to.entities[entity - 1])
            for index in built { try add(id, body, to: index, in: transaction) }
            done.count += 1
            done.last = id
            return true
        }
        return done
    }

    private func append(
        _ head: inout Head, time: Double, in transaction: borrowing WriteTransaction
    ) throws {
        var attributes = CommitAttributes(label: "migrate to schema \(migration.to.revision)")
        attributes.migration = migration.encoded()
        let set = try NetChanges(schema: migration.to).encoded(
            attributes: attributes, base: head.revision, token: .random(in: .min ... .max),
            time: time)
        head.schemaRevision = UInt32(migration.to.revision)
        let envelope = Envelope(of: set, after: head, cause: .migration)
        let hash = try journal.append(envelope, set, in: transaction)
        head.follow(envelope, hash)
        let migrations = try StoreTables.migrations(in: transaction.reading)
        try StoreTables.put(migrations: migrations + [envelope.revision], in: transaction)
    }

    /// Calls `body` for each object of an entity, with its body in the old and in the new schema,
    /// until it answers false.
    private func forEachRecord(
        ofEntity entity: Int, from first: ObjectID = .none,
        in transaction: borrowing WriteTransaction,
        _ body: (ObjectID, _ old: UnsafeRawBufferPointer, _ new: UnsafeRawBufferPointer) throws
            -> Bool
    ) throws {
        var lower: [UInt8] = []
        if first != .none { first.append(to: &lower) }
        let range = KeyRange(lower: lower)
        try transaction.reading.scan(records[entity - 1], range) { key, value in
            guard key.count == 16 else {
                throw DecodingFailure("a record key of \(key.count) bytes")
            }
            let id = ObjectID(bytes: key)
            let header = try RecordHeader(decoding: value)
            try header.verify(value, of: id)
            if header.isTombstone { return true }
            let stored = UnsafeRawBufferPointer(
                rebasing: value[RecordLayout.headerByteCount...])
            let revision = Int(header.schemaRevision)
            return try before.withBody(stored, ofEntity: entity, from: revision) { old in
                guard migration.upcasts[entity - 1] != nil else { return try body(id, old, old) }
                return try after.withBody(stored, ofEntity: entity, from: revision) { new in
                    try body(id, old, new)
                }
            }
        }
    }

    // MARK: References

    private func keys(of id: ObjectID, _ body: RecordBody, _ entity: Int) throws
        -> Set<ReferenceKey>
    {
        var keys: Set<ReferenceKey> = []
        try body.forEachReference { slot, target in
            keys.insert(
                ReferenceKey(target: target, sourceEntity: entity, slot: slot, source: id))
        }
        return keys
    }

    private func replace(
        _ old: Set<ReferenceKey>, with new: Set<ReferenceKey>,
        in transaction: borrowing WriteTransaction
    ) throws {
        let key = UnsafeMutableRawBufferPointer.allocate(
            byteCount: ReferenceKey.byteCount, alignment: 8)
        defer { key.deallocate() }
        #if STET_FAULTS
            let planted = transaction.reading.environment.faults.planted
            if planted.contains("migratedReferencesStay") { return }
        #endif
        for reference in old.subtracting(new) {
            reference.store(to: key.baseAddress!)
            try transaction.delete(UnsafeRawBufferPointer(key), in: references)
        }
        for reference in new.subtracting(old) {
            reference.store(to: key.baseAddress!)
            try transaction.put(
                UnsafeRawBufferPointer(start: nil, count: 0), for: UnsafeRawBufferPointer(key),
                in: references)
        }
    }

    private func remove(entity: Int, in transaction: borrowing WriteTransaction) throws {
        let former = migration.from.entities[entity - 1]
        if !former.referenceSlots.isEmpty {
            try forEachRecord(ofEntity: entity, in: transaction) { id, old, _ in
                let keys = try keys(of: id, RecordBody(old, of: former), entity)
                try replace(keys, with: [], in: transaction)
                return true
            }
        }
        try transaction.empty(records[entity - 1])
    }

    // MARK: Indexes

    /// Removes all entries of an index.
    private func remove(
        _ index: NumberedIndex, in transaction: borrowing WriteTransaction
    ) throws {
        guard let indexes else { return }
        let range = KeyRange(prefix: IndexKey.numberBytes(index.number))
        _ = try transaction.removeEntries(of: indexes, range)
    }

    private func add(
        _ id: ObjectID, _ body: RecordBody, to index: NumberedIndex,
        in transaction: borrowing WriteTransaction
    ) throws {
        guard let indexes else { return }
        var values: [UInt8] = []
        let hasNull = try index.index.append(body, to: &values)
        var entry = IndexKey.numberBytes(index.number) + values.prefix(IndexKey.valuesByteLimit)
        if index.index.isUnique, !hasNull {
            try refuseDuplicate(of: id, values, entry, index, in: transaction)
        }
        id.append(to: &entry)
        try entry.withUnsafeBytes { key in
            try transaction.put(
                UnsafeRawBufferPointer(start: nil, count: 0), for: key, in: indexes)
        }
    }

    /// Refuses a unique index when another object has an entry with the same values.
    private func refuseDuplicate(
        of id: ObjectID, _ values: [UInt8], _ prefix: [UInt8], _ index: NumberedIndex,
        in transaction: borrowing WriteTransaction
    ) throws {
        guard let indexes else { return }
        let reading = transaction.reading
        try reading.scan(indexes, KeyRange(prefix: prefix)) { key, _ in
            let entry = try IndexKey(key)
            // Longer ones begin with these values, too.
            guard entry.values.count + IndexKey.numberByteCount == prefix.count else { return true }
            if entry.isTruncated {
                let whole = try self.values(of: entry.id, index, in: reading)
                guard whole == values else { return true }
            }
            let entity = migration.to.entities[index.entity - 1]
            throw StoreError(
                .migrationFailed, path: transaction.reading.environment.path,
                message: "The store can't be migrated: \(id) and \(entry.id) have the same values "
                    + "of \(entity.name), \(index.index.description(in: entity)).",
                advice: "Nothing was changed. Change one of them with the models that the store "
                    + "has now.")
        }
    }

    /// The key of an object's values, not truncated.
    private func values(
        of id: ObjectID, _ index: NumberedIndex, in transaction: ReadTransaction
    ) throws -> [UInt8]? {
        let value = try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { key in
            id.store(to: key.baseAddress!)
            return try transaction.get(
                UnsafeRawBufferPointer(key), in: records[index.entity - 1])
        }
        guard let value else { return nil }
        let header = try RecordHeader(decoding: value)
        let stored = UnsafeRawBufferPointer(rebasing: value[RecordLayout.headerByteCount...])
        return try after.withBody(
            stored, ofEntity: index.entity, from: Int(header.schemaRevision)
        ) { body in
            try index.index.key(
                of: try RecordBody(body, of: migration.to.entities[index.entity - 1]))
        }
    }
}

extension Upcast {
    /// True when the keys of references of older records are others now.
    var movesReferences: Bool {
        from.referenceSlots.contains { slot in
            slots.indices.filter { slots[$0] == slot } != [slot]
        }
    }
}

extension SchemaHistory {
    /// Calls `body` with the body of a record as one of the present schema.
    func withBody<Result>(
        _ stored: UnsafeRawBufferPointer, ofEntity entity: Int, from revision: Int,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        guard let upcast = try upcast(ofEntity: entity, from: revision), !upcast.isIdentity else {
            return try body(stored)
        }
        return try upcast.apply(to: stored).withUnsafeBytes(body)
    }
}

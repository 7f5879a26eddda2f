import StetLMDB

/// Migrates a store from one schema to the next inside a write transaction: tables, lists of
/// members and indexes change at once; records are not rewritten, and are read as those of the new
/// schema.
struct MigrationWriter {
    private let migration: Migration
    private let after: SchemaHistory
    private let journal: Journal
    private let members: MemberTree
    private let indexes: Table?
    /// The tables of the new schema's entities.
    private let records: [Table]

    init(
        _ migration: Migration, after before: SchemaHistory, _ journal: Journal,
        in transaction: borrowing WriteTransaction
    ) throws {
        self.migration = migration
        self.journal = journal
        after = try SchemaHistory(migration.to, before.migrations + [migration])
        members = MemberTree(table: try transaction.table(MemberTree.tableName))
        let hasIndexes = !(migration.from.indexes + migration.to.indexes).isEmpty
        indexes = hasIndexes ? try transaction.table(StoreTables.indexesName) : nil
        var records: [Table] = []
        for entity in migration.to.entities.numbers {
            records.append(try transaction.table(StoreTables.recordsName(entity)))
        }
        self.records = records
    }

    /// Writes everything, the entry of the journal first, and the entries of added indexes unless
    /// they exist.
    ///
    /// - Throws: `StoreError` (`.migrationFailed`) when values of a unique index are not unique.
    func write(
        _ head: inout Head, time: Double, isBuilt: Bool,
        in transaction: borrowing WriteTransaction
    ) throws {
        try append(&head, time: time, in: transaction)
        try finish(head, isBuilt: isBuilt, in: transaction)
    }

    /// Appends the entry of a migration that another journal has, after a head, and writes its
    /// effects.
    ///
    /// - Throws: as `write`.
    func write(
        _ commit: Commit, after head: Head, in transaction: borrowing WriteTransaction
    ) throws {
        var head = head
        head.schemaRevision = UInt32(migration.to.revision)
        let hash = try journal.append(commit.envelope, commit.body, in: transaction)
        try follow(commit.envelope, hash, &head, in: transaction)
        try finish(head, isBuilt: false, in: transaction)
    }

    /// Writes everything but the entry.
    private func finish(
        _ head: Head, isBuilt: Bool, in transaction: borrowing WriteTransaction
    ) throws {
        if !isBuilt {
            for index in migration.addedIndexes { try remove(index, in: transaction) }
        }
        for index in migration.removedIndexes { try remove(index, in: transaction) }
        for entity in migration.removedEntities { try transaction.empty(records[entity]) }
        for end in migration.removedEnds { try members.remove(end: end, in: transaction) }
        for end in migration.reorderedEnds { try reorder(end, in: transaction) }
        if !isBuilt { try buildIndexes(in: transaction) }
        let state = StoredState(
            history: after, journal: journal, members: members, records: records)
        try state.renewFloor(through: head.revision, in: transaction)
        try countLargeValues(through: head.revision, in: transaction)
        try StoreTables.put(migration.to, in: transaction)
        if !migration.to.derivedProperties.isEmpty {
            try StoreTables.markUnderived(in: transaction)
        }
        try head.write(in: transaction)
    }

    /// Counts the references to large values again, because objects and attributes may be removed.
    private func countLargeValues(
        through last: Revision, in transaction: borrowing WriteTransaction
    ) throws {
        if migration.to.hasLargeValues { _ = try transaction.table(LargeValueTable.name) }
        guard migration.from.hasLargeValues,
            let table = try transaction.reading.table(LargeValueTable.name)
        else { return }
        try LargeValueTable(table: table).replaceCounts(
            by: LargeValueCounts(
                after, journal, records: records, through: last, in: transaction.reading),
            in: transaction)
    }

    /// Rewrites the lists of an end that gets or loses an order.
    private func reorder(
        _ end: MemberEnd, in transaction: borrowing WriteTransaction
    ) throws {
        var edits: [MemberEdit] = []
        if end.isReference {
            try forEachRecord(ofEntity: end.member, in: transaction) { id, body in
                let body = try RecordBody(body, of: migration.to.entities[end.member])
                if let owner = try body.reference(end.slot) {
                    edits.append(
                        MemberEdit(end.number, of: owner, id, try body.position(end.slot), .put))
                }
                return true
            }
        } else {
            edits = try reorderedLinks(end, in: transaction)
        }
        try members.remove(end: end.number, in: transaction)
        try members.apply(
            edits.sorted(), at: .zero, migration.to, in: transaction)
    }

    private func reorderedLinks(
        _ end: MemberEnd, in transaction: borrowing WriteTransaction
    ) throws -> [MemberEdit] {
        guard let link = end.link, let type = migration.to.link(numbered: link),
            let former = migration.from.end(numbered: end.number)
        else { return [] }
        var edits: [MemberEdit] = []
        let range = KeyRange(prefix: MemberKey.prefix(ofEnd: end.number))
        try transaction.reading.scan(members.table, range) { key, value in
            let owner = try MemberKey.decode(key).owner
            var entries = try MemberChunk(decoding: value, at: key, former.layout).entries
            while let entry = try entries.next() {
                let position = try entry.membership.upcast(to: type).position
                edits.append(
                    MemberEdit(
                        end.number, of: owner, entry.id, position, entry.isRemoved ? .bury : .put,
                        at: entry.revision))
            }
            return true
        }
        return edits
    }

    private func buildIndexes(in transaction: borrowing WriteTransaction) throws {
        for (entity, upcast) in migration.upcasts.numbered {
            let built = addedIndexes(ofEntity: entity)
            guard let upcast, !built.isEmpty, let indexes else { continue }
            var texts = TextBatch(built.map(\.index), of: upcast.to)
            try forEachRecord(ofEntity: entity, in: transaction) { id, body in
                try add(id, body, of: upcast.to, to: built, &texts, in: transaction)
                if texts.isFull {
                    try texts.put(in: indexes, records: records[entity], transaction)
                }
                return true
            }
            try texts.put(in: indexes, records: records[entity], transaction)
        }
    }

    private func addedIndexes(ofEntity entity: EntityNumber) -> [IndexMembership] {
        migration.addedIndexes.filter { $0.entity == entity }
            .map { $0.membership(in: migration.to) }
    }

    /// Adds the entries of a batch of an entity's objects, those after `last`, to the added
    /// indexes.
    ///
    /// - Throws: as `write`.
    func addEntries(
        ofEntity entity: EntityNumber, after last: ObjectID,
        in transaction: borrowing WriteTransaction
    ) throws -> (count: Int, last: ObjectID, isLast: Bool) {
        let built = addedIndexes(ofEntity: entity)
        let limit = IndexBuild.batchCount(of: built.map(\.index))
        var done = (count: 0, last: last, isLast: true)
        guard let indexes else { return done }
        let type = migration.to.entities[entity]
        var texts = TextBatch(built.map(\.index), of: type)
        try forEachRecord(ofEntity: entity, from: last, in: transaction) { id, new in
            if id == last { return true }
            if done.count == limit || texts.isFull {
                done.isLast = false
                return false
            }
            try add(id, new, of: type, to: built, &texts, in: transaction)
            done.count += 1
            done.last = id
            return true
        }
        try texts.put(in: indexes, records: records[entity], transaction)
        return done
    }

    private func append(
        _ head: inout Head, time: Double, in transaction: borrowing WriteTransaction
    ) throws {
        var attributes = CommitAttributes(label: "migrate to schema \(migration.to.revision)")
        attributes.migration = migration.encoded()
        let set = try ChangeSetBuilder(schema: migration.to).encoded(
            attributes: attributes, base: head.revision, token: .random(in: .min ... .max),
            time: time)
        head.schemaRevision = UInt32(migration.to.revision)
        let date = try journal.date(time, after: head, in: transaction.reading)
        let envelope = Envelope(of: set, after: head, cause: .migration, time: date.time)
        let hash = try journal.append(envelope, set, in: transaction)
        try follow(envelope, hash, &head, in: transaction)
    }

    private func follow(
        _ envelope: Envelope, _ hash: Digest, _ head: inout Head,
        in transaction: borrowing WriteTransaction
    ) throws {
        head.follow(envelope, hash)
        let migrations = try StoreTables.migrations(in: transaction.reading)
        try StoreTables.put(migrations: migrations + [envelope.revision], in: transaction)
    }

    /// Calls `body` for each object of an entity, with its body in the new schema, until it returns
    /// false.
    private func forEachRecord(
        ofEntity entity: EntityNumber, from first: ObjectID = .none,
        in transaction: borrowing WriteTransaction,
        _ body: (ObjectID, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var lower: [UInt8] = []
        if first != .none { first.append(to: &lower) }
        let range = KeyRange(lower: lower)
        try transaction.reading.scan(records[entity], range) { key, value in
            let id = try RecordLayout.id(ofKey: key)
            let header = try RecordHeader(decoding: value)
            try header.verify(value, of: id)
            if header.isTombstone { return true }
            let stored = UnsafeRawBufferPointer(
                rebasing: value[RecordLayout.headerByteCount...])
            return try after.withBody(
                stored, ofEntity: entity, from: Int(header.schemaRevision)
            ) { new in
                try body(id, new)
            }
        }
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

    /// Adds the entries of an object to indexes, and the object to the batch of those with lists.
    private func add(
        _ id: ObjectID, _ bytes: UnsafeRawBufferPointer, of entity: Entity,
        to added: [IndexMembership], _ texts: inout TextBatch,
        in transaction: borrowing WriteTransaction
    ) throws {
        texts.append(id, bytes)
        let body = try RecordBody(bytes, of: entity)
        for added in added where !added.index.index.hasLists {
            guard try added.contains(id, body) else { continue }
            try add(id, body, to: added.index, in: transaction)
        }
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
        try entry.withUnsafeBytes { try IndexKey.put($0, in: indexes, transaction) }
    }

    /// Refuses a unique index when another object has an entry with equal values.
    private func refuseDuplicate(
        of id: ObjectID, _ values: [UInt8], _ prefix: [UInt8], _ index: NumberedIndex,
        in transaction: borrowing WriteTransaction
    ) throws {
        guard let indexes else { return }
        try transaction.reading.scan(indexes, KeyRange(prefix: prefix)) { key, _ in
            let entry = try IndexKey(key)
            // Skips longer keys that begin with these values.
            guard entry.values.count + IndexKey.numberByteCount == prefix.count else { return true }
            if entry.isTruncated {
                let whole = try self.values(of: entry.id, index, in: transaction.reading)
                guard whole == values else { return true }
            }
            let entity = migration.to.entities[index.entity]
            throw StoreError(
                .migrationFailed, path: transaction.reading.environment.path,
                message: "The store can't be migrated: \(id) and \(entry.id) have the same values "
                    + "of \(entity.name), \(index.index.description(in: entity)).",
                advice: "Nothing was changed. Change one of them with the models that the store "
                    + "has now.")
        }
    }

    /// Returns the key of an object's values, not truncated.
    private func values(
        of id: ObjectID, _ index: NumberedIndex, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8]? {
        let value = try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { key in
            id.store(to: key.baseAddress!)
            return try transaction.get(
                UnsafeRawBufferPointer(key), in: records[index.entity])
        }
        guard let value else { return nil }
        let header = try RecordHeader(decoding: value)
        let stored = UnsafeRawBufferPointer(rebasing: value[RecordLayout.headerByteCount...])
        return try after.withBody(
            stored, ofEntity: index.entity, from: Int(header.schemaRevision)
        ) { body in
            try index.index.key(
                of: try RecordBody(body, of: migration.to.entities[index.entity]))
        }
    }
}

extension SchemaHistory {
    /// Calls `body` with the body of a record in the current schema.
    func withBody<Result>(
        _ stored: UnsafeRawBufferPointer, ofEntity entity: EntityNumber, from revision: Int,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        guard let upcast = try upcast(ofEntity: entity, from: revision), !upcast.isIdentity else {
            return try body(stored)
        }
        return try upcast.apply(to: stored).withUnsafeBytes(body)
    }
}

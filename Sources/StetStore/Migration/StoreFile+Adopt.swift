import Glibc
import StetLMDB

// A migration with code works on copies. The store then adopts the contents of the last copy.

extension StoreFile {
    /// Returns whether there is a file.
    package static func exists(_ path: String) throws -> Bool {
        try StorePlace.checkName(path)
        return access(path, F_OK) == 0
    }

    /// Removes the file of a copy, open or not.
    package static func removeCopy(at path: String) {
        unlink(path)
        unlink("\(path)-lock")
        LogFiles.remove(path)
    }

    /// Returns whether the store has the commits of another one up to a head, and possibly more.
    package func extends(_ head: Head) throws -> Bool {
        try StoreError.wrapping(path: path) {
            try environment.read { transaction in
                let own = try Head.read(in: transaction)
                guard own.revision >= head.revision else { return false }
                if head.revision == .zero { return true }
                if let floor = try JournalFloor.read(in: transaction),
                    floor.revision >= head.revision
                {
                    return floor.hash == head.hash
                }
                return try journal.envelope(head.revision, in: transaction).hash == head.hash
            }
        }
    }

    /// Adopts the commits that a copy has after `base`, and the resulting state, in one
    /// transaction; returns false when this store has other commits after `base`.
    ///
    /// Afterwards the store has another schema, and this object must not be used any more.
    ///
    /// - Complexity: O(bytes of these commits, and of the objects that they change, + all lists of
    ///   members + all entries of indexes); for a trimmed store + all objects and commits.
    package func adopt(_ copy: StoreFile, _ base: Head) throws -> Bool {
        do {
            return try adoptShared(copy, base)
        } catch is SharedJournalMoved {
            try StoreNode(self).follow()
            return false
        }
    }

    private func adoptShared(_ copy: StoreFile, _ base: Head) throws -> Bool {
        try StoreError.wrapping(path: path) {
            try copy.environment.read { source in
                try environment.writeGrowing { transaction in
                    let head = try Head.read(in: transaction.reading)
                    guard head == base else { return false }
                    // The store may have been trimmed since the copy was made.
                    let floor = try JournalFloor.read(in: transaction.reading)
                    let sourceFloor = try JournalFloor.read(in: source)
                    guard floor?.revision == sourceFloor?.revision else { return false }
                    let reached = try CopyAdoption(copy, source)
                        .write(behind: base, to: transaction)
                    try SharedLink.append(
                        to: shared, after: base, through: reached, from: journal, in: transaction)
                    return true
                }
            }
        }
    }
}

/// Writes a copy's tables, as far as they may differ, to the store that it was copied from.
private struct CopyAdoption: ~Copyable {
    private let file: StoreFile
    private let source: ReadTransaction

    init(_ file: StoreFile, _ source: borrowing ReadTransaction) {
        self.file = file
        self.source = source.shared()
    }

    /// Returns the head that the store then has.
    func write(behind base: Head, to transaction: borrowing WriteTransaction) throws -> Head {
        let head = try Head.read(in: source)
        try putRecords(from: base.revision, through: head.revision, transaction)
        let entries = try transaction.table(Journal.tableName)
        let first = withUnsafeBytes(of: base.revision.next.number.bigEndian) { Array($0) }
        try append(file.journal.table, KeyRange(lower: first), to: entries, transaction)
        try replace(MemberTree.tableName, by: file.projection.members.table, transaction)
        if let indexes = file.projection.indexes {
            try replace(StoreTables.indexesName, by: indexes, transaction)
        } else if try transaction.reading.table(StoreTables.indexesName) != nil {
            try transaction.empty(try transaction.table(StoreTables.indexesName))
        }
        try addLargeValues(through: head.revision, transaction)
        try StoreTables.put(file.schema, in: transaction)
        try StoreTables.put(migrations: try StoreTables.migrations(in: source), in: transaction)
        try StoreTables.put(indexBuild: nil, in: transaction)
        try head.write(in: transaction)
        try state(transaction).renewFloor(through: head.revision, in: transaction)
        return head
    }

    /// Writes the large values that only the copy has, and counts the references to all.
    private func addLargeValues(
        through last: Revision, _ transaction: borrowing WriteTransaction
    ) throws {
        guard let copied = file.projection.largeValues else { return }
        let values = LargeValueTable(table: try transaction.table(LargeValueTable.name))
        try copied.forEachEntry(in: source) { entry in
            if try values.entry(entry.value, in: transaction.reading) != nil { return true }
            for number in 0..<entry.chunkCount {
                try values.put(
                    try copied.chunk(number, of: entry, in: source), chunk: number, of: entry.key,
                    in: transaction)
            }
            try values.put(entry, in: transaction)
            return true
        }
        let state = try state(transaction)
        try values.replaceCounts(
            by: LargeValueCounts(
                state.history, state.journal, records: state.records, through: last,
                in: transaction.reading), in: transaction)
    }

    /// Returns the tables of the store.
    ///
    /// The copy's floor does not reflect redactions of the store since the copy.
    private func state(_ transaction: borrowing WriteTransaction) throws -> StoredState {
        var records: [Table] = []
        for entity in file.schema.entities.numbers {
            records.append(try transaction.table(StoreTables.recordsName(entity)))
        }
        return StoredState(
            history: file.history,
            journal: Journal(table: try transaction.table(Journal.tableName)),
            members: MemberTree(table: try transaction.table(MemberTree.tableName)),
            records: records)
    }

    /// Writes the records of all objects that commits have changed.
    private func putRecords(
        from base: Revision, through head: Revision, _ transaction: borrowing WriteTransaction
    ) throws {
        var targets: [Table] = []
        for (number, entity) in file.schema.entities.numbered {
            targets.append(try transaction.table(StoreTables.recordsName(number)))
            if entity.isRemoved { try transaction.empty(targets[number]) }
        }
        var revision = base
        while revision < head {
            revision = revision.next
            let (envelope, body) = try file.journal.entry(revision, in: source)
            let commit = try Commit(
                envelope: envelope, body: body, history: file.history, store: file.storeID)
            var changed: [(EntityNumber, ObjectID)] = []
            try commit.forEachChange { changed.append(($0.entity, $0.id)) }
            for (entity, id) in changed where file.schema.entity(numbered: entity) != nil {
                try put(
                    id, from: file.projection.records[entity], to: targets[entity],
                    transaction)
            }
        }
    }

    private func put(
        _ id: ObjectID, from records: Table, to target: Table,
        _ transaction: borrowing WriteTransaction
    ) throws {
        let key = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 8)
        defer { key.deallocate() }
        id.store(to: key.baseAddress!)
        guard let record = try source.get(UnsafeRawBufferPointer(key), in: records) else {
            throw DecodingFailure("the record of object \(id) is missing")
        }
        try transaction.put(record, for: UnsafeRawBufferPointer(key), in: target)
    }

    private func replace(
        _ name: String, by table: Table, _ transaction: borrowing WriteTransaction
    ) throws {
        let target = try transaction.table(name)
        try transaction.empty(target)
        try append(table, .all, to: target, transaction)
    }

    private func append(
        _ table: Table, _ range: KeyRange, to target: Table,
        _ transaction: borrowing WriteTransaction
    ) throws {
        let cursor = try source.cursor(in: table)
        var entry = try cursor.seek(range.lower)
        while let (key, value) = entry {
            let room = try transaction.reserve(
                value.count, for: key, in: target, appending: true)
            room.copyMemory(from: value)
            entry = try cursor.next()
        }
    }
}

import StetLMDB

/// Reads records, references and entries of one consistent view of a store.
///
/// Its buffers are valid until the closure that received it returns.
package struct StoreReader: ~Copyable {
    let transaction: ReadTransaction
    /// The store, which the code that reads retains.
    package unowned(unsafe) let file: StoreFile

    init(_ transaction: borrowing ReadTransaction, _ file: StoreFile) {
        self.transaction = transaction.shared()
        self.file = file
    }

    /// Returns another value for the same read, for use before the read ends.
    package borrowing func shared() -> StoreReader { StoreReader(transaction, file) }

    /// Returns the last commit.
    package func head() throws -> Head { try Head.read(in: transaction) }

    // MARK: Records

    /// The record of an existing object: the revision of its last change, and its body.
    package struct Record {
        package let revision: Revision
        package let body: UnsafeRawBufferPointer
    }

    /// Calls `body` with the record of an object at a revision; returns nil when the object does
    /// not exist there.
    ///
    /// - Complexity: one read, plus one or a few for each change of the object since `revision`.
    package func withRecord<Result>(
        ofEntity entity: EntityNumber, _ id: ObjectID, asOf revision: Revision,
        _ body: (Record) throws -> Result
    ) throws -> Result? {
        try withRecord(FoundRecord(entity, id, in: self), ofEntity: entity, asOf: revision, body)
    }

    /// Calls `body` with a record that was looked up, as `withRecord` of its object does.
    @inline(__always)
    package func withRecord<Result>(
        _ found: FoundRecord, ofEntity entity: EntityNumber, asOf revision: Revision,
        _ body: (Record) throws -> Result
    ) throws -> Result? {
        guard let (header, stored) = try found.checked() else { return nil }
        if header.revision > revision {
            return try withEarlierRecord(header, stored, entity, found.id, revision, body)
        }
        if header.isTombstone { return nil }
        return try withBody(header, stored, entity) { bytes in
            try body(Record(revision: header.revision, body: bytes))
        }
    }

    /// Returns header and body as they are stored, checked; nil when there never was such an
    /// object.
    func stored(
        _ entity: EntityNumber, _ id: ObjectID
    ) throws -> (header: RecordHeader, body: UnsafeRawBufferPointer)? {
        try FoundRecord(entity, id, in: self).checked()
    }

    /// Returns the record of an object as it is stored; nil when there never was such an object.
    func record(_ entity: EntityNumber, _ id: ObjectID) throws -> UnsafeRawBufferPointer? {
        // Without a retain for each record.
        try Unmanaged.passUnretained(file)._withUnsafeGuaranteedRef { file in
            try file.projection.record(entity, id, in: transaction)
        }
    }

    /// Calls `body` with the body of a record in the current schema.
    @inline(__always)
    func withBody<Result>(
        _ header: RecordHeader, _ stored: UnsafeRawBufferPointer, _ entity: EntityNumber,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        if header.schemaRevision == file.recordRevision { return try body(stored) }
        return try file.history.withBody(
            stored, ofEntity: entity, from: Int(header.schemaRevision), body)
    }

    private func withEarlierRecord<Result>(
        _ header: RecordHeader, _ stored: UnsafeRawBufferPointer,
        _ entity: EntityNumber, _ id: ObjectID, _ revision: Revision,
        _ body: (Record) throws -> Result
    ) throws -> Result? {
        let earlier = try earlierState(header, stored, entity, id, revision)
        guard let state = earlier.state else { return nil }
        return try state.withUnsafeBytes { try body(Record(revision: earlier.revision, body: $0)) }
    }

    /// Walks the object's chain of changes back from its current state to `revision`.
    func earlierState(
        _ header: RecordHeader, _ stored: UnsafeRawBufferPointer,
        _ entity: EntityNumber, _ id: ObjectID, _ revision: Revision
    ) throws -> (revision: Revision, state: [UInt8]?) {
        var state: [UInt8]? =
            header.isTombstone ? nil : try withBody(header, stored, entity) { Array($0) }
        var last = header.revision
        var isRedacted = false
        while last > revision {
            let found: Revision? = try file.journal.withChange(
                ofEntity: entity, id, at: last, in: transaction
            ) { change, schemaRevision in
                isRedacted = isRedacted || change.redaction != nil
                state = try change.stateBefore(
                    state, of: file.schema.entities[entity],
                    try file.history.upcast(ofEntity: entity, from: schemaRevision))
                return change.previous
            }
            guard let previous = found, previous < last else {
                throw DecodingFailure(
                    "the chain of changes of object \(id) breaks at revision \(last)")
            }
            last = previous
        }
        if isRedacted, let body = state {
            state = try FoldedBody.filling(body, of: file.schema.entities[entity])
        }
        return (last, state)
    }

    /// Returns the last change of an object at or before a revision; nil when it had not existed by
    /// then.
    ///
    /// - Complexity: as `withRecord`.
    package func lastChange(
        ofEntity entity: EntityNumber, _ id: ObjectID, asOf revision: Revision
    ) throws -> (revision: Revision, isDeleted: Bool)? {
        guard let (header, stored) = try stored(entity, id) else { return nil }
        if header.revision <= revision { return (header.revision, header.isTombstone) }
        let earlier = try earlierState(header, stored, entity, id, revision)
        return earlier.revision > .zero ? (earlier.revision, earlier.state == nil) : nil
    }

    /// Returns the number of records of an entity, including those of deleted objects.
    ///
    /// A damaged number may be wrong, but calculating with it never overflows.
    package func recordCount(ofEntity entity: EntityNumber) throws -> Int {
        min(max(try transaction.count(of: file.projection.records[entity]), 0), 1 << 48)
    }

    /// Returns the number of objects to reserve memory for before those of an entity are read.
    ///
    /// It has a bound, because the number of records may be damaged, and includes deleted objects.
    package func reservableCount(ofEntity entity: EntityNumber) throws -> Int {
        min(try recordCount(ofEntity: entity), 1 << 18)
    }

    /// Calls `body` for every object of an entity that exists at a revision, in ascending order of
    /// id, until it returns false.
    ///
    /// It begins at `first`, so that a long walk can be split into several reads.
    package func forEachRecord(
        ofEntity entity: EntityNumber, asOf revision: Revision, from first: ObjectID = .none,
        _ body: (ObjectID, Record) throws -> Bool
    ) throws {
        var counter = ReadLimit.Counter()
        let cursor = try transaction.cursor(in: file.projection.records[entity])
        var entry = try cursor.seek(first)
        while let present = entry {
            try counter.visit()
            let id = try RecordLayout.id(ofKey: present.key)
            let (header, stored) = try FoundRecord.checked(present.value, of: id)
            if header.revision > revision {
                let isLast = try withEarlierRecord(header, stored, entity, id, revision) {
                    try !body(id, $0)
                }
                if isLast == true { return }
            } else if !header.isTombstone {
                let isLast = try withBody(header, stored, entity) { bytes in
                    try !body(id, Record(revision: header.revision, body: bytes))
                }
                if isLast { return }
            }
            entry = try cursor.next()
        }
    }

    // MARK: Members

    /// Calls `body` with every membership in the lists of an object, as of the last commit: those
    /// of each object that refers to it or is linked with it.
    package func forEachReference(
        to target: ObjectID, ofEntity entity: EntityNumber, _ body: (MembershipKey) throws -> Void
    ) throws {
        for end in file.schema.ends(ofOwner: entity) {
            try forEachMember(of: target, at: end) { member, _ in
                try body(MembershipKey(end, target, member))
                return true
            }
        }
    }

    /// Calls `body` with each member of an owner at an end and its position, in order, as of the
    /// last commit, until it returns false.
    @inline(__always)
    package func forEachMember(
        of owner: ObjectID, at end: MemberEnd, _ body: (ObjectID, ListPosition?) throws -> Bool
    ) throws {
        try file.projection.members.forEachEntry(of: owner, at: end, in: transaction) { entry in
            if entry.isRemoved { return true }
            return try body(entry.id, entry.membership.position)
        }
    }

    /// Returns the position of the last member of an owner at an ordered end, as of the last
    /// commit; nil for an owner without members.
    package func lastPosition(of owner: ObjectID, at end: MemberEnd) throws -> ListPosition? {
        // Entries of removed members sort before those with positions.
        try file.projection.members.lastEntry(of: owner, at: end, in: transaction)?.membership
            .position
    }

    /// Returns the state of a link as of the last commit, and the revision of its last change,
    /// which is 0 when no change is known any more.
    package func link(_ key: LinkKey) throws -> (membership: Membership, revision: Revision) {
        guard let ends = file.schema.ends(ofLink: key.link),
            let entry = try file.projection.members.entry(
                of: key.source, key.target, at: ends.sources, in: transaction)
        else { return (.absent, .zero) }
        return (try entry.membership, entry.revision)
    }

    /// Calls `body` with each object of an entity that refers to a target in a slot, in order, as
    /// of the last commit, until it returns false.
    package func forEachReference(
        to target: ObjectID, fromEntity entity: EntityNumber, slot: Slot,
        _ body: (ObjectID) throws -> Bool
    ) throws {
        guard let end = file.schema.end(ofEntity: entity, slot: slot) else { return }
        try forEachMember(of: target, at: end) { member, _ in try body(member) }
    }

    /// Returns the number of members of an owner at an end, as of the last commit.
    ///
    /// - Complexity: a cursor move for each chunk of the list.
    package func memberCount(of owner: ObjectID, at end: MemberEnd) throws -> Int {
        try file.projection.members.count(of: owner, at: end, in: transaction)
    }

    /// Calls `body` with each owner that has members at an end and with their number, as of the
    /// last commit, until it returns false.
    ///
    /// - Complexity: a cursor move for each chunk of all lists of the end.
    package func forEachMemberCount(
        at end: MemberEnd, _ body: (_ owner: ObjectID, _ count: Int) throws -> Bool
    ) throws {
        try file.projection.members.forEachCount(at: end, in: transaction, body)
    }

    // MARK: Journal

    /// Calls `body` with each object whose record a commit has changed, and `links` with each link.
    ///
    /// The entry is not compared with its digest, and no value is decoded: it is for callers that
    /// only need to know which objects were touched.
    package func forEachTouchedObject(
        of revision: Revision, links: (LinkKey) throws -> Void = { _ in },
        _ object: (_ entity: EntityNumber, ObjectID, ChangeKind) throws -> Void
    ) throws {
        try unverifiedCommit(revision).forEachChange(ofEntitiesIn: file.schema) { change in
            if change.changesRecord { try object(change.entity, change.id, change.kind) }
            if !change.changesLinks { return }
            for link in try change.links() where file.schema.link(numbered: link.key.link) != nil {
                try links(link.key)
            }
        }
    }

    /// Returns the commit with a revision, without comparing it with its digest.
    func unverifiedCommit(_ revision: Revision) throws -> Commit {
        let (envelope, body) = try file.journal.entry(revision, in: transaction)
        return try Commit(
            envelope: envelope, body: body, history: file.history, store: file.storeID)
    }

    /// Returns the commit with a revision, after comparing it with its digest.
    package func commit(_ revision: Revision) throws -> Commit {
        let commit = try unverifiedCommit(revision)
        try commit.validate()
        return commit
    }
}

extension JournalChange {
    /// Returns the body of the object's record before this change; nil when it did not exist.
    ///
    /// `state` is the body after this change. Both are in the current schema, to which `upcast`
    /// converts the values of the change.
    func stateBefore(
        _ state: [UInt8]?, of entity: Entity, _ upcast: Upcast?
    ) throws -> [UInt8]? {
        switch kind {
        case .insert: return nil
        case .delete: return try upcast?.apply(to: payload) ?? Array(payload)
        case .update:
            guard let state else {
                throw DecodingFailure("an update of an object that does not exist")
            }
            if let upcast { return try upcast.stateBefore(self, state) }
            return try FoldedBody.applying(self, \.before, to: state, of: entity)
        }
    }
}

import FoundationEssentials
import StetLMDB

/// Why the writer refused a change set whose data no longer fit the store.
///
/// Nothing was written.
package struct CommitRefusal: Error, Sendable {
    /// One thing that has moved since the change set was prepared.
    package enum Reason: Hashable, Sendable {
        /// The object was changed by another commit; its record's revision now, nil when it is
        /// gone.
        case objectChanged(entity: Int, ObjectID, base: Revision, now: Revision?)
        /// A reference points to an object that does not exist.
        case targetMissing(ReferenceKey)
        /// A deleted object is still referred to by an object outside of the change set.
        case stillReferenced(ReferenceKey)
        /// Another process has migrated the store.
        case schemaChanged
    }

    /// In the order of the change set.
    package let reasons: [Reason]
}

extension StoreFile {
    /// The one function that changes a store: checks a change set against the store as it is now,
    /// then writes journal entry, records, reverse references and head in one transaction, durably.
    ///
    /// No user code runs in it.
    ///
    /// - Throws: `CommitRefusal` when the store has moved; `StoreError`. Nothing was written in
    ///   either case.
    package func commit(_ set: EncodedChangeSet) throws -> Commit {
        let commit = try StoreError.wrapping(path: path) {
            try environment.write { transaction in
                let head = try Head.read(in: transaction.reading)
                let reasons = try CommitCheck(set, self, transaction.reading).reasons(head)
                guard reasons.isEmpty else { throw CommitRefusal(reasons: reasons) }
                let envelope = try apply(set, after: head, in: transaction)
                #if STET_FAULTS
                    if planted.contains("publishBeforeCommit") {
                        feed.publish(
                            try Commit(
                                envelope: envelope, body: set.journal, schema: schema,
                                store: storeID))
                    }
                #endif
                return try Commit(
                    envelope: envelope, body: set.journal, schema: schema, store: storeID)
            }
        }
        feed.publish(commit)
        return commit
    }

    /// Writes a change set that has passed all checks; the envelope of its entry.
    private func apply(
        _ set: EncodedChangeSet, after head: Head, in transaction: borrowing WriteTransaction
    ) throws -> Envelope {
        var envelope = Envelope()
        envelope.changeCount = set.changes.count
        envelope.revision = head.revision.next
        // Clocks of several processes differ; the journal's time never runs backwards.
        envelope.time = set.time.isFinite ? max(set.time, head.time) : head.time
        envelope.base = set.base
        envelope.token = set.token
        envelope.schemaRevision = head.schemaRevision
        envelope.previousHash = head.hash
        envelope.bodyDigest = set.bodyDigest
        let hash = try journal.append(envelope, set, in: transaction)
        try putRecords(set, envelope, in: transaction)
        try putReferences(set, in: transaction)
        var newHead = head
        newHead.revision = envelope.revision
        newHead.hash = hash
        newHead.time = envelope.time
        try newHead.write(in: transaction)
        return envelope
    }

    private func putRecords(
        _ set: EncodedChangeSet, _ envelope: Envelope, in transaction: borrowing WriteTransaction
    ) throws {
        let headerByteCount = RecordLayout.headerByteCount
        var entity = 0
        var lastID: ObjectID?
        let key = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 8)
        defer { key.deallocate() }
        for change in set.changes {
            if change.entity != entity {
                entity = change.entity
                lastID = try lastKey(of: records[entity - 1], in: transaction.reading)
            }
            change.id.store(to: key.baseAddress!)
            let isLast = lastID.map { $0 < change.id } ?? true
            let value = try transaction.reserve(
                headerByteCount + change.body.count, for: UnsafeRawBufferPointer(key),
                in: records[entity - 1], appending: isLast)
            if isLast { lastID = change.id }
            let header = RecordHeader(
                isTombstone: change.kind == .delete,
                schemaRevision: UInt16(truncatingIfNeeded: envelope.schemaRevision),
                revision: envelope.revision)
            header.store(bodyHash: change.bodyHash, to: value.baseAddress!)
            if !change.body.isEmpty {
                (value.baseAddress! + headerByteCount).copyMemory(
                    from: set.bodies.bytes.baseAddress! + change.body.lowerBound,
                    byteCount: change.body.count)
            }
        }
    }

    fileprivate func lastKey(of table: Table, in transaction: ReadTransaction) throws -> ObjectID? {
        guard let entry = try transaction.cursor(in: table).last() else { return nil }
        guard entry.key.count == 16 else {
            throw DecodingFailure("a record key of \(entry.key.count) bytes")
        }
        return ObjectID(bytes: entry.key)
    }

    private func putReferences(
        _ set: EncodedChangeSet, in transaction: borrowing WriteTransaction
    ) throws {
        let key = UnsafeMutableRawBufferPointer.allocate(
            byteCount: ReferenceKey.byteCount, alignment: 8)
        defer { key.deallocate() }
        for reference in set.removedReferences {
            reference.store(to: key.baseAddress!)
            try transaction.delete(UnsafeRawBufferPointer(key), in: references)
        }
        for (index, reference) in set.addedReferences.enumerated() {
            #if STET_FAULTS
                if index == 0, planted.contains("reverseReferenceNotWritten") { continue }
            #endif
            reference.store(to: key.baseAddress!)
            try transaction.put(
                UnsafeRawBufferPointer(start: nil, count: 0), for: UnsafeRawBufferPointer(key),
                in: references)
            _ = index
        }
    }
}

/// The data that the writer looks at before it writes anything.
private struct CommitCheck {
    private let set: EncodedChangeSet
    private let file: StoreFile
    private let transaction: ReadTransaction

    init(_ set: EncodedChangeSet, _ file: StoreFile, _ transaction: ReadTransaction) {
        self.set = set
        self.file = file
        self.transaction = transaction
    }

    /// What has moved since the change set was prepared; empty when it can be written.
    func reasons(_ head: Head) throws -> [CommitRefusal.Reason] {
        guard head.schemaRevision == UInt32(set.schema.revision) else { return [.schemaChanged] }
        var reasons: [CommitRefusal.Reason] = []
        try checkBases(into: &reasons)
        try checkTargets(into: &reasons)
        for change in set.changes where change.kind == .delete {
            try checkReferrers(of: change, into: &reasons)
        }
        return reasons
    }

    private func header(_ entity: Int, _ id: ObjectID) throws -> RecordHeader? {
        let value = try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { key in
            id.store(to: key.baseAddress!)
            return try transaction.get(UnsafeRawBufferPointer(key), in: file.records[entity - 1])
        }
        return try value.map { bytes in try RecordHeader(decoding: bytes) }
    }

    private func checkBases(into reasons: inout [CommitRefusal.Reason]) throws {
        var entity = 0
        var lastID: ObjectID?
        for change in set.changes {
            if change.entity != entity {
                entity = change.entity
                lastID = try file.lastKey(of: file.records[entity - 1], in: transaction)
            }
            // What is inserted behind the last record cannot be there already.
            let isNew = lastID.map { $0 < change.id } ?? true
            let header = isNew ? nil : try header(entity, change.id)
            let revision = header?.revision ?? .zero
            let exists = header.map { !$0.isTombstone } ?? false
            if revision != change.base || exists != (change.kind != .insert) {
                reasons.append(
                    .objectChanged(
                        entity: entity, change.id, base: change.base,
                        now: exists ? revision : nil))
            }
        }
    }

    /// Each target once: the added references are sorted by it.
    private func checkTargets(into reasons: inout [CommitRefusal.Reason]) throws {
        var checked: (target: ObjectID, entity: Int)?
        for reference in set.addedReferences {
            let property = file.schema.entities[reference.sourceEntity - 1]
                .properties[reference.slot]
            guard let target = property.target, let entity = file.schema.number(ofEntity: target)
            else { throw DecodingFailure("a reference without a target") }
            if let checked, checked == (reference.target, entity) { continue }
            checked = (reference.target, entity)
            if let change = change(of: entity, reference.target) {
                if change.kind == .delete { reasons.append(.targetMissing(reference)) }
                continue
            }
            let header = try header(entity, reference.target)
            if header?.isTombstone ?? true { reasons.append(.targetMissing(reference)) }
        }
    }

    private func change(of entity: Int, _ id: ObjectID) -> EncodedChangeSet.Change? {
        var lower = 0
        var upper = set.changes.count
        while lower < upper {
            let middle = (lower + upper) / 2
            let change = set.changes[middle]
            if (change.entity, change.id) < (entity, id) {
                lower = middle + 1
            } else {
                upper = middle
            }
        }
        guard lower < set.changes.count else { return nil }
        let change = set.changes[lower]
        return change.entity == entity && change.id == id ? change : nil
    }

    private func checkReferrers(
        of change: EncodedChangeSet.Change, into reasons: inout [CommitRefusal.Reason]
    ) throws {
        let entities = file.schema.entities
        let deleted = entities[change.entity - 1].name
        try StoreReader.forEachReference(to: change.id, in: file.references, transaction) {
            reference in
            // Ids from elsewhere may be those of objects of several entities.
            let property = entities.element(at: reference.sourceEntity - 1)?
                .properties.element(at: reference.slot)
            if property?.target == deleted, !contains(set.removedReferences, reference) {
                reasons.append(.stillReferenced(reference))
            }
        }
    }

    private func contains(_ sorted: [ReferenceKey], _ key: ReferenceKey) -> Bool {
        var lower = 0
        var upper = sorted.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if sorted[middle] < key { lower = middle + 1 } else { upper = middle }
        }
        return lower < sorted.count && sorted[lower] == key
    }
}

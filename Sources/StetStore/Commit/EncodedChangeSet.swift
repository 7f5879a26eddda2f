/// A change set in the form that the writer takes: data only, everything encoded and digested by
/// the task that saves.
package struct EncodedChangeSet: Sendable {
    /// The change of one object, with the data that the writer needs to check and apply it.
    struct Change: Sendable {
        /// The kind; nil where only links change whose source is the object.
        let kind: ChangeKind?
        let entity: EntityNumber
        let id: ObjectID
        let base: Revision
        /// The hash of the record's body, which the header's checksum includes.
        var bodyHash: UInt64
        /// The range of the record's new body: in `journal` for an insert, whose entry has it, in
        /// `bodies` for an update; empty for a delete.
        var body: Range<Int>
        /// The range of the change in `journal`.
        private(set) var journal: Range<Int>

        /// Follows the bytes of `journal`, which were moved.
        mutating func move(by byteCount: Int) {
            journal = journal.lowerBound + byteCount..<journal.upperBound + byteCount
            if kind == .insert { body = body.lowerBound + byteCount..<body.upperBound + byteCount }
        }
    }

    /// The changes in ascending order of entity and id.
    let changes: [Change]
    /// The new bodies of the updated records.
    let bodies: ByteStorage
    /// The body of the journal entry.
    let journal: ByteStorage
    package let bodyDigest: Digest
    let attributes: CommitAttributes
    let purpose: CommitPurpose
    /// The changed links, in the order of the changes.
    let links: [LinkChange]
    /// The edits of lists of members, in the order of the tree of members.
    let members: [MemberEdit]
    package let indexChanges: IndexChanges
    let lookups: Lookups
    let schema: Schema
    package let base: Revision
    package let token: UInt64
    package let time: Double
    /// The change of the subscription whose delivery has the commit as its effect.
    package var subscription: SubscriptionUpdate?

    /// Returns the new body of a record.
    func body(of change: Change) -> UnsafeRawBufferPointer {
        let bytes = change.kind == .insert ? journal.bytes : bodies.bytes
        return UnsafeRawBufferPointer(rebasing: bytes[change.body])
    }

    /// The approximate number of bytes in memory.
    var byteCount: Int { bodies.bytes.count + journal.count + indexChanges.byteCount }
}

extension EncodedChangeSet {
    /// Returns the changes as plain values.
    package func changeSet() throws -> ChangeSet {
        ChangeSet(
            changes: try changes.map { change in
                var reader = ByteReader(
                    UnsafeRawBufferPointer(rebasing: journal.bytes[change.journal]))
                return try ObjectChange(try JournalChange(decoding: &reader), schema)
            })
    }

    /// Returns the effect on the numbers of references to large values.
    func largeValues() throws -> LargeValueCounts {
        var counts = LargeValueCounts()
        try forEachLargeChange { try counts.add(committed: $0, of: schema.entities[$0.entity]) }
        return counts
    }

    /// Calls `body` for each change of an object that can have large values.
    func forEachLargeChange(_ body: (JournalChange) throws -> Void) throws {
        for change in changes where !schema.entities[change.entity].largeSlots.isEmpty {
            var reader = ByteReader(UnsafeRawBufferPointer(rebasing: journal.bytes[change.journal]))
            try body(try JournalChange(decoding: &reader))
        }
    }
}

extension EncodedChangeSet {
    /// Moves the new bodies of updated records together, which are all that the writer needs.
    static func keepBodies(
        of changes: inout [Change], in buffer: inout ByteBuffer
    ) {
        let updates = changes.indices.filter { changes[$0].kind == .update }
        let order = NumberOrder.sorted(updates.map { UInt64(changes[$0].body.lowerBound) })
        var end = 0
        for index in order.lazy.map({ updates[$0] }) {
            let body = changes[index].body
            trap(unless: body.lowerBound >= end, "the bodies of two records overlap")
            buffer.move(body, to: end)
            changes[index].body = end..<end + body.count
            end += body.count
        }
        buffer.count = end
    }
}

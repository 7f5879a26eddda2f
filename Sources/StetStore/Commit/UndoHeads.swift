import StetLMDB

// The tops of the undo and redo stacks: two revisions per author and scope, in a key of the unnamed
// table. The entries themselves name the steps below them.

/// The tops of an owner's two stacks; 0 where a stack is empty.
package struct UndoHeads: Hashable, Sendable {
    package var undo: Revision
    package var redo: Revision

    package init(undo: Revision = .zero, redo: Revision = .zero) {
        self.undo = undo
        self.redo = redo
    }

    /// Applies a commit of the owner to the stacks; returns the entry below it on its stack.
    ///
    /// - Returns: the entry; 0 for a commit that is on no stack.
    mutating func move(for purpose: CommitPurpose, _ revision: Revision) -> Revision {
        switch purpose.cause {
        case .edit, .revert:
            guard purpose.isUndoable else { return .zero }
            let below = undo
            self = UndoHeads(undo: revision)
            return below
        case .undo:
            let below = redo
            self = UndoHeads(undo: purpose.nextTop, redo: revision)
            return below
        case .redo:
            let below = undo
            self = UndoHeads(undo: revision, redo: purpose.nextTop)
            return below
        case .migration, .import, .trim, .redaction: return .zero
        case .discard(let subject):
            if undo == subject { undo = purpose.nextTop } else { redo = purpose.nextTop }
            return .zero
        }
    }
}

/// The owner of two stacks: an author in a scope.
package struct UndoOwner: Hashable, Sendable {
    package let author: String
    package let scope: String?

    package init(author: String, scope: String?) {
        self.author = author
        self.scope = scope
    }

    /// Creates the owner for the attributes of a commit; nil for commits without an author, which
    /// are on no stack.
    package init?(_ attributes: CommitAttributes) {
        guard let author = attributes.author else { return nil }
        self.init(author: author, scope: attributes.scope)
    }

    private static let prefix = Array("undo.".utf8)

    private func append(to buffer: inout ByteBuffer) {
        buffer.append(shortString: author)
        buffer.append(UInt8(scope == nil ? 0 : 1))
        if let scope { buffer.append(shortString: scope) }
    }

    /// The key of the entry: a digest, because names may be longer than a key.
    private var key: [UInt8] {
        var buffer = ByteBuffer()
        append(to: &buffer)
        var key = ByteBuffer()
        Digest(of: buffer.bytes).append(to: &key)
        return Self.prefix + Array(key.bytes)
    }

    /// Returns the tops of the owner's stacks.
    ///
    /// - Complexity: one read.
    func heads(in transaction: borrowing ReadTransaction) throws -> UndoHeads {
        let value = try key.withUnsafeBytes { try transaction.get($0, in: .unnamed) }
        guard let value else { return UndoHeads() }
        let (owner, heads) = try Self.decode(value)
        guard owner == self else { throw DecodingFailure("the stacks of another author") }
        return heads
    }

    func put(_ heads: UndoHeads, in transaction: borrowing WriteTransaction) throws {
        var value = ByteBuffer()
        value.append(heads.undo.number)
        value.append(heads.redo.number)
        append(to: &value)
        try key.withUnsafeBytes { try transaction.put(value.bytes, for: $0, in: .unnamed) }
    }

    private static func decode(
        _ value: UnsafeRawBufferPointer
    ) throws(DecodingFailure) -> (UndoOwner, UndoHeads) {
        var reader = ByteReader(value)
        let undo = Revision(try reader.read())
        let redo = Revision(try reader.read())
        let author = try reader.readShortString()
        let flag: UInt8 = try reader.read()
        guard flag <= 1 else { throw DecodingFailure("stacks of a later format") }
        let scope = flag == 1 ? try reader.readShortString() : nil
        try reader.expectEnd()
        return (UndoOwner(author: author, scope: scope), UndoHeads(undo: undo, redo: redo))
    }

    /// Returns the tops of the stacks in an entry of the unnamed table; nil for an entry of another
    /// kind.
    static func heads(
        ofEntry key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws -> UndoHeads? {
        key.starts(with: prefix) ? try decode(value).1 : nil
    }

    /// Returns all stacks of a store that are not empty.
    static func all(
        in transaction: borrowing ReadTransaction
    ) throws -> [UndoOwner: UndoHeads] {
        var all: [UndoOwner: UndoHeads] = [:]
        try transaction.scan(.unnamed, KeyRange(prefix: prefix)) { _, value in
            let (owner, heads) = try decode(value)
            if heads != UndoHeads() { all[owner] = heads }
            return true
        }
        return all
    }
}

extension CommitWriter {
    /// Updates the stacks of a change set's author, and sets the entry below it in the envelope.
    func moveStacks(
        _ set: EncodedChangeSet, _ envelope: inout Envelope,
        in transaction: borrowing WriteTransaction
    ) throws {
        guard let owner = UndoOwner(set.attributes) else { return }
        let before = try owner.heads(in: transaction.reading)
        var heads = before
        let purpose = CommitPurpose(
            cause: envelope.cause, isUndoable: envelope.isUndoable, nextTop: set.purpose.nextTop)
        envelope.below = heads.move(for: purpose, envelope.revision)
        if heads != before { try owner.put(heads, in: transaction) }
        envelope.continuesGroup = try isOf(
            set.attributes.group, envelope.below, in: transaction.reading)
    }

    /// Returns whether an entry of a stack belongs to a group; false when it was trimmed.
    private func isOf(
        _ group: UndoGroup?, _ revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> Bool {
        let floor = try JournalFloor.read(in: transaction)?.revision ?? .zero
        guard let group, revision > floor else { return false }
        return try file.journal.description(of: revision, in: transaction).attributes.group == group
    }
}

extension Envelope {
    /// Returns whether the entry can be on a stack whose last entry is `last`, in a journal that
    /// begins after `floor`.
    ///
    /// The stack may end at the entry: the store that made it may have trimmed more than this copy
    /// of the journal, and discarded a step of which it had not everything any more.
    func isAbove(_ last: Revision, _ floor: Revision) -> Bool {
        below == .zero || max(below, floor) == max(last, floor)
    }
}

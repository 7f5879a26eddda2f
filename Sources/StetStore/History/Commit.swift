public import FoundationEssentials

/// The result of a save: the same value for the saver, for observers and in the journal.
///
/// ```swift
/// let commit = try context.save("rate")
/// for change in commit?.changes(of: Article.self) ?? [] {
///     changed += change.changedProperties
/// }
/// ```
public struct Commit: Sendable, Identifiable {
    /// The identity of the commit, known before it was written.
    public let id: CommitID
    /// The author, as set on the context; nil when none was set.
    public let author: String?
    /// The part of the author's work that it belongs to; nil when none was named.
    public let scope: String?
    /// The label; nil when none was given.
    public let label: String?

    /// The group that the commit is undone with; nil when it is in none.
    public let group: UndoGroup?
    /// The durable subscription whose delivery had the commit as its effect; nil for other commits.
    public let subscription: String?
    /// The metadata of the commit, by name.
    public let metadata: [String: String]

    /// The change of the journal that all nodes carry out; nil for other commits.
    let request: JournalRequest?
    package let envelope: Envelope
    package let body: ByteStorage
    /// The change of the schema, encoded; nil except for a migration.
    package let migration: [UInt8]?
    /// The schema with which its values were written.
    package let schema: Schema
    /// The schemas of the store, as known to the reader of the commit.
    package let history: SchemaHistory

    /// The number of the commit.
    public var revision: Revision { envelope.revision }
    /// The cause of the commit.
    public var cause: Cause { envelope.cause }
    /// True when its author can undo it, or redo it when it is an undo.
    ///
    /// `Store.revert` also reverts other commits.
    public var isUndoable: Bool { envelope.isUndoable && author != nil }
    /// The time of the commit, by the clock of the process that saved it.
    ///
    /// A commit is not dated before the previous one: when the clock is behind, the commit gets the
    /// date of the previous one. Only when the dates ahead of the clock begin after a gap of more
    /// than a day, for instance because the clock had jumped ahead and was corrected, is it dated
    /// before them.
    public var time: Date { Date(timeIntervalSinceReferenceDate: envelope.time) }
    /// The number of objects that it inserted, updated or deleted.
    public var changeCount: Int { envelope.changeCount }
    /// SHA-256 over this commit and, through the one before, the whole journal up to it, in
    /// hexadecimal digits.
    ///
    /// Stored elsewhere, it later reveals whether history was rewritten.
    public var hash: String { envelope.hash.hexadecimal }

    package init(
        envelope: Envelope, body: ByteStorage, history: SchemaHistory, store: ObjectID
    ) throws {
        self.envelope = envelope
        self.body = body
        self.history = history
        schema = try history.schema(Int(envelope.schemaRevision))
        id = CommitID(store: store, base: envelope.base, token: envelope.token)
        var reader = ByteReader(body.bytes)
        let attributes = try CommitAttributes(
            decoding: try JournalChange.readBlock(&reader, minimum: 4))
        author = attributes.author
        scope = attributes.scope
        label = attributes.label
        migration = attributes.migration
        group = attributes.group
        subscription = attributes.subscription
        request = attributes.request
        metadata = attributes.metadata
    }

    /// The approximate number of bytes in memory: those of its changes, and of this value with
    /// everything that it refers to.
    var memoryByteCount: Int { body.count + 1_024 }

    /// True when values of the commit were redacted: it cannot be undone, redone or reverted.
    public var isRedacted: Bool { envelope.isRedacted }

    /// Calls `body` for each change, in ascending order of entity and id.
    ///
    /// - Throws: the errors of `body`; `DecodingFailure` when the entry is damaged.
    package func forEachChange(_ body: (JournalChange) throws -> Void) throws {
        var reader = ByteReader(self.body.bytes)
        _ = try JournalChange.readBlock(&reader, minimum: 4)
        for _ in 0..<envelope.changeCount {
            let change = try JournalChange(decoding: &reader)
            guard schema.entities.element(at: change.entity) != nil else {
                throw DecodingFailure("a change of entity \(change.entity), which does not exist")
            }
            try body(change)
        }
        try reader.expectEnd()
    }

    /// Calls `body` as `forEachChange` does, for the objects that can be loaded with a schema:
    /// those whose entity was not removed.
    func forEachChange(
        ofEntitiesIn schema: Schema, _ body: (JournalChange) throws -> Void
    ) throws {
        try forEachChange { change in
            guard let entity = schema.entities.element(at: change.entity) else {
                throw DecodingFailure("a change of entity \(change.entity), which does not exist")
            }
            if !entity.isRemoved { try body(change) }
        }
    }

    /// Reads everything once, so that later reads of these bytes cannot fail.
    package func validate() throws {
        try checkDigest()
        try forEachChange { change in _ = try ObjectChange(change, schema) }
    }

    /// Compares the body with its digest.
    func checkDigest() throws {
        guard try bodyDigest() == envelope.bodyDigest else {
            throw DecodingFailure(
                "the journal entry of revision \(revision) does not match its digest")
        }
    }

    /// Returns the digest of the body, computed from its blocks.
    private func bodyDigest() throws -> Digest {
        // Sized by the body, not by the envelope's count: no block is shorter than its digest.
        var digests = ByteBuffer(capacity: body.count + Digest.byteCount)
        var reader = ByteReader(body.bytes)
        let attributes = try JournalChange.readBlock(
            &reader, minimum: JournalChange.saltOffset + JournalChange.saltByteCount)
        JournalChange.digest(of: attributes).append(to: &digests)
        var isRedacted = false
        for _ in 0..<envelope.changeCount {
            let change = try JournalChange(decoding: &reader)
            isRedacted = isRedacted || change.redaction != nil
            change.digest.append(to: &digests)
        }
        try reader.expectEnd()
        guard isRedacted == envelope.isRedacted else {
            throw DecodingFailure(
                "the journal entry of revision \(revision) is redacted where it should not be, "
                    + "or the other way round")
        }
        return Digest(of: digests.bytes)
    }

    /// The effect of the commit as plain values, with the names that were valid when it was made.
    ///
    /// - Complexity: O(bytes of the commit).
    public var changeSet: ChangeSet {
        var changes: [ObjectChange] = []
        // Cannot throw: this process encoded the bytes, or validated them when it read them.
        try? forEachChange { change in changes.append(try ObjectChange(change, schema)) }
        return ChangeSet(changes: changes)
    }

    /// A filter for commits of the journal; conditions that are nil always match.
    public struct Filter: Sendable {
        /// The author of the commits.
        public var author: String?
        /// The scope of the commits.
        public var scope: String?
        /// The name of the entity of an object that the commits change, which is the name of the
        /// model's class.
        public var entity: String?
        /// The id of an object that the commits change.
        public var object: ObjectID?
        /// A condition for the cause of the commits.
        public var cause: (@Sendable (Cause) -> Bool)?

        /// Creates a filter; by default it matches all commits.
        public init(
            author: String? = nil, scope: String? = nil, entity: String? = nil,
            object: ObjectID? = nil, cause: (@Sendable (Cause) -> Bool)? = nil
        ) {
            self.author = author
            self.scope = scope
            self.entity = entity
            self.object = object
            self.cause = cause
        }

        var isEmpty: Bool {
            author == nil && scope == nil && entity == nil && object == nil && cause == nil
        }
    }
}

extension Commit: Equatable {
    /// Returns whether both are the same commit with the same bytes.
    public static func == (one: Commit, other: Commit) -> Bool {
        one.id == other.id && one.envelope.hash == other.envelope.hash
            && one.body.bytes.hasSameBytes(as: other.body.bytes)
    }
}

extension Commit: CustomStringConvertible {
    /// A line with revision, label, author, the number of changes, and the cause unless it is an
    /// ordinary save.
    public var description: String {
        let name = label.map { " \"\($0)\"" } ?? ""
        let who = author.map { " by \($0)" } ?? ""
        let count = "\(changeCount) change\(changeCount == 1 ? "" : "s")"
        return "commit \(revision)\(name)\(who): \(count)\(cause == .edit ? "" : ", \(cause)")"
    }
}

extension StoreError {
    /// Returns the error for a commit id that another operation has used.
    static func commitIDInUse(by commit: Commit, path: String) -> StoreError {
        StoreError(
            .commitIDInUse, path: path,
            message: "The commit id belongs to commit \(commit.revision), which does something "
                + "else.",
            advice: "Make an id with makeCommitID() for each save, undo, redo and revert.")
    }
}

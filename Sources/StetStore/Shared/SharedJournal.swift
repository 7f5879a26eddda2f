/// A journal outside of the files of its store, which several machines share: it puts the commits
/// of all of them into one order, and keeps them.
///
/// Each machine has the whole store in a file of its own, a *node*, and reads there. A save is
/// appended to the shared journal first, and only if nothing else was appended since; the node's
/// file is a projection of the journal that can be made again. A value represents the journal of
/// one store. Its functions are called from several threads, and block.
///
/// An implementation promises: entries are appended all or none, in the order of their revisions,
/// and only after the head that the caller names; an append that returned true, or whose entries
/// anybody has read, stays until it is trimmed.
public protocol SharedJournal: Sendable {
    /// A name for messages and logs, without credentials.
    var name: String { get }

    /// Returns the head of the journal; nil when there is no store of this name.
    ///
    /// - Throws: `SharedJournalError`.
    func head() throws -> SharedJournalHead?

    /// Makes the journal of a store that is at a head, with a copy of the store's file; returns
    /// false when there is one of this name.
    ///
    /// - Throws: `SharedJournalError`.
    func create(at head: SharedJournalHead, base path: String) throws -> Bool

    /// Appends entries if the journal is at a head, and replaces earlier ones of the same revisions
    /// and hashes, in which values were redacted since; returns false, and changes nothing, when it
    /// is at another head, or has been fenced since.
    ///
    /// Earlier entries that it does not have any more are ignored.
    ///
    /// - Throws: `SharedJournalError`: `.unavailable` when they were not appended, and will not be;
    ///   `.outcomeUnknown` when they may have been.
    func append(
        _ entries: [SharedJournalEntry], replacing earlier: [SharedJournalEntry],
        after head: SharedJournalHead
    ) throws -> Bool

    /// Returns the head after making sure that no append that was begun before will succeed.
    ///
    /// - Throws: `SharedJournalError`.
    func fence() throws -> SharedJournalHead?

    /// Returns the entries after a revision, in order, without gaps: at least one if there is one,
    /// and no more when they have `byteLimit` bytes together.
    ///
    /// - Throws: `SharedJournalError`.
    func entries(after revision: Revision, byteLimit: Int) throws -> [SharedJournalEntry]

    /// Replaces the copy of the store's file by one with the state at a revision, unless it is
    /// that of this revision or a later one, and removes the entries up to another one; all or
    /// nothing.
    ///
    /// Nodes append while it works.
    ///
    /// - Parameters:
    ///   - path: The new copy.
    ///   - head: The last commit in it, which the journal has.
    ///   - last: The last entry to remove, at most that of the copy; 0 for none.
    /// - Throws: `SharedJournalError`; nothing was changed, unless the connection was lost: it may
    ///   be called again.
    func replaceBase(
        by path: String, at head: SharedJournalHead, removingEntriesThrough last: Revision
    ) throws

    /// Calls `receive` with the pieces of the copy of the store's file, in order; returns false
    /// when there is no store of this name.
    ///
    /// - Throws: `SharedJournalError`, and the errors of `receive`.
    func readBase(_ receive: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool

    /// Removes the journal if it is at a head; returns false when it is at another one.
    ///
    /// - Throws: `SharedJournalError`.
    func remove(at head: SharedJournalHead) throws -> Bool

    /// Calls `wake` after an append of anybody, until the returned object is released; returns nil
    /// when the journal cannot do that, and is asked repeatedly instead.
    ///
    /// A call may be missing, or in excess: it is a hint.
    func listen(_ wake: @escaping @Sendable () -> Void) -> AnyObject?
}

extension SharedJournal {
    /// Returns nil: the journal is asked repeatedly.
    public func listen(_ wake: @escaping @Sendable () -> Void) -> AnyObject? { nil }
}

/// The last entry of a shared journal.
public struct SharedJournalHead: Hashable, Sendable {
    /// The id of the store.
    public let store: ObjectID
    /// The revision of the last entry; 0 when there is none.
    public var revision: Revision
    /// The hash of the last entry, 32 bytes; zeros when there is none.
    public var hash: [UInt8]
    /// A number that each fence changes to one that it never was, even if the journal has lost
    /// fences since.
    public var fence: Int64

    /// Creates a head.
    public init(store: ObjectID, revision: Revision, hash: [UInt8], fence: Int64 = 0) {
        self.store = store
        self.revision = revision
        self.hash = hash
        self.fence = fence
    }

    /// Returns whether another head is of the same commit.
    func isSameCommit(_ other: SharedJournalHead) -> Bool {
        (store, revision, hash) == (other.store, other.revision, other.hash)
    }
}

/// An entry of a shared journal: bytes that only Stet reads.
public struct SharedJournalEntry: Hashable, Sendable {
    /// The revision of the entry.
    public let revision: Revision
    /// The hash of the entry, 32 bytes; it covers all entries before it.
    public let hash: [UInt8]
    /// The entry itself.
    public let bytes: [UInt8]

    /// Creates an entry from what a shared journal has kept.
    public init(revision: Revision, hash: [UInt8], bytes: [UInt8]) {
        self.revision = revision
        self.hash = hash
        self.bytes = bytes
    }
}

/// The error of a shared journal that could not be read or appended to.
public struct SharedJournalError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error.
    public enum Code: Hashable, Sendable {
        /// The journal cannot be reached, or refuses the work; nothing was changed.
        case unavailable
        /// The connection was lost while entries were appended: they may have been.
        case outcomeUnknown
        /// The journal has something that is no journal.
        case damaged
    }

    /// The kind of the error.
    public let code: Code
    /// A sentence that says what failed, without credentials.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}

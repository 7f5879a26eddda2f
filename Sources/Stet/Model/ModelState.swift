public import StetStore

/// What an object knows of its place in a context.
///
/// Used by the code that `@Model` writes.
///
/// It is part of the object and dies with it: its `deinit` takes the object out of the identity
/// map.
public struct ModelState: ~Copyable {
    @usableFromInline
    struct Flags: OptionSet {
        @usableFromInline let rawValue: UInt16
        @usableFromInline init(rawValue: UInt16) { self.rawValue = rawValue }

        /// Among the pending changes of the context, which then holds the object.
        @usableFromInline static var pending: Flags { Flags(rawValue: 1) }
        /// Inserted and not saved yet.
        @usableFromInline static var inserted: Flags { Flags(rawValue: 2) }
        /// Deleted, saved or not.
        @usableFromInline static var deleted: Flags { Flags(rawValue: 4) }
        /// Pending, and its next edit must be noticed: set while a save is prepared.
        @usableFromInline static var watched: Flags { Flags(rawValue: 8) }
        /// Made from its record, and `didFetch` has not been called yet.
        @usableFromInline static var fetched: Flags { Flags(rawValue: 16) }
        /// Its next edit needs a look.
        @usableFromInline static var guarded: Flags { Flags(rawValue: 4 | 8) }
    }

    /// `.none` until somebody asks for it: an object that is read needs no new one.
    @usableFromInline var id: ObjectID
    /// nil before `insert`, and when the insertion was rolled back.
    @usableFromInline unowned(unsafe) var table: ObjectTable?
    /// The revision of the object's last change that its values show; 0 while it is not stored.
    @usableFromInline var revision: Revision
    /// The position among the pending changes; -1 for an object without any.
    @usableFromInline var pendingIndex: Int32
    @usableFromInline var flags: Flags
    /// The slot that refers to `attached`, or what else that is; see `attachment`.
    @usableFromInline var attachedSlot: Int16
    /// What is attached to the object; a reference that is counted by hand, because the object must
    /// let go of it before it dies.
    @usableFromInline var attached: Unmanaged<AnyObject>?

    /// The state of a new object.
    @inlinable
    public init() {
        id = .none
        table = nil
        revision = .zero
        pendingIndex = -1
        flags = []
        attachedSlot = -1
        attached = nil
    }

    /// The state of an object that was read.
    @inlinable
    init(id: ObjectID, table: ObjectTable, revision: Revision) {
        self.id = id
        self.table = table
        self.revision = revision
        pendingIndex = -1
        flags = []
        attachedSlot = -1
        attached = nil
    }

    /// True when an edit needs no further look: the object is in no context, or pending and not
    /// guarded.
    @inlinable
    var isFreelyEditable: Bool {
        table == nil || (flags.contains(.pending) && flags.isDisjoint(with: .guarded))
    }

    deinit {
        table?.forget(id, pendingIndex)
        // A chain of objects in no context is released without a deep stack.
        if attached != nil { releaseAttachment() }
    }
}

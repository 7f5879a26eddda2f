public import StetStore

/// The state of an object in its context.
///
/// Used by the code that `@Model` writes.
///
/// It is part of the object and dies with it: its `deinit` removes the object from the identity
/// map.
public struct _ModelState: ~Copyable {
    @usableFromInline
    struct Flags: OptionSet {
        @usableFromInline let rawValue: UInt16
        @usableFromInline init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The object is among the pending changes of the context, which then retains it.
        @usableFromInline static var pending: Flags { Flags(rawValue: 1) }
        /// The object is inserted and not saved yet.
        @usableFromInline static var inserted: Flags { Flags(rawValue: 2) }
        /// The object is deleted, whether that is saved or not.
        @usableFromInline static var deleted: Flags { Flags(rawValue: 4) }
        /// The object is pending and its next edit must be noticed: set while a save is prepared.
        @usableFromInline static var watched: Flags { Flags(rawValue: 8) }
        /// The object was made from its record, and `didFetch` has not been called yet.
        @usableFromInline static var fetched: Flags { Flags(rawValue: 16) }
        /// The next edit of the object must be checked: it is deleted or watched.
        @usableFromInline static var guarded: Flags { Flags(rawValue: 4 | 8) }
    }

    /// The id; `.none` until it is first needed, as an object made from its record brings its own.
    @usableFromInline var id: ObjectID
    /// The table of the context; nil before `insert`, and after the insertion was rolled back.
    @usableFromInline unowned(unsafe) var table: _ObjectTable?
    /// The revision of the object's last change that its values show; 0 while it is not stored.
    @usableFromInline var revision: Revision
    /// The position among the pending changes; -1 for an object without any.
    @usableFromInline var pendingIndex: Int32
    @usableFromInline var flags: Flags
    /// The slot that refers to `attached`, or a marker for nothing or several; see `attachment`.
    @usableFromInline var attachedSlot: Int16
    /// The attached object or objects: a reference that is counted manually, because it must be
    /// released before the object dies.
    @usableFromInline var attached: Unmanaged<AnyObject>?

    /// Creates the state of a new object.
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

    /// Creates the state of an object that was made from its record.
    @inlinable
    init(id: ObjectID, table: _ObjectTable, revision: Revision) {
        self.id = id
        self.table = table
        self.revision = revision
        pendingIndex = -1
        flags = []
        attachedSlot = -1
        attached = nil
    }

    /// True when an edit needs no check: the object is in no context, or pending and not guarded.
    @inlinable
    var isFreelyEditable: Bool {
        table == nil || (flags.contains(.pending) && flags.isDisjoint(with: .guarded))
    }

    deinit {
        table?.forget(id, pendingIndex)
        // Releases a chain of objects without recursion, which could overflow the stack.
        if attached != nil { releaseAttachment() }
    }
}

// MARK: - Reading the state of an object

extension Model {
    /// Calls `body` with the state in place.
    ///
    /// The accessor that only reads the property copies the whole state, into memory that it
    /// allocates for each access; the one that changes it returns its address.
    @inlinable
    func _$inState<Result>(_ body: (inout _ModelState) -> Result) -> Result { body(&_$state) }

    @inlinable var _$flags: _ModelState.Flags { _$inState { $0.flags } }
    @inlinable var _$isAttached: Bool { _$inState { $0.attached != nil } }
    var _$table: _ObjectTable? { _$inState { $0.table } }
    var _$revision: Revision { _$inState { $0.revision } }
    var _$pendingIndex: Int32 { _$inState { $0.pendingIndex } }
}

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
        @usableFromInline let rawValue: UInt8
        @usableFromInline init(rawValue: UInt8) { self.rawValue = rawValue }

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

    // 40 bytes. Memory is allocated in steps of 16 bytes, and objects are many.

    /// The id; `.none` until it is first needed, as an object made from its record brings its own.
    @usableFromInline var id: ObjectID
    /// The table, and the lower half of the place among the pending changes.
    @usableFromInline var tableWord: TaggedAddress
    /// The attached object, and the upper half of the place among the pending changes.
    @usableFromInline var attachedWord: TaggedAddress
    @usableFromInline var lowerRevision: UInt32
    @usableFromInline var upperRevision: UInt16
    @usableFromInline var flags: Flags
    /// The slot that refers to `attached`, or a marker for nothing or several; see `attachment`.
    @usableFromInline var attachedSlot: UInt8

    /// Creates the state of a new object.
    @inlinable
    public init() { self.init(id: .none, tableWord: .none, revision: .zero) }

    /// Creates the state of an object that was made from its record.
    @inlinable
    init(id: ObjectID, table: _ObjectTable, revision: Revision) {
        let address = Unmanaged.passUnretained(table).toOpaque()
        self.init(id: id, tableWord: TaggedAddress(address), revision: revision)
    }

    @inlinable
    init(id: ObjectID, tableWord: TaggedAddress, revision: Revision) {
        self.id = id
        self.tableWord = tableWord
        attachedWord = .none
        lowerRevision = UInt32(truncatingIfNeeded: revision.number)
        upperRevision = UInt16(truncatingIfNeeded: revision.number >> 32)
        flags = []
        attachedSlot = Self.noSlot
    }

    /// The values of `attachedSlot` for an object with nothing attached, and for one whose
    /// `attached` is an `Attachments`.
    @inlinable static var noSlot: UInt8 { 255 }
    @inlinable static var severalSlots: UInt8 { 254 }

    /// The table of the context; nil before `insert`, and after the insertion was rolled back.
    ///
    /// The context retains it.
    @inlinable
    var table: _ObjectTable? {
        get {
            guard let address = tableWord.address else { return nil }
            return Unmanaged<_ObjectTable>.fromOpaque(address).takeUnretainedValue()
        }
        set { tableWord.address = newValue.map { Unmanaged.passUnretained($0).toOpaque() } }
    }

    /// Returns whether the object is in a context.
    @inlinable
    func isIn(_ core: AnyObject) -> Bool {
        guard let address = tableWord.address else { return false }
        return Unmanaged<_ObjectTable>.fromOpaque(address)
            ._withUnsafeGuaranteedRef { $0.core === core }
    }

    /// The revision of the object's last change that its values show; 0 while it is not stored.
    @inlinable
    var revision: Revision {
        get { Revision(UInt64(upperRevision) << 32 | UInt64(lowerRevision)) }
        set {
            lowerRevision = UInt32(truncatingIfNeeded: newValue.number)
            upperRevision = UInt16(truncatingIfNeeded: newValue.number >> 32)
        }
    }

    /// The position among the pending changes; -1 for an object without any.
    @inlinable
    var pendingIndex: Int32 {
        get {
            let place = UInt32(attachedWord.tag) << 16 | UInt32(tableWord.tag)
            return Int32(bitPattern: place &- 1)
        }
        set {
            let place = UInt32(bitPattern: newValue) &+ 1
            tableWord.tag = UInt16(truncatingIfNeeded: place)
            attachedWord.tag = UInt16(truncatingIfNeeded: place >> 16)
        }
    }

    /// The attached object or objects: a reference that is counted manually, because it must be
    /// released before the object dies.
    @usableFromInline
    var attached: Unmanaged<AnyObject>? {
        @inlinable get { attachedWord.address.map { Unmanaged.fromOpaque($0) } }
        set {
            let address = newValue?.toOpaque()
            if let address { TaggedAddress.check(address) }
            attachedWord.address = address
        }
    }

    /// True when an edit needs no check: the object is in no context, or pending and not guarded.
    @inlinable
    var isFreelyEditable: Bool {
        tableWord.address == nil || (flags.contains(.pending) && flags.isDisjoint(with: .guarded))
    }

    deinit {
        if let address = tableWord.address {
            // The context retains the table; a retain here would be one for each object.
            Unmanaged<_ObjectTable>.fromOpaque(address)
                ._withUnsafeGuaranteedRef { $0.forget(id, pendingIndex) }
        }
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

    /// The place of the id in the object, which is that of all objects of the class.
    @inlinable var _$idOffset: Int {
        let object = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        return _$inState { state in
            withUnsafePointer(to: &state.id) { UnsafeRawPointer($0) - object }
        }
    }
    @inlinable var _$flags: _ModelState.Flags { _$inState { $0.flags } }
    @inlinable var _$isAttached: Bool { _$inState { $0.attached != nil } }
    var _$table: _ObjectTable? { _$inState { $0.table } }
    var _$revision: Revision { _$inState { $0.revision } }
    var _$pendingIndex: Int32 { _$inState { $0.pendingIndex } }
}

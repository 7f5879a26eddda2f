public import FoundationEssentials
public import StetStore

/// A class whose objects a store keeps.
///
/// Do not conform to it by hand: `@Model` writes everything that begins with an underscore.
///
/// The default values of stored properties are evaluated whenever an object is made, including from
/// its record. A `deinit` of the class must not use the object's context.
///
/// Objects are not `Sendable`: they belong to the isolation of their context. Send ids and
/// snapshots elsewhere instead.
public protocol Model: AnyObject, Hashable, Identifiable, SendableMetatype, _OptionalStorable,
    `RawAttribute, CodableAttribute, @Embedded or @Model`
where
    ID == ObjectID, _OptionalStorage == _Reference<Self>, _OptionalSnapshotValue == ObjectID?,
    _OptionalField == Fields?
{
    /// The values of an object at a moment: a field for each attribute, and an id for each to-one
    /// reference.
    associatedtype Snapshot: _ModelSnapshot
    /// The properties as queries name them; written by `@Model`.
    associatedtype Fields: _ModelFields where Fields.Object == Self

    /// The validation rules written in code, in addition to those of the attributes; none by
    /// default.
    ///
    /// They run before a save, on the isolation of the context, and see values, not objects.
    static var validators: Validators<Self> { get }

    /// The result of `didInsert`: `Void` in a model that implements it.
    associatedtype _DidInsert
    /// The result of `willSave`: `Void` in a model that implements it.
    associatedtype _WillSave
    /// The result of `willDelete`: `Void` in a model that implements it.
    associatedtype _WillDelete
    /// The result of `didFetch`: `Void` in a model that implements it.
    associatedtype _DidFetch

    /// Called once after the object was inserted into a context, by `insert` or because an object
    /// refers to it; write `func didInsert() { … }`.
    ///
    /// The object and everything reachable from it are in the context, so defaults can be taken
    /// from it (`author = context?.author`). Its changes are part of the insertion and are rolled
    /// back with it; it is called again only if the object is then inserted again. Fetching or
    /// restoring an object does not count as an insertion.
    ///
    /// It may edit, insert and delete. Hooks may cause other hooks to run, to a depth of 64; beyond
    /// that, the next save is refused. Saving, refreshing, rolling back, restoring or beginning an
    /// `edit` in it traps.
    @discardableResult
    func didInsert() -> _DidInsert

    /// Called before a save for each object that changed, on the isolation of the context; write
    /// `func willSave() { … }`.
    ///
    /// Its changes are part of the save. When the object changes again, it is called again, at most
    /// 8 times in all; an object that changes in every round makes the save fail with an error that
    /// names it. It is not called for deleted objects.
    ///
    /// It may edit, insert and delete. Saving, validating, refreshing, rolling back, restoring or
    /// beginning an `edit` in it traps.
    @discardableResult
    func willSave() -> _WillSave

    /// Called once for each deletion, immediately, before the object is marked as deleted; write
    /// `func willDelete() { … }`.
    ///
    /// The object can still be read and edited, and the objects that it refers to still exist. Its
    /// changes are rolled back with the deletion; the next deletion of the object then calls it
    /// again.
    ///
    /// It may edit, insert and delete, also in a cycle: deleting an object whose deletion has begun
    /// does nothing. Hooks may cause other hooks to run, to a depth of 64; beyond that, the next
    /// save is refused. Saving, refreshing, rolling back, restoring or beginning an `edit` in it
    /// traps.
    @discardableResult
    func willDelete() -> _WillDelete

    /// Called once after the object was made from its record; write `func didFetch() { … }`.
    ///
    /// It is part of a read, wherever an object is read, and may only read and set `@Transient`
    /// properties. Its edits, insertions and deletions are refused and become violations at the
    /// next save, except for objects that already have pending changes. The `didFetch` of objects
    /// that it reads is called after it has returned. It is not called when a live object follows
    /// the store. Saving, refreshing, rolling back, restoring or beginning an `edit` in it traps.
    @discardableResult
    func didFetch() -> _DidFetch

    var _$state: _ModelState { get set }
    var _$snapshot: Snapshot { get }
    func _$assign(_ snapshot: Snapshot)
    static var _$description: _ModelDescription<Self> { get }
    static var _$name: String { get }
    static var _$propertyCount: Int { get }
    /// Reads the values of an object that is in no context.
    init(_$reader: inout RecordReader) throws(_UnreadableValue)
    /// Returns the id that the reference in a slot refers to; `.none` for nil and for attributes.
    func _$reference(in slot: Slot) -> ObjectID
    /// Sets the target of the reference in a slot; this does not count as an edit.
    func _$setReference(in slot: Slot, to id: ObjectID)
    func _$encode(into writer: inout RecordWriter)
    func _$normalize(since base: Snapshot?)
    func _$stamp(_ date: Date, isInsert: Bool)

    // Requirements whose default implementations are specialised for each model.
    func _$show(flags: UInt8)
    func _$capture() -> AnyObject
    func _$restore(_ capture: AnyObject)
    func _$capture(after captured: _CapturedObjects?, upTo count: Int) -> _CapturedObjects?
    static func _$restore(
        _ captured: _CapturedObjects, in core: AnyObject, _ body: (Int) -> Void)
    func _$normalize(sinceCapture capture: AnyObject?)
    static func _$encode(capture: AnyObject, into writer: inout RecordWriter)
    static func _$make(
        _ id: ObjectID, _ body: UnsafeRawBufferPointer, _ table: _ObjectTable, _ revision: Revision
    ) throws -> UnsafeRawPointer
}

/// The values of an object at a moment.
///
/// `@Model` writes the type, as `Snapshot` of the model.
public protocol _ModelSnapshot: Sendable, Codable, Equatable, Identifiable where ID == ObjectID {
    init(_$id: ObjectID, reader: inout RecordReader) throws(_UnreadableValue)
    func _$encode(into writer: inout RecordWriter)
}

extension Model {
    /// The identity of the object, which it has from the first moment and which never changes.
    ///
    /// Ids ascend in the order in which objects are inserted, or in which their id is first read
    /// before that.
    @inlinable
    public var id: ObjectID {
        let id = _$inState { $0.id }
        return id == .none ? _$makeID() : id
    }

    @usableFromInline
    func _$makeID() -> ObjectID {
        let id = ObjectID()
        _$state.id = id
        return id
    }

    /// The context that the object belongs to; nil before `insert`, and after its insertion was
    /// rolled back.
    ///
    /// A context lives as long as any of its objects.
    public var context: ManagedContext? { _$core?.context }

    /// True from the call of `delete` on; the object keeps its last values.
    ///
    /// A rollback or restore that brings the object back makes it false again.
    public var isDeleted: Bool { _$flags.contains(.deleted) }

    /// True while the object is inserted and not saved yet.
    public var isInserted: Bool { _$flags.contains(.inserted) }

    /// True while the object has edits that are not saved.
    public var hasChanges: Bool { _$flags.contains(.pending) }

    /// The object's current values, which can be kept and sent anywhere.
    public var snapshot: Snapshot { _$snapshot }

    /// The default: no validation rules in code.
    public static var validators: Validators<Self> { Validators() }

    /// Returns whether two objects are the same instance.
    public static func == (one: Self, other: Self) -> Bool { one === other }

    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

// MARK: - What the generated accessors call

extension Model {
    /// Registers the object with its context before its first edit; returns false when it must not
    /// be edited.
    @inlinable
    public func _$willChange() -> Bool {
        if _$inState({ $0.isFreelyEditable }) { return true }
        return _$beginChange()
    }

    @usableFromInline
    func _$beginChange() -> Bool {
        guard let core = _$core else { return true }
        return core.willChange(self)
    }
}

// MARK: - What a context does with an object whose class it does not know

extension Model {
    /// Makes an object from the body of its record, and enters it into the identity map.
    ///
    /// The caller owns one reference to it.
    @inlinable
    public static func _$make(
        _ id: ObjectID, _ body: UnsafeRawBufferPointer, _ table: _ObjectTable, _ revision: Revision
    ) throws -> UnsafeRawPointer {
        let object = try _$object(id, body)
        object._$state = _ModelState(id: id, table: table, revision: revision)
        if _$hasDidFetch { object._$state.flags = .fetched }
        if table.hasPositions { try table.readPositions(of: object, body) }
        let pointer = Unmanaged.passUnretained(object).toOpaque()
        if let present = table.insert(id, pointer, idOffset: object._$idOffset) {
            // A property's default value fetched the same object while this one was being made.
            object._$state.table = nil
            let alive = Unmanaged<Self>.fromOpaque(present).takeUnretainedValue()
            return UnsafeRawPointer(Unmanaged.passRetained(alive).toOpaque())
        }
        return UnsafeRawPointer(Unmanaged.passRetained(object).toOpaque())
    }

    /// Sets the flags, and with them `isDeleted`.
    @inlinable
    public func _$show(flags: UInt8) {
        _$state.flags = _ModelState.Flags(rawValue: flags)
    }

    /// Returns an object with the values of a body; it is in no context, and has no id yet.
    ///
    /// - Throws: as `_$read`.
    @inlinable
    static func _$object(_ id: ObjectID, _ body: UnsafeRawBufferPointer) throws -> Self {
        try _$read(id, body) { reader throws(_UnreadableValue) in try Self(_$reader: &reader) }
    }

    /// Reads the values of a body.
    ///
    /// - Throws: `DecodingFailure` when the body is damaged, `StoreError` when a value is one that
    ///   its type cannot represent.
    @inlinable
    static func _$read<Values>(
        _ id: ObjectID, _ body: UnsafeRawBufferPointer,
        _ read: (inout RecordReader) throws(_UnreadableValue) -> Values
    ) throws -> Values {
        var reader = try RecordReader(body: body, propertyCount: _$propertyCount)
        if let labels = _$description.sealLabels { reader.expect(labels, of: id) }
        do throws(_UnreadableValue) {
            let values = try read(&reader)
            if !reader.isDamaged { return values }
        } catch {
            if !reader.isDamaged { throw _$unreadable(error, id, body) }
        }
        throw _ObjectTable.damage(id, _$name)
    }

    @usableFromInline
    static func _$unreadable(
        _ problem: _UnreadableValue, _ id: ObjectID, _ body: UnsafeRawBufferPointer
    ) -> any Error {
        let entity = _$description.entity
        guard (try? RecordBody(body, of: entity).value(problem.slot)) != nil else {
            return _ObjectTable.damage(id, _$name)
        }
        return StoreError(
            .unreadableValue,
            message: "\(_$name).\(entity.properties[problem.slot].name) of object \(id) has "
                + "a value that is not valid for its type.",
            advice: "Newer code may have written it: use that code, or add the value to the "
                + "type. 'stet show' prints it.")
    }

    /// Captures the values and what is attached to the object.
    @inlinable
    public func _$capture() -> AnyObject { ObjectCapture(self) }

    /// Restores the values and attachments that `_$capture` captured.
    @inlinable
    public func _$restore(_ capture: AnyObject) {
        unsafeDowncast(capture, to: ObjectCapture<Self>.self).values.restore(self)
    }

    /// Captures the object behind others; returns new captured objects, up to a number of them,
    /// that begin with it where it does not belong to the others.
    @inlinable
    public func _$capture(
        after captured: _CapturedObjects?, upTo count: Int
    ) -> _CapturedObjects? {
        // Few objects at first: those of several models may alternate.
        var capacity = 1
        if let captured, type(of: captured) == CapturedObjects<Self>.self {
            let captured = unsafeDowncast(captured, to: CapturedObjects<Self>.self)
            if !captured.isFull {
                captured.append(self)
                return nil
            }
            capacity = min(captured.capacity * 4, count, CapturedObjects<Self>.mostCount)
        }
        let captured = CapturedObjects<Self>(capacity: capacity)
        captured.append(self)
        return captured
    }

    /// Restores the values and flags of captured objects of the model that are in a context; calls
    /// `body` with the place of each that does not have the captured revision.
    @inlinable
    public static func _$restore(
        _ captured: _CapturedObjects, in core: AnyObject, _ body: (Int) -> Void
    ) {
        unsafeDowncast(captured, to: CapturedObjects<Self>.self).restore(in: core, body)
    }

    /// Normalises the values that differ from the captured ones.
    @inlinable
    public func _$normalize(sinceCapture capture: AnyObject?) {
        _$normalize(
            since: capture.map { unsafeDowncast($0, to: ObjectCapture<Self>.self).values.snapshot })
    }

    /// Writes the captured values.
    @inlinable
    public static func _$encode(capture: AnyObject, into writer: inout RecordWriter) {
        unsafeDowncast(capture, to: ObjectCapture<Self>.self).values.write(to: &writer)
    }
}

/// Assigns a value to a stored property unless it has the same bytes: comparing them is cheaper
/// than counting references.
///
/// Used by the code that `@Model` writes.
@inlinable
public func _assign<Storage>(_ place: inout Storage, _ value: Storage) {
    let isSame = withUnsafeBytes(of: place) { old in
        withUnsafeBytes(of: value) { new in
            var offset = 0
            while offset &+ 8 <= MemoryLayout<Storage>.size {
                let one = old.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                if one != new.loadUnaligned(fromByteOffset: offset, as: UInt64.self) {
                    return false
                }
                offset &+= 8
            }
            while offset < MemoryLayout<Storage>.size {
                if old[offset] != new[offset] { return false }
                offset &+= 1
            }
            return true
        }
    }
    if !isSame { place = value }
}

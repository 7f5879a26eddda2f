import StetStore

/// The captured values of one object, as a reference that code for all models passes on.
@usableFromInline
final class ObjectCapture<M: Model> {
    @usableFromInline let values: CapturedValues<M>

    @inlinable
    init(_ object: M) { values = CapturedValues(object) }

    init(_ values: consuming CapturedValues<M>) { self.values = values }

    /// Creates the capture of an object that shows a snapshot, with the attachment of another
    /// state.
    init(
        _ snapshot: M.Snapshot, attached: AnyObject? = nil,
        _ attachedSlot: UInt8 = _ModelState.noSlot
    ) {
        values = CapturedValues(snapshot, attached: attached, attachedSlot)
    }
}

/// The owner that a reference refers to, and the reference's position among the owner's members.
struct ReferencePlace: Hashable {
    /// The owner; `.none` for nil.
    var owner: ObjectID
    /// The position; nil where the members have no order.
    var position: ListPosition?

    /// The place of a reference that is nil.
    static var none: ReferencePlace { ReferencePlace(owner: .none, position: nil) }
}

/// The values of an object at a moment, with its attachment: the state that is restored when its
/// edits are discarded.
///
/// It cannot be copied, because copies count the references of all values.
@usableFromInline
struct CapturedValues<M: Model>: ~Copyable {
    @usableFromInline let snapshot: M.Snapshot
    /// The attachment, as in the state of the object; it retains the uninserted objects that the
    /// object referred to.
    @usableFromInline let attached: AnyObject?
    @usableFromInline let attachedSlot: UInt8

    @inlinable
    init(_ object: M) {
        snapshot = object._$snapshot
        (attached, attachedSlot) = object._$inState {
            ($0.attached?.takeUnretainedValue(), $0.attachedSlot)
        }
    }

    /// Creates the values of an object that shows a snapshot, with the attachment of another
    /// state.
    init(_ snapshot: M.Snapshot, attached: AnyObject?, _ attachedSlot: UInt8) {
        self.snapshot = snapshot
        self.attached = attached
        self.attachedSlot = attachedSlot
    }

    /// Returns the same values once more.
    func copy() -> CapturedValues { CapturedValues(snapshot, attached: attached, attachedSlot) }

    private var attachment: Attachment { Attachment(attached, attachedSlot) }

    @inlinable
    func restore(_ object: M) {
        object._$assign(snapshot)
        if attached != nil || object._$isAttached { restoreAttachment(of: object) }
    }

    @usableFromInline
    func restoreAttachment(of object: M) { object._$attach(attachment) }

    @inlinable
    func write(to writer: inout RecordWriter) {
        if attached != nil { writePositions(to: &writer) }
        snapshot._$encode(into: &writer)
    }

    @usableFromInline
    func writePositions(to writer: inout RecordWriter) { writer.positions = attachment.positions }

    /// Returns the owner and position that the captured reference in a slot has.
    func place(in slot: Slot) -> ReferencePlace {
        guard let field = M._$description.referenceField(in: slot),
            let owner = snapshot[keyPath: field]
        else { return .none }
        return ReferencePlace(owner: owner, position: attachment.position(in: slot))
    }
}

extension Model {
    /// Returns the current owner and position of the reference in a slot.
    func _$place(in slot: Slot) -> ReferencePlace {
        let owner = _$reference(in: slot)
        if owner == .none { return .none }
        return ReferencePlace(owner: owner, position: _$attachment.position(in: slot))
    }

    /// Returns the owner and position that the reference in a slot had when it was captured.
    static func _$place(in slot: Slot, of capture: AnyObject) -> ReferencePlace {
        unsafeDowncast(capture, to: ObjectCapture<Self>.self).values.place(in: slot)
    }

    /// Writes the current values.
    func _$write(to writer: inout RecordWriter) {
        if _$isAttached { writer.positions = _$attachment.positions }
        _$encode(into: &writer)
    }

    /// Returns the current values as stored bytes.
    ///
    /// - Throws: `EncodingFailure` for a value that cannot be stored.
    func _$body() throws(EncodingFailure) -> EncodedBody {
        try EncodedBody(propertyCount: Self._$propertyCount) { _$write(to: &$0) }
    }

    /// Returns captured values as stored bytes.
    ///
    /// - Throws: `EncodingFailure` for a value that cannot be stored.
    static func _$body(of capture: AnyObject) throws(EncodingFailure) -> EncodedBody {
        try EncodedBody(propertyCount: _$propertyCount) {
            _$encode(capture: capture, into: &$0)
        }
    }
}

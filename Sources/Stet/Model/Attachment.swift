import Glibc
import StetStore

/// The objects and positions that belong to an object beside its values: the uninserted objects
/// that it refers to, the members of an uninserted object, and the positions of its references.
///
/// Most objects have no attachment. One reference to an uninserted object, which many new objects
/// have, needs no memory of its own.
struct Attachment {
    fileprivate enum Content {
        case nothing
        /// The uninserted object that one slot refers to.
        case target(AnyObject, slot: Slot)
        case several(Attachments)
    }

    fileprivate var content = Content.nothing

    /// Creates an empty attachment.
    init() {}

    fileprivate init(_ content: Content) { self.content = content }

    /// Creates an attachment from the fields of an object's state.
    init(_ attached: AnyObject?, _ slot: UInt8) {
        guard let attached else { return }
        content =
            slot == _ModelState.severalSlots
            ? .several(unsafeDowncast(attached, to: Attachments.self))
            : .target(attached, slot: Slot(slot))
    }

    var isEmpty: Bool { if case .nothing = content { true } else { false } }

    /// Returns the position of the reference in a slot; nil when it has none.
    func position(in slot: Slot) -> ListPosition? {
        positions.first { $0.slot == slot }?.position
    }

    var positions: [(slot: Slot, position: ListPosition)] {
        if case .several(let all) = content { all.positions } else { [] }
    }

    /// The uninserted objects that slots refer to.
    var targets: [(slot: Slot, object: AnyObject)] {
        switch content {
        case .nothing: []
        case .target(let object, let slot): [(slot, object)]
        case .several(let all): all.targets
        }
    }

    /// The members of an uninserted object, by relationship.
    var members: [(relationship: Int, objects: [AnyObject])] {
        if case .several(let all) = content { all.members } else { [] }
    }
}

/// Several attachments of an object; immutable while a capture shares them.
private final class Attachments {
    var targets: [(slot: Slot, object: AnyObject)]
    var members: [(relationship: Int, objects: [AnyObject])]
    var positions: [(slot: Slot, position: ListPosition)]

    init(_ attachment: Attachment) {
        targets = attachment.targets
        members = attachment.members
        positions = attachment.positions
    }

    var isEmpty: Bool { targets.isEmpty && members.isEmpty && positions.isEmpty }
}

// MARK: - In the state of an object

extension _ModelState {
    /// The object's attachment.
    var attachment: Attachment { Attachment(attached?.takeUnretainedValue(), attachedSlot) }

    /// Replaces the object's attachment.
    mutating func attach(_ attachment: Attachment) {
        let old = attached
        attached = nil
        attachedSlot = Self.noSlot
        switch attachment.content {
        case .nothing: break
        case .target(let object, let slot):
            attached = Unmanaged.passRetained(object)
            attachedSlot = UInt8(slot.index)
        case .several(let all):
            attached = Unmanaged.passRetained(all)
            attachedSlot = Self.severalSlots
        }
        old?.release()
    }

    private mutating func change(_ change: (Attachments) -> Void) {
        var all: Attachments
        if attachedSlot == Self.severalSlots, let object = attached?.takeRetainedValue() {
            attached = nil
            all = unsafeDowncast(object, to: Attachments.self)
            if !isKnownUniquelyReferenced(&all) { all = Attachments(Attachment(.several(all))) }
        } else {
            all = Attachments(attachment)
            attach(Attachment())
        }
        change(all)
        if !all.isEmpty { attach(Attachment(.several(all))) }
    }

    // MARK: Targets in no context

    /// Returns the uninserted object that a slot refers to; nil when there is none.
    @inlinable
    func target(in slot: Slot) -> AnyObject? {
        attached == nil ? nil : attachedTarget(in: slot)
    }

    @usableFromInline
    func attachedTarget(in slot: Slot) -> AnyObject? {
        attachment.targets.first { $0.slot == slot }?.object
    }

    /// Retains the uninserted object that a slot refers to; nil releases it.
    @usableFromInline
    mutating func setTarget(_ target: AnyObject?, in slot: Slot) {
        if attached == nil {
            guard let target else { return }
            if slot.index < Int(Self.severalSlots) {
                return attach(Attachment(.target(target, slot: slot)))
            }
        }
        change { all in
            all.targets.removeAll { $0.slot == slot }
            if let target { all.targets.append((slot, target)) }
        }
    }

    /// Removes and returns the uninserted object that a slot refers to; nil when nothing is
    /// attached, or more than that.
    mutating func takeOnlyTarget() -> AnyObject? {
        guard attachedSlot < Self.severalSlots, let target = attached?.takeRetainedValue() else {
            return nil
        }
        attached = nil
        attachedSlot = Self.noSlot
        return target
    }

    /// Releases targets and members, which the context retains from now on.
    mutating func releaseObjects() {
        if attached == nil { return }
        change { all in
            all.targets = []
            all.members = []
        }
    }

    // MARK: Members of an object in no context

    /// Returns the members of a relationship of an uninserted object.
    func members(of relationship: Int) -> [AnyObject] {
        attachment.members.first { $0.relationship == relationship }?.objects ?? []
    }

    /// Changes the members of a relationship of an uninserted object.
    mutating func changeMembers(of relationship: Int, _ body: (inout [AnyObject]) -> Void) {
        change { all in
            var objects: [AnyObject] = []
            if let index = all.members.firstIndex(where: { $0.relationship == relationship }) {
                objects = all.members.remove(at: index).objects
            }
            body(&objects)
            if !objects.isEmpty { all.members.append((relationship, objects)) }
        }
    }

    // MARK: Positions

    /// Sets the position of the reference in a slot; nil removes it.
    mutating func setPosition(_ position: ListPosition?, in slot: Slot) {
        if position == nil, attached == nil { return }
        change { all in
            all.positions.removeAll { $0.slot == slot }
            if let position { all.positions.append((slot, position)) }
        }
    }
}

extension Model {
    var _$attachment: Attachment { _$inState { $0.attachment } }
    func _$attach(_ attachment: Attachment) { _$state.attach(attachment) }
}

// MARK: - Releasing chains of objects

/// Releases objects one after another that would otherwise release each other recursively.
///
/// When the queue of a thread releases an object, its deinitialiser adds the objects that it held
/// to the same queue instead of releasing them: the stack stays flat for a chain of any length.
private final class ReleaseQueue {
    /// The key of the thread's active queue.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        guard code == 0 else {
            trap("the process has no thread-specific keys left (error \(code)): free some")
        }
        return key
    }()

    private var waiting: [AnyObject] = []

    static func release(_ object: consuming AnyObject) {
        if let queue = pthread_getspecific(key) {
            Unmanaged<ReleaseQueue>.fromOpaque(queue).takeUnretainedValue().waiting.append(object)
            return
        }
        let queue = ReleaseQueue()
        pthread_setspecific(key, Unmanaged.passUnretained(queue).toOpaque())
        queue.waiting.append(object)
        while !queue.waiting.isEmpty { queue.waiting.removeLast() }
        pthread_setspecific(key, nil)
    }
}

extension _ModelState {
    /// Releases the attached objects when the object is deinitialised.
    func releaseAttachment() {
        if let attached { ReleaseQueue.release(attached.takeRetainedValue()) }
    }
}

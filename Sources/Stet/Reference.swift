// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import StetStore

/// What an object holds for a to-one reference: the id of the target, and while the target is in no
/// context the target itself.
///
/// Used by the code that `@Model` writes.
public struct Reference<Target: Model> {
    /// `.none` for nil.
    @usableFromInline var id: ObjectID
    /// Held only while no context holds it.
    @usableFromInline var target: Target?

    @usableFromInline
    init(id: ObjectID, target: Target? = nil) {
        self.id = id
        self.target = target
    }
}

extension Model {
    @inlinable public static var _optionalTargetName: String? { _$name }

    public static func _field(optionalOf object: _QueryObject, slot: Int) -> Fields? {
        let target = QueryObject.target(object.place, slot: slot, entity: _$name)
        return Fields(_object: _QueryObject(target))
    }

    public static func _initialStorage(optional value: Self?) -> Reference<Self> {
        guard let value else { return Reference(id: .none) }
        // Held in any case: the owner is in no context yet, and its target may go when nobody else
        // holds it.
        return Reference(id: value.id, target: value)
    }

    @inlinable
    public static func _storage(fromOptional value: ObjectID?) -> Reference<Self> {
        Reference(id: value ?? .none)
    }

    public static func _storage<M: Model>(
        assigningOptional value: Self?, replacing storage: borrowing Reference<Self>, in owner: M,
        slot: Int
    ) -> Reference<Self>? {
        guard let context = owner._$state.table?.context else {
            return _initialStorage(optional: value)
        }
        if let value, let other = value._$state.table?.context, other !== context {
            context.noteForeignObject(assignedTo: owner, slot: slot)
            return nil
        }
        if let value, value.isDeleted, !value.hasChanges {
            context.noteDeletedObject(assignedTo: owner, slot: slot)
            return nil
        }
        guard owner._$willChange() else { return nil }
        let id = value?.id ?? .none
        context.referenceChanges(from: storage.id, to: id, in: owner, slot: slot)
        guard let value, value._$state.table == nil else { return Reference(id: id) }
        context.mayReferToUninserted = true
        return Reference(id: id, target: value)
    }

    public static func _optionalValue<M: Model>(
        of storage: Reference<Self>, in owner: M
    ) -> Self? {
        if let target = storage.target { return target }
        guard storage.id != .none, let context = owner._$state.table?.context else { return nil }
        return context.resolve(storage.id, as: Self.self)
    }

    @inlinable
    public static func _optionalSnapshotValue(_ storage: Reference<Self>) -> ObjectID? {
        storage.id == .none ? nil : storage.id
    }

    @inlinable
    public static func _visit(
        optional storage: Reference<Self>, slot: Int, _ visitor: inout ReferenceVisitor
    ) {
        if storage.id == .none { return }
        if let target = storage.target { visitor.targets.append(target) }
        if visitor.mode == .all { visitor.references.append((slot, storage.id)) }
    }

    public static func _mutate(
        optional storage: inout Reference<Self>, slot: Int, _ mutation: ReferenceMutation
    ) {
        switch mutation {
        case .release: storage.target = nil
        case .hold: break
        case .adopt(let targets):
            let id = storage.id
            if id != .none, let target = targets.first(where: { $0.id == id }) as? Self {
                storage.target = target
            }
        case .refer(slot, let id): storage = Reference(id: id)
        case .refer: break
        }
    }
}

/// A change of what an object holds for its references that is not an edit by itself.
///
/// Used by the code that `@Model` writes.
public enum ReferenceMutation {
    /// The context holds the targets from now on.
    case release
    /// No context holds these objects any more: whoever refers to one of them does.
    case adopt([any Model])
    /// The reference in this slot refers to another object of the context; `.none` for nil.
    case refer(slot: Int, ObjectID)
    /// The object is in no context any more, and holds its members.
    case hold([(relationship: Int, members: [any Model])])

    /// True when the property in a slot shows another value then.
    public func isShown(by slot: Int) -> Bool {
        if case .refer(slot, _) = self { return true }
        return false
    }
}

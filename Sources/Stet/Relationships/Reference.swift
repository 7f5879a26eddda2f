// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import StetStore

/// The representation of a to-one reference in an object: the id of the target.
///
/// The state of the object retains a target that is in no context. Used by the code that `@Model`
/// writes.
public struct _Reference<Target: Model> {
    /// The id of the target; `.none` for nil.
    @usableFromInline var id: ObjectID

    @usableFromInline
    init(id: ObjectID) {
        self.id = id
    }
}

extension Model {
    @inlinable public static var _optionalTargetName: String? { _$name }

    public static func _field(optionalOf object: _QueryObject, slot: Slot) -> Fields? {
        let target = QueryObject.target(object.place, slot: slot, entity: _$name)
        return Fields(_object: _QueryObject(target, of: Self.self))
    }

    @inlinable
    public static func _initialStorage(
        optional value: Self?, slot: Slot, _ state: inout _ModelState
    ) -> _Reference<Self> {
        if value == nil, state.attached == nil { return _Reference(id: .none) }
        // Always kept alive: the owner is in no context yet, and nothing else may hold the target.
        state.setTarget(value, in: slot)
        return _Reference(id: value?.id ?? .none)
    }

    @inlinable
    public static func _storage(fromOptional value: ObjectID?) -> _Reference<Self> {
        _Reference(id: value ?? .none)
    }

    public static func _storage<M: Model>(
        assigningOptional value: Self?, replacing storage: borrowing _Reference<Self>, in owner: M,
        slot: Slot
    ) -> _Reference<Self>? {
        guard let core = owner._$core else {
            // Read first, because the value may be the owner itself.
            let id = value?.id ?? .none
            owner._$state.setTarget(value, in: slot)
            return _Reference(id: id)
        }
        guard core.mayRefer(owner, to: value, slot: slot), owner._$willChange() else { return nil }
        core.referenceChanges(of: owner, slot: slot, from: storage.id, to: value)
        return _Reference(id: value?.id ?? .none)
    }

    public static func _optionalValue<M: Model>(
        of storage: _Reference<Self>, in owner: M, slot: Slot
    ) -> Self? {
        if storage.id == .none { return nil }
        if let target = owner._$inState({ $0.target(in: slot) }) {
            return unsafeDowncast(target, to: Self.self)
        }
        return owner._$core?.resolve(storage.id, as: Self.self)
    }

    @inlinable
    public static func _optionalSnapshotValue(_ storage: _Reference<Self>) -> ObjectID? {
        storage.id == .none ? nil : storage.id
    }

    @inlinable
    public static func _reference(optional storage: _Reference<Self>) -> ObjectID { storage.id }

    @inlinable
    public static func _setReference(optional storage: inout _Reference<Self>, _ id: ObjectID) {
        storage = _Reference(id: id)
    }
}

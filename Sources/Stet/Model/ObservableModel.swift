// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import Observation

/// An option of `@Model`.
public struct ModelOption: Sendable {
    /// Makes the class `Observable`: a reader of its properties inside `withObservationTracking`,
    /// or in a view, is notified before one of them shows another value.
    ///
    /// Every change of a value notifies: an edit, a rollback or restore, a refresh, a delete rule,
    /// and the normalisation and stamps of a save; so does a change of `isDeleted`. Setting an
    /// equal value does not. `snapshot`, `hasChanges`, `isInserted` and `context` are not observed.
    ///
    /// Each object is 8 bytes larger, and each read and write checks for observers. Other models
    /// are not affected.
    public static let observable = ModelOption()

    /// The option of `@Model` that protects the objects of a class.
    public struct Protection: Sendable {
        /// Protects the objects from unconfirmed deletion: a context's `delete` does not compile
        /// for them, and a save that deletes one in another way is refused.
        ///
        /// See `ManagedContext.requestDelete(_:)`.
        public static let protected = ModelOption.Protection()
    }
}

/// A model whose objects can be observed; `@Model(.observable)` adds the conformance.
public protocol ObservableModel: Model, Observable {
    var _$registrar: _ObjectRegistrar { get }
}

extension ObservableModel {
    /// True from the call of `delete` on; the object keeps its last values.
    ///
    /// A rollback or restore that brings the object back makes it false again.
    public var isDeleted: Bool {
        _$registrar.access(self, \.isDeleted)
        return _$flags.contains(.deleted)
    }

    public func _$show(flags: UInt8) {
        let changed = _ModelState.Flags(rawValue: flags ^ _$flags.rawValue)
        _$registrar.show(self, \.isDeleted, isOther: changed.contains(.deleted)) {
            _$state.flags = _ModelState.Flags(rawValue: flags)
        }
    }
}

/// The observers of an object.
///
/// Used by the code that `@Model` writes.
public struct _ObjectRegistrar: Sendable {
    private let registrar = ObservationRegistrar()

    /// Creates a registrar without observers.
    public init() {}

    /// Records that a property is read.
    public func access<M: ObservableModel, Value>(_ object: M, _ property: KeyPath<M, Value>) {
        registrar.access(object, keyPath: property)
    }

    /// Performs a change, and notifies the observers of the property if it then shows another
    /// value.
    public func show<M: ObservableModel, Value>(
        _ object: M, _ property: KeyPath<M, Value>, isOther: Bool = true, _ change: () -> Void
    ) {
        guard isOther else { return change() }
        registrar.withMutation(of: object, keyPath: property, change)
    }
}

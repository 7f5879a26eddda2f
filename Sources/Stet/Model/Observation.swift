// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import Observation

/// What `@Model` is asked for beyond its properties.
public struct ModelOption: Sendable {
    /// The class is `Observable`: who reads its properties inside `withObservationTracking`, or in
    /// a view, is told before one of them shows another value.
    ///
    /// Whatever changes a value tells it: an edit, a rollback or restore, a refresh, a delete rule,
    /// normalisation and stamps of a save; `isDeleted` likewise. What keeps its value does not.
    /// `snapshot`, `hasChanges`, `isInserted` and `context` are not observed.
    ///
    /// Such an object is 8 bytes larger, and each of its reads and writes asks who observes. Other
    /// models pay nothing.
    public static let observable = ModelOption()

    /// Its objects are deleted only when that was confirmed: `delete` of a context does not compile
    /// for them, and a save that deletes one in another way is refused.
    ///
    /// See `ManagedContext.requestDelete(_:)`.
    public static let protected = ModelOption()
}

/// A model whose objects can be observed; `@Model(.observable)` makes a class one.
public protocol ObservableModel: Model, Observable {
    var _$registrar: ObjectRegistrar { get }
}

extension ObservableModel {
    /// True from `delete` on; the object keeps its last values.
    ///
    /// A rollback or restore that brings the object back makes it false again.
    public var isDeleted: Bool {
        _$registrar.access(self, \.isDeleted)
        return _$state.flags.contains(.deleted)
    }

    public func _$show(flags: UInt16) {
        let changed = ModelState.Flags(rawValue: flags ^ _$state.flags.rawValue)
        _$registrar.show(self, \.isDeleted, isOther: changed.contains(.deleted)) {
            _$state.flags = ModelState.Flags(rawValue: flags)
        }
    }
}

/// Who observes an object.
///
/// Used by the code that `@Model` writes.
public struct ObjectRegistrar: Sendable {
    private let registrar = ObservationRegistrar()

    /// Nobody yet.
    public init() {}

    /// Notes that somebody reads a property.
    public func access<M: ObservableModel, Value>(_ object: M, _ property: KeyPath<M, Value>) {
        registrar.access(object, keyPath: property)
    }

    /// Carries out a change, and tells those who observe the property where it shows another value
    /// then.
    public func show<M: ObservableModel, Value>(
        _ object: M, _ property: KeyPath<M, Value>, isOther: Bool = true, _ change: () -> Void
    ) {
        guard isOther else { return change() }
        registrar.withMutation(of: object, keyPath: property, change)
    }
}

import StetStore

// Hooks that a model can implement, and the checks that keep them within bounds.

/// The result of a hook that a model does not implement.
public struct _NoHook {
    @inlinable
    init() {}
}

extension Model {
    /// Does nothing.
    @inlinable
    public func didInsert() -> _NoHook { _NoHook() }

    /// Does nothing.
    @inlinable
    public func willSave() -> _NoHook { _NoHook() }

    /// Does nothing.
    @inlinable
    public func willDelete() -> _NoHook { _NoHook() }

    /// Does nothing.
    @inlinable
    public func didFetch() -> _NoHook { _NoHook() }
}

// Resolved at compile time, whether the hook is in the class, an extension or an adopted protocol.
extension Model {
    static var _$hasDidInsert: Bool { _DidInsert.self != _NoHook.self }
    static var _$hasWillSave: Bool { _WillSave.self != _NoHook.self }
    static var _$hasWillDelete: Bool { _WillDelete.self != _NoHook.self }
    @inlinable static var _$hasDidFetch: Bool { _DidFetch.self != _NoHook.self }

    /// True when a hook of the model may edit objects.
    static var _$hasEditingHook: Bool {
        _$hasDidInsert || _$hasWillDelete || _$hasWillSave
    }
}

/// The hooks that also run outside of saves.
enum Hook: String {
    case didInsert, willDelete, didFetch
}

/// The state of the hooks that run in a context.
struct RunningHooks {
    /// The greatest depth to which hooks may run inside each other.
    static let depthLimit = 64

    /// The innermost hook; nil when none runs.
    var current: Hook?
    var depth = 0
    /// Objects whose deletion has begun.
    var deleting: Set<ObjectIdentifier> = []
    /// The number of open reads of the store that make objects.
    var readDepth = 0
    /// The objects whose `didFetch` is due: they were made while another one's ran, or inside
    /// another read.
    var fetched: [any Model] = []
}

import StetStore

// What a model may do at moments of an object's life, and what keeps the hooks within bounds.

/// What a hook gives that a model does not implement.
public struct NoHook {
    @inlinable
    init() {}
}

extension Model {
    /// Does nothing.
    @inlinable
    public func didInsert() -> NoHook { NoHook() }

    /// Does nothing.
    @inlinable
    public func willSave() -> NoHook { NoHook() }

    /// Does nothing.
    @inlinable
    public func willDelete() -> NoHook { NoHook() }

    /// Does nothing.
    @inlinable
    public func didFetch() -> NoHook { NoHook() }
}

// Known when a model is compiled, wherever the hook is written: in the class, in an extension, or
// in a protocol that the class adopts.
extension Model {
    static var _$hasDidInsert: Bool { _DidInsert.self != NoHook.self }
    static var _$hasWillSave: Bool { _WillSave.self != NoHook.self }
    static var _$hasWillDelete: Bool { _WillDelete.self != NoHook.self }
    @inlinable static var _$hasDidFetch: Bool { _DidFetch.self != NoHook.self }

    /// True when a hook of the model may edit objects.
    static var _$hasEditingHook: Bool {
        _$hasDidInsert || _$hasWillDelete || _$hasWillSave
    }
}

/// The hooks that run outside of saves, too.
enum Hook: String {
    case didInsert, willDelete, didFetch
}

/// The hooks that run in a context now.
struct RunningHooks {
    /// Hooks that make each other run go no deeper.
    static let depthLimit = 64

    /// The innermost one.
    var current: Hook?
    var depth = 0
    /// Objects whose deletion has begun.
    var deleting: Set<ObjectIdentifier> = []
    /// Reads of the store that are open, in which objects are made.
    var readDepth = 0
    /// Objects that were made while `didFetch` of another ran, or inside another read.
    var fetched: [any Model] = []
}

extension ManagedContext {
    private func run(_ hook: Hook, _ body: () -> Void) {
        let outer = hooks.current
        hooks.current = hook
        hooks.depth += 1
        body()
        hooks.depth -= 1
        hooks.current = outer
    }

    /// Calls `didInsert` of the objects that were inserted behind a position of the pending
    /// changes.
    func callDidInsert(from position: Int) {
        for index in position..<pending.count { callDidInsert(of: pending[index].object) }
    }

    private func callDidInsert<M: Model>(of object: M) {
        guard M._$hasDidInsert else { return }
        guard mayRunDeeper(.didInsert, object) else { return }
        run(.didInsert) { object.didInsert() }
    }

    /// Calls `willDelete`; false when the deletion of the object is under way already.
    func callWillDelete<M: Model>(of object: M) -> Bool {
        guard M._$hasWillDelete else { return true }
        guard hooks.deleting.insert(ObjectIdentifier(object)).inserted else { return false }
        defer { hooks.deleting.remove(ObjectIdentifier(object)) }
        guard mayRunDeeper(.willDelete, object) else { return true }
        run(.willDelete) { object.willDelete() }
        return true
    }

    /// False, and noted, where hooks make each other run without an end.
    private func mayRunDeeper<M: Model>(_ hook: Hook, _ object: M) -> Bool {
        if hooks.depth < RunningHooks.depthLimit { return true }
        note(
            .unsettled, object,
            "was reached by \(hook.rawValue) inside \(RunningHooks.depthLimit) other hooks")
        return false
    }

    /// Reads the store to make objects, which evaluates the default values of their properties.
    func reading<Result>(
        _ body: (borrowing StoreReader) throws -> Result
    ) throws -> Result {
        hooks.readDepth += 1
        defer {
            hooks.readDepth -= 1
            if !hooks.fetched.isEmpty { callDidFetch() }
        }
        return try store.file.read(body)
    }

    /// Calls `didFetch` when the object was made from its record and nobody has called it yet.
    ///
    /// Inside another read, and inside another `didFetch`, it waits for the end of that: no read of
    /// the store is open, and a long chain of references needs no deep stack.
    func callDidFetch<M: Model>(of object: M) {
        guard object._$state.flags.contains(.fetched) else { return }
        object._$state.flags.remove(.fetched)
        hooks.fetched.append(object)
        callDidFetch()
    }

    private func callDidFetch() {
        guard hooks.current != .didFetch, hooks.readDepth == 0 else { return }
        var index = 0
        run(.didFetch) {
            while index < hooks.fetched.count {
                let next = hooks.fetched[index]
                index += 1
                next.didFetch()
            }
            hooks.fetched = []
        }
    }

    /// False, and noted, while `didFetch` runs: it is part of a read.
    func mayEdit<M: Model>(_ object: M) -> Bool {
        guard hooks.current == .didFetch else { return true }
        note(
            .editedDuringFetch, object,
            "was edited by didFetch; it may set @Transient properties only")
        return false
    }

    /// Traps when a hook calls what would take the changes away that it is part of.
    func checkNotInHook(_ call: StaticString) {
        precondition(
            hooks.readDepth == 0,
            "\(call) inside a read: default values of a model's properties are evaluated for every "
                + "object that is read, and may not call it")
        guard let hook = hooks.current else { return }
        preconditionFailure(
            "\(call) inside \(hook.rawValue)(): a hook may read and, but for didFetch, edit; "
                + "do this where the object was inserted, deleted or fetched")
    }
}

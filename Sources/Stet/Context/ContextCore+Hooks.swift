import StetStore

// The hooks of models, which a context calls.

extension ContextCore {
    /// The hook that runs now.
    var runningHook: Hook? { hooks.current }

    private func run(_ hook: Hook, _ body: () -> Void) {
        let outer = hooks.current
        hooks.current = hook
        hooks.depth += 1
        body()
        hooks.depth -= 1
        hooks.current = outer
    }

    func callDidInsert<M: Model>(of object: M) {
        guard M._$hasDidInsert, mayRunDeeper(.didInsert, object) else { return }
        run(.didInsert) { object.didInsert() }
    }

    /// Calls `willDelete`; returns false when the object's deletion has already begun.
    func callWillDelete<M: Model>(of object: M) -> Bool {
        guard M._$hasWillDelete else { return true }
        guard hooks.deleting.insert(ObjectIdentifier(object)).inserted else { return false }
        defer { hooks.deleting.remove(ObjectIdentifier(object)) }
        guard mayRunDeeper(.willDelete, object) else { return true }
        run(.willDelete) { object.willDelete() }
        return true
    }

    /// Returns whether a hook may run at this depth; notes a violation when hooks call each other
    /// without end.
    private func mayRunDeeper<M: Model>(_ hook: Hook, _ object: M) -> Bool {
        if hooks.depth < RunningHooks.depthLimit { return true }
        note(
            .unsettled, object,
            "was reached by \(hook.rawValue) inside \(RunningHooks.depthLimit) other hooks")
        return false
    }

    /// Calls `didFetch` if the object was made from its record and it has not been called yet.
    ///
    /// Inside another read or another `didFetch`, the call is deferred until that ends: so no read
    /// of the store is open, and a long chain of references needs no deep stack.
    func callDidFetch<M: Model>(of object: M) {
        guard object._$flags.contains(.fetched) else { return }
        object._$state.flags.remove(.fetched)
        hooks.fetched.append(object)
        callDidFetch()
    }

    /// Calls `didFetch` of the objects for which it is due, unless a read or another call runs.
    func callDidFetch() {
        guard hooks.current != .didFetch, hooks.readDepth == 0 else { return }
        var index = 0
        run(.didFetch) {
            while index < hooks.fetched.count {
                let next = hooks.fetched[index]
                index += 1
                next.didFetch()
            }
            let fetched = hooks.fetched
            hooks.fetched = []
            // Keeps the objects alive until the list is accessible again: a `deinit` may use it.
            withExtendedLifetime(fetched) {}
        }
    }

    /// Returns whether an object may be edited; notes a violation while `didFetch` runs, because
    /// that is part of a read.
    func mayEdit<M: Model>(_ object: M) -> Bool {
        guard hooks.current == .didFetch else { return true }
        note(
            .editedDuringFetch, object,
            "was edited by didFetch; it may set @Transient properties only")
        return false
    }

    /// Traps when a hook makes a call that would discard the changes that the hook is part of.
    func checkNotInHook(_ call: StaticString) {
        trap(
            unless: hooks.readDepth == 0,
            "\(call) inside a read: default values of a model's properties are evaluated for every "
                + "object that is read, and may not call it")
        guard let hook = hooks.current else { return }
        trap(
            "\(call) inside \(hook.rawValue)(): a hook may read and, but for didFetch, edit; "
                + "do this where the object was inserted, deleted or fetched")
    }
}

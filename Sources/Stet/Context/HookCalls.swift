import StetStore

/// The calls that a context makes to the hooks of models.
struct HookCalls {
    let core: ContextCore

    private func run(_ hook: Hook, _ body: () -> Void) {
        let outer = core.hooks.current
        core.hooks.current = hook
        core.hooks.depth += 1
        body()
        core.hooks.depth -= 1
        core.hooks.current = outer
    }

    func callDidInsert<M: Model>(of object: M) {
        guard M._$hasDidInsert, mayRunDeeper(.didInsert, object) else { return }
        run(.didInsert) { object.didInsert() }
    }

    /// Calls `willDelete`; returns false when the object's deletion has already begun.
    func callWillDelete<M: Model>(of object: M) -> Bool {
        guard M._$hasWillDelete else { return true }
        guard core.hooks.deleting.insert(ObjectIdentifier(object)).inserted else { return false }
        defer { core.hooks.deleting.remove(ObjectIdentifier(object)) }
        guard mayRunDeeper(.willDelete, object) else { return true }
        run(.willDelete) { object.willDelete() }
        return true
    }

    /// Returns whether a hook may run at this depth; notes a violation when hooks call each other
    /// without end.
    private func mayRunDeeper<M: Model>(_ hook: Hook, _ object: M) -> Bool {
        if core.hooks.depth < RunningHooks.depthLimit { return true }
        core.note(
            .unsettled, object,
            "was reached by \(hook.rawValue) inside \(RunningHooks.depthLimit) other hooks")
        return false
    }

    /// Calls `didFetch` if the object was made from its record and it has not been called yet.
    ///
    /// Inside another read or another `didFetch`, the call is deferred until that ends: so no read
    /// of the store is under way, and a long chain of references needs no deep stack.
    func callDidFetch<M: Model>(of object: M) {
        guard object._$flags.contains(.fetched) else { return }
        object._$state.flags.remove(.fetched)
        core.hooks.fetched.append(object)
        callDidFetch()
    }

    /// Calls `didFetch` of the objects for which it is due, unless a read or another call runs.
    func callDidFetch() {
        guard core.hooks.current != .didFetch, core.hooks.readDepth == 0 else { return }
        var index = 0
        run(.didFetch) {
            while index < core.hooks.fetched.count {
                let next = core.hooks.fetched[index]
                index += 1
                next.didFetch()
            }
            let fetched = core.hooks.fetched
            core.hooks.fetched = []
            // Keeps the objects alive until the list is accessible again: a `deinit` may use it.
            withExtendedLifetime(fetched) {}
        }
    }

    /// Returns whether an object may be edited; notes a violation while `didFetch` runs, because
    /// that is part of a read.
    func mayEdit<M: Model>(_ object: M) -> Bool {
        guard core.hooks.current == .didFetch else { return true }
        core.note(
            .editedDuringFetch, object,
            "was edited by didFetch; it may set @Transient properties only")
        return false
    }

    /// Traps when a hook makes a call that would discard the changes that the hook is part of.
    func checkNotInHook(_ call: StaticString) {
        trap(
            unless: core.hooks.readDepth == 0,
            "\(call) inside a read: default values of a model's properties are evaluated for every "
                + "object that is read, and may not call it")
        guard let hook = core.hooks.current else { return }
        trap(
            "\(call) inside \(hook.rawValue)(): a hook may read and, but for didFetch, edit; "
                + "do this where the object was inserted, deleted or fetched")
    }
}

import StetStore

extension ManagedContext {
    /// The contents of a context as text for debugging: short, with one line per live object, or
    /// long, with current and previous values.
    ///
    /// The idea is that of Entity Framework's `ManagedContext.DebugView`.
    public struct DebugView: Sendable, Hashable {
        /// One line for the context, and one per live object, in order of entity and id.
        public let short: String
        /// The text of `short`, and a line for each property.
        public let long: String
    }
}

extension ManagedContext: CustomDebugStringConvertible {
    /// The current contents of the context.
    ///
    /// Objects that nothing retains and that have no pending changes are not alive, and not shown.
    ///
    /// - Complexity: O(live objects); pending changes are encoded.
    public var debugView: ManagedContext.DebugView {
        let objects = core.usedTables.flatMap { $0.liveObjects.sorted { $0.id < $1.id } }
        let pendingCount = objects.count { $0.hasChanges }
        var head = ["revision \(revision), \(objects.count) live, \(pendingCount) with changes"]
        if let failure = core.failure { head.append("failed: \(failure)") }
        head += core.pending.rejections.map { "refused: \($0)" }
        return ManagedContext.DebugView(
            short: (head + objects.map(line)).joined(separator: "\n"),
            long: (head + objects.map { ([line($0)] + properties($0)).joined(separator: "\n") })
                .joined(separator: "\n"))
    }

    /// The long view.
    public var debugDescription: String { debugView.long }

    private func line(_ object: any Model) -> String {
        let state =
            switch (object.isInserted, object.isDeleted, object.hasChanges) {
            case (true, true, _): "inserted and deleted"
            case (true, false, _): "inserted"
            case (false, true, true): "deleted, not saved"
            case (false, true, false): "deleted"
            case (false, false, true): "edited"
            case (false, false, false): "unchanged"
            }
        return "\(object._$entityName) \(object.id) \(state)"
    }

    private func properties<M: Model>(_ object: M) -> [String] {
        let entity = core.table(for: M.self).description
        // Omits values without a stored form, because the view must also work on broken states.
        guard let now = try? object._$body().values(of: entity) else { return [] }
        var before = now
        if object.hasChanges, !object.isInserted, let base = core.pending[object]?.base,
            let values = try? M._$body(of: base).values(of: entity)
        {
            before = values
        }
        return entity.properties.indices.map { slot in
            let property = entity.properties[slot]
            let isChanged = before[slot] != now[slot]
            if property.isHidden {
                let change = isChanged ? " (changed)" : ""
                return "  \(property.name): \(Property.hiddenText)\(change)"
            }
            return "  \(property.name): \(now[slot])\(isChanged ? " (was \(before[slot]))" : "")"
        }
    }
}

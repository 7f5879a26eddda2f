import StetStore

/// What a context holds, as text for people who debug: short, one line per live object; long, with
/// its values and what they were.
///
/// The idea is that of Entity Framework's `DebugView`.
public struct DebugView: Sendable, Hashable {
    /// One line for the context, and one per live object, in order of entity and id.
    public let short: String
    /// The same, and a line for each property.
    public let long: String
}

extension ManagedContext: CustomDebugStringConvertible {
    /// What the context holds now.
    ///
    /// Objects that nobody holds and that have no pending changes are not alive, and not shown.
    ///
    /// - Complexity: O(live objects), and what is pending is encoded.
    public var debugView: DebugView {
        let objects = tables.flatMap { table in
            (table?.liveObjects ?? []).sorted { $0.id < $1.id }
        }
        let pendingCount = objects.count { $0.hasChanges }
        var head = ["revision \(revision), \(objects.count) live, \(pendingCount) with changes"]
        if let failure { head.append("failed: \(failure)") }
        head += misuse.map { "refused: \($0)" }
        return DebugView(
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
        let entity = M._$description.entity
        let number = table(for: M.self).entity
        var bodies = NetChanges(schema: store.file.schema)
        let now = bodies.encode(entity: number) { object._$encode(into: &$0) }
        var before: Range<Int>?
        // The view is there for what should not happen, too.
        if object.hasChanges, !object.isInserted,
            let base = pending.element(at: Int(object._$pendingIndex))?.base
        {
            before = bodies.encode(entity: number) { M._$encode(base, into: &$0) }
        }
        // Cannot throw: what has just been encoded is read.
        guard let new = try? RecordBody(bodies.body(now), of: entity) else { return [] }
        let old = before.flatMap { try? RecordBody(bodies.body($0), of: entity) }
        return entity.properties.indices.compactMap { slot -> String? in
            guard let value = try? new.value(slot) else { return nil }
            let was = (try? old?.value(slot)) ?? value
            let change = was == value ? "" : " (was \(was))"
            return "  \(entity.properties[slot].name): \(value)\(change)"
        }
    }
}

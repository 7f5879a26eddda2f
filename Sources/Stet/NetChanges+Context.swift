import FoundationEssentials
import StetStore

// Steps 3 and 4 of the save sequence.

extension ManagedContext {
    /// The pending changes that make a difference to stored bytes.
    func netChanges() -> NetChanges {
        var net = NetChanges(schema: store.file.schema, expectedCount: pending.count)
        for position in pending.indices {
            append(pending[position].object, position, to: &net)
        }
        return net
    }

    private func append<M: Model>(_ object: M, _ position: Int, to net: inout NetChanges) {
        let entity = object._$state.table?.entity ?? 0
        let base = pending[position].base
        let kind: ChangeKind
        switch (object.isInserted, object.isDeleted) {
        case (true, true): return
        case (true, false): kind = .insert
        case (false, true): kind = .delete
        case (false, false): kind = .update
        }
        let before =
            kind == .insert ? 0..<0 : net.encode(entity: entity) { M._$encode(base, into: &$0) }
        let after =
            kind == .delete ? 0..<0 : net.encode(entity: entity) { object._$encode(into: &$0) }
        if kind == .update, net.areEqual(before, after) { return }
        net.append(
            NetChanges.Item(
                kind: kind, entity: entity, id: object.id, base: object._$state.revision,
                before: before, after: after, position: position))
    }

    func stamp(_ net: inout NetChanges, _ time: Date) {
        let word = time.timeIntervalSinceReferenceDate.bitPattern
        let entities = store.file.schema.entities
        for item in net.items where item.kind != .delete {
            let isInsert = item.kind == .insert
            var isStamped = false
            for slot in entities[item.entity - 1].stampedSlots {
                let stamp = entities[item.entity - 1].properties[slot].stamp
                guard isInsert || stamp == .update else { continue }
                net.overwrite(date: word, slot: slot, in: item)
                isStamped = true
            }
            if isStamped, !isPlanted("C8") {
                pending[item.position].object._$stamp(time, isInsert: isInsert)
            }
        }
    }
}

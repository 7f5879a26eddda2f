import FoundationEssentials
import StetStore

extension ChangeSetBuilder {
    /// Returns whether an object has the embedded value that a slot belongs to.
    private func hasPlace(for slot: Slot, in item: Item) -> Bool {
        let entity = schema.entities[item.entity]
        guard let value = entity.optionalValue(at: slot) else { return true }
        let body = try? RecordBody(body(item.after), of: entity)
        return (try? body?.cell(value.presence)) != nil
    }

    /// Sets stamped attributes to the time of the save.
    mutating func stamp(_ time: Date) {
        if !schema.hasStampedAttributes { return }
        let word = time.timeIntervalSinceReferenceDate.bitPattern
        for item in items where item.kind != .delete {
            let entity = schema.entities[item.entity]
            for slot in entity.stampedSlots
            where (item.kind == .insert || entity.properties[slot].stamp == .update)
                && hasPlace(for: slot, in: item)
            {
                overwrite(date: word, slot: slot, in: item)
            }
        }
    }
}

extension ContextCore {
    /// Returns the positions of the changed objects that have a stamp to set.
    func stampedObjects(_ net: borrowing ChangeSetBuilder) -> [Int] {
        if !schema.hasStampedAttributes { return [] }
        return net.items.filter { item in
            item.kind != .delete
                && schema.entities[item.entity].stampedSlots.contains { slot in
                    item.kind == .insert
                        || schema.entities[item.entity].properties[slot].stamp == .update
                }
        }.map(\.position)
    }
}

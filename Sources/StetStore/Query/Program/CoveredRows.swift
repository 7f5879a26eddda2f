import StetLMDB

/// The objects of an index that contains all that a query reads of them: their entries take the
/// place of their records.
///
/// The record is read where an entry does not show which value it was made of: text that is not
/// ASCII, 0, NaN, and values that do not fit the entry; and where an entry has no checksum.
struct CoveredRows: ~Copyable {
    private let state: QueryState
    private let index: NumberedIndex
    private let entity: Entity
    private var writer = RecordWriter(capacity: 256)

    /// - Parameter slots: The properties that are read; nil stands for all.
    /// - Returns: nil when the index does not contain the values of all of them.
    init?(_ state: QueryState, _ index: NumberedIndex, reading slots: Set<Slot>?) {
        let entity = state.entity(index.entity)
        guard let slots, !index.index.hasLists else { return nil }
        let isCovered = slots.allSatisfy { slot in
            index.index.parts.contains { $0.slot == slot && $0.folding.isEmpty }
        }
        guard isCovered,
            index.index.parts.allSatisfy({ OrderedKey.isReadable(entity.properties[$0.slot]) })
        else { return nil }
        self.state = state
        self.index = index
        self.entity = entity
    }

    /// Returns an object with the values of its entry; nil when they are in its record only.
    ///
    /// - Throws: `DecodingFailure` when the entry does not match its checksum.
    mutating func row(
        _ id: ObjectID, _ entry: StoreReader.StoredEntry?
    ) throws -> QueryState.Row? {
        guard let entry, !entry.value.isEmpty else { return nil }
        guard IndexKey.isIntact(entry.key, entry.value) else {
            throw DecodingFailure("an entry of an index does not match its checksum")
        }
        let values = try IndexKey(entry.key).values
        writer.buffer.count = 0
        writer.begin(propertyCount: entity.properties.count)
        var offset = 0
        for place in index.index.parts.indices {
            let slot = index.index.parts[place].slot
            let isShown = try OrderedKey.read(
                values, at: &offset, entity.properties[slot], slot: slot, to: &writer)
            if !isShown { return nil }
        }
        try state.visit()
        return try state.row(id, coveredBy: writer.buffer.bytes, index.entity)
    }
}

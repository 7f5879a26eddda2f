import StetLMDB

/// The objects of an index that contains all that a query reads of them: their entries take the
/// place of their records.
///
/// The record is read where an entry does not show which value it was made of: text that is not
/// ASCII, 0, NaN, and values that do not fit the entry; and where an entry has no checksum.
struct CoveredRows: ~Copyable {
    private let state: QueryState
    private let propertyCount: Int
    private let parts: [(slot: Slot, type: ValueType)]
    private let keepsRows: Bool
    private var writer = RecordWriter(capacity: 256)

    /// Returns whether an index contains the values of all properties in `slots`.
    static func areIn(
        _ index: NumberedIndex, reading slots: Set<Slot>, of entity: Entity
    ) -> Bool {
        if index.index.hasLists { return false }
        let isCovered = slots.allSatisfy { slot in
            index.index.parts.contains { $0.slot == slot && $0.folding.isEmpty }
        }
        return isCovered
            && index.index.parts.allSatisfy { OrderedKey.isReadable(entity.properties[$0.slot]) }
    }

    /// Creates the rows of an index, which contains all that is read of them.
    ///
    /// Unless the rows are kept, each must be used before the next one is made.
    init(_ state: QueryState, _ index: NumberedIndex, keepsRows: Bool) {
        let properties = state.entity(index.entity).properties
        self.state = state
        self.keepsRows = keepsRows
        propertyCount = properties.count
        parts = index.index.parts.map { ($0.slot, properties[$0.slot].type.widest) }
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
        writer.begin(propertyCount: propertyCount)
        var offset = 0
        for (slot, type) in parts {
            let isShown = try OrderedKey.read(values, at: &offset, type, slot: slot, to: &writer)
            if !isShown { return nil }
        }
        try state.visit()
        let body = writer.buffer.bytes
        return try QueryState.Row(
            id: id, revision: .zero, body: keepsRows ? state.keep(body) : body,
            propertyCount: propertyCount)
    }
}

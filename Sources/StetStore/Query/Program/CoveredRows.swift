import StetLMDB

/// The objects of an index that contains all that a query reads of them: their entries take the
/// place of their records.
///
/// The record is read where an entry does not show which value it was made of: text that is not
/// ASCII, 0, NaN, and values that do not fit the entry; and where an entry has no checksum.
struct CoveredRows: ~Copyable {
    private let state: QueryState
    private let propertyCount: Int
    /// The parts of the index up to the last one that is read.
    private let parts: [(slot: Slot, type: ValueType, isRead: Bool)]
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

    /// Creates the rows of a walk in the order of an index; nil when that does not contain all that
    /// is read of them.
    ///
    /// Rows that are not kept are not compared, so that they do not need what the order reads.
    init?(
        of ordered: QueryPath.OrderedRange, _ run: QueryRun, reading nodes: [QueryNode]?,
        keepsRows: Bool
    ) {
        guard run.isCovered(by: ordered.index, reading: nodes, isMet: ordered.isExact) else {
            return nil
        }
        let isWhole = keepsRows || !ordered.isExact
        self.init(
            run.state, ordered.index, keepsRows: keepsRows,
            reading: isWhole ? nil : nodes?.slotsOfRoot)
    }

    /// Creates the rows of an index, which contains all that is read of them: the properties in
    /// `slots`, or all of the index.
    ///
    /// Unless the rows are kept, each must be used before the next one is made.
    init(
        _ state: QueryState, _ index: NumberedIndex, keepsRows: Bool, reading slots: [Slot]? = nil
    ) {
        let properties = state.entity(index.entity).properties
        self.state = state
        self.keepsRows = keepsRows
        propertyCount = properties.count
        let parts = index.index.parts.map { part in
            (part.slot, properties[part.slot].type.widest, slots?.contains(part.slot) ?? true)
        }
        let end = parts.lastIndex(where: \.2).map { $0 + 1 } ?? 0
        self.parts = Array(parts[..<end])
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
        for (slot, type, isRead) in parts {
            if isRead {
                guard try OrderedKey.read(values, at: &offset, type, slot: slot, to: &writer)
                else { return nil }
            } else {
                try OrderedKey.skip(values, at: &offset, type)
            }
        }
        try state.visit()
        let body = writer.buffer.bytes
        return try QueryState.Row(
            id: id, revision: .zero, body: keepsRows ? state.keep(body) : body,
            propertyCount: propertyCount)
    }
}

extension [QueryNode] {
    /// The slots of the properties of the queried object that the nodes are; nil when one is
    /// something else.
    var slotsOfRoot: [Slot]? {
        var slots: [Slot] = []
        for node in self {
            guard case .property(.root, let slot) = node else { return nil }
            slots.append(slot)
        }
        return slots
    }
}

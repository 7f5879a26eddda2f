import StetLMDB

/// The postings of many objects of an entity, made on two cores and written at once.
struct TextBatch: ~Copyable {
    /// The number of bytes of objects in a batch.
    private static let byteCount = 16 << 20

    private let indexes: [NumberedIndex]
    private let entity: Entity
    private var bodies = ByteBuffer()
    /// The objects in the order of their ids, and the ends of their bodies.
    private var objects: [(id: ObjectID, end: Int)] = []

    /// Creates an empty batch for those of some indexes that have lists.
    init(_ indexes: [NumberedIndex], of entity: Entity) {
        self.indexes = indexes.filter(\.index.hasLists)
        self.entity = entity
    }

    /// True when the batch must be written before more objects are added.
    var isFull: Bool { bodies.count >= Self.byteCount }

    mutating func append(_ id: ObjectID, _ body: UnsafeRawBufferPointer) {
        if indexes.isEmpty { return }
        bodies.append(body)
        objects.append((id, bodies.count))
    }

    /// Writes the postings of objects that are in a table of records, and empties the batch.
    mutating func put(
        in table: Table, records: Table, _ transaction: borrowing WriteTransaction
    ) throws {
        if objects.isEmpty { return }
        let half = objects.count / 2
        let edits = try TwoCores.run {
            try textEdits(of: 0..<half)
        } and: {
            try textEdits(of: half..<objects.count)
        }
        func shortened(_ edits: TextEdits) throws -> TextEdits {
            var edits = edits
            try edits.shortenIDs(in: table, records: { _ in records }, transaction)
            return edits
        }
        try TextTree(table: table).apply(
            shortened(edits.one), and: shortened(edits.other), in: transaction)
        self.objects.removeAll(keepingCapacity: true)
        bodies.count = 0
    }

    private borrowing func textEdits(of places: Range<Int>) throws -> TextEdits {
        var edits = TextEdits()
        for place in places {
            let first = place == 0 ? 0 : objects[place - 1].end
            let body = UnsafeRawBufferPointer(
                rebasing: bodies.bytes[first..<objects[place].end])
            let record = try RecordBody(body, of: entity)
            for index in indexes {
                edits.append(
                    index.textIndex, objects[place].id, nil, try index.index.terms(of: record))
            }
        }
        edits.sort()
        return edits
    }
}

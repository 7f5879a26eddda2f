import Dispatch
import StetLMDB

/// The postings of many objects of an entity, made on two cores and written at once.
struct TextBatch: ~Copyable {
    /// The number of bytes of objects in a batch.
    private static let byteCount = 16 << 20
    private static let partCount = 2

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
        var parts = [Result<TextEdits, any Error>](
            repeating: .success(TextEdits()), count: Self.partCount)
        let (indexes, entity, objects) = (indexes, entity, objects)
        // Nobody changes the bytes.
        nonisolated(unsafe) let bytes = bodies.bytes
        parts.withUnsafeMutableBufferPointer { parts in
            // Each part is set by one thread.
            nonisolated(unsafe) let parts = parts
            DispatchQueue.concurrentPerform(iterations: Self.partCount) { part in
                let start = objects.count * part / Self.partCount
                let end = objects.count * (part + 1) / Self.partCount
                parts[part] = Result {
                    var edits = TextEdits()
                    for place in start..<end {
                        let first = place == 0 ? 0 : objects[place - 1].end
                        let body = UnsafeRawBufferPointer(
                            rebasing: bytes[first..<objects[place].end])
                        let record = try RecordBody(body, of: entity)
                        for index in indexes {
                            edits.append(
                                index.textIndex, objects[place].id, nil,
                                try index.index.terms(of: record))
                        }
                    }
                    edits.sort()
                    return edits
                }
            }
        }
        let edits = try parts.map { part in
            var edits = try part.get()
            try edits.shortenIDs(in: table, records: { _ in records }, transaction)
            return edits
        }
        try TextTree(table: table).apply(edits[0], and: edits[1], in: transaction)
        self.objects.removeAll(keepingCapacity: true)
        bodies.count = 0
    }
}

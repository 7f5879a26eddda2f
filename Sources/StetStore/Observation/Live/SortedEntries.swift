/// Objects in an order, with the keys that they are sorted by.
///
/// A value: copies share all chunks but those that are changed later.
package struct SortedEntries<Payload: Sendable>: Sendable {
    /// An object with its place in the order, and what is kept of it.
    package struct Entry: Sendable {
        package let id: ObjectID
        /// The bytes of the sort key, without the id.
        package let key: [UInt8]
        package internal(set) var payload: Payload
    }

    /// The entries of a chunk at most.
    private static var chunkLimit: Int { 256 }

    /// None is empty.
    private var chunks: [[Entry]]
    package private(set) var count: Int
    /// True when ids descend among objects with the same key.
    let isDescendingByID: Bool

    /// Objects that are in order already.
    init(sorted entries: [Entry], isDescendingByID: Bool) {
        chunks = stride(from: 0, to: entries.count, by: Self.chunkLimit / 2).map {
            Array(entries[$0..<min($0 + Self.chunkLimit / 2, entries.count)])
        }
        count = entries.count
        self.isDescendingByID = isDescendingByID
    }

    var last: Entry? { chunks.last?.last }

    // MARK: Order

    /// True when an object comes before another.
    func precedes(
        _ key: borrowing [UInt8], _ id: ObjectID, _ otherKey: borrowing [UInt8], _ other: ObjectID
    ) -> Bool {
        let order = key.withUnsafeBytes { key in
            otherKey.withUnsafeBytes { key.order(to: $0) }
        }
        if order != 0 { return order < 0 }
        return isDescendingByID ? id > other : id < other
    }

    /// The first place whose object does not come before a key; the end of the last chunk when all
    /// do.
    private func place(_ key: [UInt8], _ id: ObjectID) -> (chunk: Int, offset: Int) {
        let chunk = chunks.partitionPoint { chunk in
            chunk.last.map { precedes($0.key, $0.id, key, id) } ?? true
        }
        guard chunk < chunks.count else { return (chunks.count - 1, chunks.last?.count ?? 0) }
        return (chunk, chunks[chunk].partitionPoint { precedes($0.key, $0.id, key, id) })
    }

    /// The place of an object among all; nil when it is not here with this key.
    ///
    /// - Complexity: O(log count), and a step for each chunk before it.
    func index(of id: ObjectID, key: [UInt8]) -> Int? {
        let place = place(key, id)
        guard chunks.indices.contains(place.chunk),
            chunks[place.chunk].element(at: place.offset)?.id == id
        else { return nil }
        return chunks[..<place.chunk].reduce(place.offset) { $0 + $1.count }
    }

    // MARK: Changing

    mutating func insert(_ entry: Entry) {
        count += 1
        if chunks.isEmpty {
            chunks = [[entry]]
            return
        }
        let place = place(entry.key, entry.id)
        chunks[place.chunk].insert(entry, at: place.offset)
        let size = chunks[place.chunk].count
        guard size > Self.chunkLimit else { return }
        chunks.insert(Array(chunks[place.chunk][(size / 2)...]), at: place.chunk + 1)
        chunks[place.chunk].removeLast(size - size / 2)
    }

    mutating func remove(_ id: ObjectID, key: [UInt8]) {
        let place = place(key, id)
        guard chunks.indices.contains(place.chunk),
            chunks[place.chunk].element(at: place.offset)?.id == id
        else { return }
        count -= 1
        chunks[place.chunk].remove(at: place.offset)
        if chunks[place.chunk].isEmpty { chunks.remove(at: place.chunk) }
    }

    mutating func removeLast() -> Entry? {
        guard !chunks.isEmpty else { return nil }
        count -= 1
        let entry = chunks[chunks.count - 1].popLast()
        if chunks[chunks.count - 1].isEmpty { chunks.removeLast() }
        return entry
    }

    /// Gives an object another payload; returns false when it is equal to the one that it had.
    mutating func replace(
        _ id: ObjectID, key: [UInt8], with payload: Payload
    ) -> Bool where Payload: Equatable {
        let place = place(key, id)
        guard chunks.indices.contains(place.chunk),
            let entry = chunks[place.chunk].element(at: place.offset), entry.id == id,
            entry.payload != payload
        else { return false }
        chunks[place.chunk][place.offset].payload = payload
        return true
    }

    // MARK: Reading

    /// The entries at some places, in order.
    package func entries(in range: Range<Int>) -> [Entry] {
        var found: [Entry] = []
        found.reserveCapacity(range.count)
        var start = 0
        for chunk in chunks {
            let end = start + chunk.count
            if end > range.lowerBound, start < range.upperBound {
                let first = max(range.lowerBound - start, 0)
                found += chunk[first..<min(range.upperBound - start, chunk.count)]
            }
            start = end
        }
        return found
    }

    /// The place at which each chunk begins, for `subscript`.
    package var starts: [Int] {
        var start = 0
        return chunks.map { chunk in
            defer { start += chunk.count }
            return start
        }
    }

    /// The entry at a place.
    ///
    /// - Complexity: O(log count).
    package subscript(place: Int, starts: [Int]) -> Entry {
        let chunk = starts.partitionPoint { $0 <= place } - 1
        return chunks[chunk][place - starts[chunk]]
    }
}

import StetLMDB

/// A walk through the objects of the list of a trigram, in ascending order of their short ids.
///
/// State: belongs to one search inside a transaction; it has no lock.
final class TextListWalk {
    private let list: [UInt8]
    private let cursor: Cursor
    private var chunk: TextChunk?
    /// The short id of the present object; nil before the first one, and after the last one.
    private(set) var id: ObjectID?
    private var isAtEnd = false

    init(
        _ number: Int, _ term: [UInt8], in table: Table,
        _ transaction: borrowing ReadTransaction
    ) throws {
        list = TextKey.list(number, term)
        cursor = try transaction.cursor(in: table)
    }

    /// Returns the number of bytes, or one that is not less than a limit; call it before the walk.
    func byteCount(limit: Int) throws -> Int {
        var count = 0
        var entry = try cursor.seek(list)
        while count < limit, let (key, value) = entry, key.starts(with: list) {
            count += value.count
            entry = try cursor.next()
        }
        return count
    }

    /// Moves on to the next object, or to the first one; returns nil after the last one.
    func next() throws -> ObjectID? {
        if isAtEnd { return nil }
        if chunk == nil { try open(try cursor.seek(list)) }
        while !isAtEnd {
            if let next = try chunk?.next() {
                id = next.id
                return id
            }
            try open(try cursor.next())
        }
        return nil
    }

    /// Moves on to an object, or to the first one after it; returns whether the list has it.
    ///
    /// - Complexity: O(log n + the objects of a chunk).
    func advance(to target: ObjectID) throws -> Bool {
        if chunk == nil, !isAtEnd { try jump(to: target) }
        while !isAtEnd, id.map({ $0 < target }) ?? true {
            if let next = try chunk?.next() {
                id = next.id
                continue
            }
            let follower = try cursor.next()
            if let key = follower?.key, key.starts(with: list),
                key.lexicographicallyPrecedes(place(of: target))
            {
                // The object's chunk is this one or a later one.
                try jump(to: target)
            } else {
                try open(follower)
            }
        }
        return id == target
    }

    private func place(of target: ObjectID) -> [UInt8] {
        var key = list
        TextKey.append(target, to: &key)
        return key
    }

    /// Opens the chunk to which an object belongs.
    private func jump(to target: ObjectID) throws {
        let found = try cursor.seekBackwards(place(of: target))
        let isOfList = found.map { $0.key.starts(with: list) } ?? false
        try open(isOfList ? found : try cursor.seek(list))
    }

    private func open(_ entry: Cursor.Entry?) throws {
        guard let entry, entry.key.starts(with: list) else {
            (chunk, id, isAtEnd) = (nil, nil, true)
            return
        }
        chunk = try TextChunk(decoding: entry.value, at: entry.key, of: .trigrams)
    }
}

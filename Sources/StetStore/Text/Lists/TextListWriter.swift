import StetLMDB

/// Edits the lists of words and trigrams, chunk by chunk.
///
/// A chunk begins at the object in its key, or at the beginning of the list if the key contains
/// none, and ends where the next one begins; that does not change when its first posting is
/// removed.
struct TextListWriter: ~Copyable {
    private let table: Table
    private let cursor: Cursor
    /// The new contents of a chunk.
    private var merged = TextChunkWriter()
    /// A part of it, where it is too much for one chunk.
    private var part = TextChunkWriter()

    init(_ table: Table, _ cursor: consuming Cursor) {
        self.table = table
        self.cursor = cursor
    }

    /// Applies the changes of one list.
    mutating func apply(
        _ changes: TextChanges, to list: [UInt8], of terms: TextIndex.Terms,
        in transaction: borrowing WriteTransaction
    ) throws {
        var place = 0
        while place < changes.count {
            var key = list
            TextKey.append(changes.id(place), to: &key)
            let found = try cursor.seekBackwards(key)
            let chunk = found.flatMap { $0.key.starts(with: list) ? $0 : nil }
            let chunkKey = chunk.map { Array($0.key) }
            let follower = try chunk == nil ? cursor.seek(list) : cursor.next()
            let bound = follower.flatMap { $0.key.starts(with: list) ? $0 : nil }
            let boundKey = bound.map { Array($0.key) }
            let boundID = try bound.map { try TextKey.id(of: $0.key, in: list) }
            var end = place
            while end < changes.count, boundID.map({ changes.id(end) < $0 }) ?? true { end += 1 }
            // A key of an object is never that of a chunk before it.
            guard end > place else { throw DecodingFailure("a list of words out of order") }
            let stored = try chunk.map { try TextChunk(decoding: $0.value, at: $0.key, of: terms) }
            let isAppended = try merged.merge(stored, changes, place..<end)
            place = end
            var swallowed: [UInt8]?
            if let bound, !merged.isEmpty,
                merged.byteCount + bound.value.count <= TextChunk.byteLimit / 2
            {
                try merged.append(
                    TextChunk(decoding: bound.value, at: bound.key, of: terms), of: terms)
                swallowed = boundKey
            }
            try write(
                over: chunkKey, list, of: terms, isAppended: isAppended, in: transaction)
            if let swallowed { try transaction.delete(swallowed, in: table) }
        }
    }

    /// Writes the contents in place of a chunk, as one or more chunks: of about the same size, or
    /// full where objects were appended, because more will probably follow.
    private mutating func write(
        over key: [UInt8]?, _ list: [UInt8], of terms: TextIndex.Terms, isAppended: Bool,
        in transaction: borrowing WriteTransaction
    ) throws {
        if merged.isEmpty {
            if let key { try transaction.delete(key, in: table) }
            return
        }
        let (byteCount, limit) = (merged.byteCount, TextChunk.byteLimit)
        // Never splits what is small: it may contain a swallowed chunk, whose key is removed.
        if byteCount <= limit { return try merged.put(at: key ?? list, in: table, transaction) }
        let target = isAppended ? limit : byteCount / ((byteCount + limit - 1) / limit)
        var next = key ?? list
        part.removeAll()
        var rest = merged.contents(of: terms)
        var end = 0
        while let (id, posting) = try rest.next() {
            let byteCount = rest.offset - end
            end = rest.offset
            if !part.isEmpty, part.byteCount + byteCount > target {
                try part.put(at: next, in: table, transaction)
                part.removeAll()
                next = list
                TextKey.append(id, to: &next)
            }
            part.append(id, posting.bytes)
        }
        try part.put(at: next, in: table, transaction)
    }
}

extension WriteTransaction {
    fileprivate borrowing func delete(_ key: [UInt8], in table: Table) throws {
        _ = try key.withUnsafeBytes { try delete($0, in: table) }
    }
}

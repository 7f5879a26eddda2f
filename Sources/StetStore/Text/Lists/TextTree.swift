package import StetLMDB

/// The lists of postings of the indexes of words and substrings: for each word or trigram, the
/// objects in which it occurs, sorted by id and split into chunks.
package struct TextTree: Sendable {
    private let table: Table

    package init(table: Table) { self.table = table }

    /// Returns the totals of an index.
    package func totals(
        _ number: Int, in transaction: borrowing ReadTransaction
    ) throws -> TextTotals {
        let value = try TextKey.totals(number).withUnsafeBytes {
            try transaction.get($0, in: table)
        }
        return try value.map { try TextTotals(decoding: $0) } ?? TextTotals()
    }

    /// Calls `body` with each object of the list of a word, or of all words that begin with it, and
    /// its posting, by ascending short id within a word, until it returns false.
    ///
    /// - Complexity: O(postings).
    package func forEachPosting(
        _ number: Int, of word: [UInt8], isPrefix: Bool, in transaction: borrowing ReadTransaction,
        _ body: (ObjectID, TextPosting) throws -> Bool
    ) throws {
        let range = KeyRange(prefix: TextKey.list(number, word, isPrefix: isPrefix))
        try transaction.scan(table, range) { key, value in
            var chunk = try TextChunk(decoding: value, at: key, of: .words)
            while let (id, posting) = try chunk.next() {
                if try !body(id, posting) { return false }
            }
            return true
        }
    }

    // MARK: Writing

    /// Applies sorted edits with short ids, and those of other objects, which follow.
    package func apply(
        _ edits: TextEdits, and others: TextEdits = TextEdits(),
        in transaction: borrowing WriteTransaction
    ) throws {
        for (index, change) in edits.indexes + others.indexes where change != TextTotals() {
            var totals = try self.totals(index.number, in: transaction.reading)
            totals += change
            guard totals.objectCount >= 0, totals.wordCount >= 0 else {
                throw DecodingFailure("an index of words with fewer words than none")
            }
            try totals.encoded().withUnsafeBytes { value in
                try TextKey.totals(index.number).withUnsafeBytes { key in
                    try transaction.put(value, for: key, in: table)
                }
            }
        }
        if edits.count + others.count == 0 { return }
        var writer = TextListWriter(table, try transaction.reading.cursor(in: table))
        try edits.withChanges { walk in
            try others.withChanges { others in
                var (walk, others) = (walk, others)
                try walk.forEachList(with: &others) { place, terms, changes in
                    try writer.apply(changes, to: Array(place), of: terms, in: transaction)
                }
            }
        }
    }
}

extension TextTotals {
    fileprivate static let byteCount = 16

    package init(decoding value: UnsafeRawBufferPointer) throws(DecodingFailure) {
        var reader = ByteReader(value)
        objectCount = Int(truncatingIfNeeded: try reader.read(UInt64.self))
        wordCount = Int(truncatingIfNeeded: try reader.read(UInt64.self))
        try reader.expectEnd()
        guard objectCount >= 0, wordCount >= 0 else {
            throw DecodingFailure("totals of words that are out of range")
        }
    }

    fileprivate func encoded() -> [UInt8] {
        [objectCount, wordCount].flatMap { number in
            withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) }
        }
    }
}

/// Edits the lists of words, chunk by chunk.
///
/// A chunk begins at the object in its key, or at the beginning of the list if the key contains
/// none, and ends where the next one begins; that does not change when its first posting is
/// removed.
private struct TextListWriter: ~Copyable {
    private let table: Table
    private let cursor: Cursor
    private var merged = MergedPostings()

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
            merged.removeAll()
            if let chunk { try merged.append(chunk, of: terms) }
            let follower = try chunk == nil ? cursor.seek(list) : cursor.next()
            let bound = follower.flatMap { $0.key.starts(with: list) ? $0 : nil }
            let boundKey = bound.map { Array($0.key) }
            let boundID = try bound.map { try TextKey.id(of: $0.key, in: list) }
            var end = place
            while end < changes.count, boundID.map({ changes.id(end) < $0 }) ?? true { end += 1 }
            // A key of an object is never that of a chunk before it.
            guard end > place else { throw DecodingFailure("a list of words out of order") }
            merged.apply(changes, place..<end)
            place = end
            var swallowed: [UInt8]?
            if let bound, merged.isSmall(with: bound.value.count) {
                try merged.append(bound, of: terms)
                swallowed = boundKey
            }
            try merged.write(over: chunkKey, list, in: table, transaction)
            if let swallowed { try transaction.delete(swallowed, in: table) }
        }
    }
}

/// The postings of the chunks to be written.
private struct MergedPostings: ~Copyable {
    private var bytes = ByteBuffer()
    private var postings: [(id: ObjectID, bytes: Range<Int>)] = []
    /// True when all edits come after the existing postings.
    private var isAppended = false
    private var chunk = TextChunkWriter()

    mutating func removeAll() {
        bytes.count = 0
        postings.removeAll(keepingCapacity: true)
        isAppended = false
    }

    /// Adds the postings of a stored chunk.
    mutating func append(_ chunk: Cursor.Entry, of terms: TextIndex.Terms) throws {
        var stored = try TextChunk(decoding: chunk.value, at: chunk.key, of: terms)
        while let (id, posting) = try stored.next() { append(id, posting.bytes) }
    }

    private mutating func append(_ id: ObjectID, _ posting: UnsafeRawBufferPointer) {
        let start = bytes.count
        bytes.append(posting)
        postings.append((id, start..<bytes.count))
    }

    mutating func apply(_ changes: TextChanges, _ range: Range<Int>) {
        let stored = postings
        postings.removeAll(keepingCapacity: true)
        var rest = stored[...]
        for offset in range {
            let id = changes.id(offset)
            while let next = rest.first, next.id < id {
                postings.append(next)
                rest.removeFirst()
            }
            if rest.first?.id == id { rest.removeFirst() }
            if let posting = changes.posting(offset) { append(id, posting) }
        }
        isAppended = stored.last.map { $0.id < changes.id(range.lowerBound) } ?? true
        postings += rest
    }

    /// The number of bytes of a chunk with all postings.
    private var byteCount: Int {
        var (count, last) = (0, ObjectID?.none)
        for (id, bytes) in postings {
            count += TextChunkWriter.byteCount(of: id, after: last) + bytes.count
            last = id
        }
        return count
    }

    /// Returns whether a chunk of some bytes should be joined with these postings.
    func isSmall(with byteCount: Int) -> Bool {
        !postings.isEmpty && self.byteCount + byteCount <= TextChunk.byteLimit / 2
    }

    /// Writes the postings in place of a chunk, as one or more chunks: of about the same size, or
    /// full where objects were appended, because more will probably follow.
    mutating func write(
        over key: [UInt8]?, _ list: [UInt8], in table: Table,
        _ transaction: borrowing WriteTransaction
    ) throws {
        if postings.isEmpty {
            if let key { try transaction.delete(key, in: table) }
            return
        }
        let limit = TextChunk.byteLimit
        let count = (byteCount + limit - 1) / limit
        // Never splits what is small: it may contain a swallowed chunk, whose key is removed.
        let target = count <= 1 ? .max : isAppended ? limit : byteCount / count
        var next = key ?? list
        chunk.removeAll()
        for (id, range) in postings {
            if !chunk.isEmpty, chunk.byteCount + range.count > target {
                try chunk.put(at: next, in: table, transaction)
                chunk.removeAll()
                next = list
                TextKey.append(id, to: &next)
            }
            chunk.append(id, UnsafeRawBufferPointer(rebasing: bytes.bytes[range]))
        }
        try chunk.put(at: next, in: table, transaction)
    }
}

extension WriteTransaction {
    fileprivate borrowing func delete(_ key: [UInt8], in table: Table) throws {
        _ = try key.withUnsafeBytes { try delete($0, in: table) }
    }
}

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

/// The effect of a change set on the postings of indexes of words and of substrings.
package struct TextEdits: Sendable {
    /// The change of one posting; `bytes` contains its key, followed by the new posting.
    private struct Edit {
        let start: Int
        let keyByteCount: Int
        /// The number of bytes of the new posting; nil when it is removed.
        let postingByteCount: Int?
    }

    private var bytes: [UInt8] = []
    private var edits: [Edit] = []
    /// The changes of the totals of indexes, by their numbers.
    private(set) var totals: [Int: TextTotals] = [:]

    package init() {}

    /// The approximate number of bytes in memory.
    package var byteCount: Int { bytes.count }
    package var isEmpty: Bool { edits.isEmpty && totals.isEmpty }
    /// The number of postings that change.
    package var count: Int { edits.count }

    /// Returns the key of a posting: the place of its list, and the object.
    func key(_ offset: Int) -> ArraySlice<UInt8> {
        let edit = edits[offset]
        return bytes[edit.start..<edit.start + edit.keyByteCount]
    }

    /// Returns the place of the list of a posting.
    func list(_ offset: Int) -> ArraySlice<UInt8> { key(offset).dropLast(TextKey.idByteCount) }

    func id(_ offset: Int) -> ObjectID {
        key(offset).suffix(TextKey.idByteCount).withUnsafeBytes { ObjectID(bytes: $0) }
    }

    /// Returns the new posting; nil when it is removed.
    func posting(_ offset: Int) -> ArraySlice<UInt8>? {
        let edit = edits[offset]
        let start = edit.start + edit.keyByteCount
        return edit.postingByteCount.map { bytes[start..<start + $0] }
    }

    // MARK: Collecting

    /// Records the change of an object's words or trigrams; `before` and `after` are nil when it
    /// does not exist.
    package mutating func append(
        _ number: Int, _ id: ObjectID, _ before: (any TextTerms)?, _ after: (any TextTerms)?
    ) {
        var change = TextTotals()
        change.objectCount = (after == nil ? 0 : 1) - (before == nil ? 0 : 1)
        change.wordCount = (after?.count ?? 0) - (before?.count ?? 0)
        if change != TextTotals() {
            totals[number] = (totals[number] ?? TextTotals()) + change
        }
        guard let before else {
            after?.forEachPosting { append(number, $0, id, $1) }
            return
        }
        var old: [ArraySlice<UInt8>: [UInt8]] = [:]
        before.forEachPosting { old[$0] = $1 }
        after?.forEachPosting { word, posting in
            if old.removeValue(forKey: word) != posting { append(number, word, id, posting) }
        }
        for word in old.keys { append(number, word, id, nil) }
    }

    private mutating func append(
        _ number: Int, _ word: ArraySlice<UInt8>, _ id: ObjectID, _ posting: [UInt8]?
    ) {
        let start = bytes.count
        TextKey.append(number, word, to: &bytes)
        id.append(to: &bytes)
        edits.append(
            Edit(
                start: start, keyByteCount: bytes.count - start, postingByteCount: posting?.count))
        if let posting { bytes += posting }
    }

    /// Sorts edits that were collected in the order of their objects.
    package mutating func sort() {
        let parts = edits.map { $0.start..<$0.start + $0.keyByteCount - TextKey.idByteCount }
        edits = ByteOrder.sorted(bytes, parts).map { edits[$0] }
    }
}

/// The sums of an index of words, by which searches rank objects, or of trigrams.
package struct TextTotals: Hashable, Sendable {
    /// The number of objects.
    package var objectCount = 0
    /// The number of words, or of different trigrams, of all objects.
    package var wordCount = 0

    static func + (one: TextTotals, other: TextTotals) -> TextTotals {
        TextTotals(
            objectCount: one.objectCount &+ other.objectCount,
            wordCount: one.wordCount &+ other.wordCount)
    }
}

/// The keys of an index of words or substrings: its number, then 0 for the totals, or 1, a word or
/// trigram, 0 and, unless the list of postings begins there, the first object of a chunk.
package enum TextKey {
    static let idByteCount = 16
    private static let totals: UInt8 = 0
    private static let postings: UInt8 = 1
    private static let end: UInt8 = 0

    /// Returns the key of the totals of an index.
    package static func totals(_ number: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number), totals]
    }

    /// Returns the beginning of the keys of a word, or of all words that begin with it.
    package static func list(_ number: Int, _ word: [UInt8], isPrefix: Bool = false) -> [UInt8] {
        var key: [UInt8] = []
        append(number, word[...], to: &key)
        if isPrefix { key.removeLast() }
        return key
    }

    static func append(_ number: Int, _ word: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: number >> 8))
        bytes.append(UInt8(truncatingIfNeeded: number))
        bytes.append(postings)
        bytes += word
        bytes.append(end)
    }

    /// Returns the key without the object of a chunk.
    ///
    /// - Throws: `DecodingFailure` when it is not the key of a chunk.
    package static func list(
        of key: UnsafeRawBufferPointer
    ) throws(DecodingFailure) -> UnsafeRawBufferPointer {
        guard key.count > 4, key[2] == postings,
            let end = key[3...].firstIndex(of: end), end > 3,
            end + 1 == key.count || end + 1 + idByteCount == key.count
        else { throw DecodingFailure("a key of an index of words that is malformed") }
        return UnsafeRawBufferPointer(rebasing: key[...end])
    }
}

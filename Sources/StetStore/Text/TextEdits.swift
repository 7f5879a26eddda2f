/// The effect of a change set on the postings of indexes of words and of substrings.
package struct TextEdits: Sendable {
    /// The change of one posting.
    fileprivate struct Edit {
        /// The number of its list.
        let list: UInt32
        /// The index of its object.
        let object: UInt32
        /// The place of the new posting in `bytes`.
        let start: Int
        /// The number of bytes of the new posting; -1 when it is removed.
        let byteCount: Int
    }

    private var lists = TextLists()
    private var objects: [ObjectID] = []
    private var bytes: [UInt8] = []
    private var edits: [Edit] = []
    /// The changes of the totals of indexes, by their numbers.
    private(set) var totals: [Int: TextTotals] = [:]
    /// Memory for the postings of the object whose change is recorded.
    private var before = TextPostings()
    private var after = TextPostings()

    package init() {}

    /// The approximate number of bytes in memory.
    package var byteCount: Int {
        lists.bytes.count + bytes.count + edits.count * MemoryLayout<Edit>.stride
    }
    package var isEmpty: Bool { edits.isEmpty && totals.isEmpty }
    /// The number of postings that change.
    package var count: Int { edits.count }

    /// Calls `body` with each list of which postings change, and their changes.
    func forEachList(
        _ body: (_ place: ArraySlice<UInt8>, _ changes: Changes) throws -> Void
    ) rethrows {
        try edits.withUnsafeBufferPointer { edits in
            try objects.withUnsafeBufferPointer { objects in
                try bytes.withUnsafeBytes { bytes in
                    var start = 0
                    while start < edits.count {
                        let list = edits[start].list
                        var end = start + 1
                        while end < edits.count, edits[end].list == list { end += 1 }
                        try body(
                            lists[Int(list)],
                            Changes(
                                edits: UnsafeBufferPointer(rebasing: edits[start..<end]),
                                objects: objects, bytes: bytes))
                        start = end
                    }
                }
            }
        }
    }

    /// The changes of the postings of one list, by ascending id.
    struct Changes {
        fileprivate let edits: UnsafeBufferPointer<Edit>
        fileprivate let objects: UnsafeBufferPointer<ObjectID>
        fileprivate let bytes: UnsafeRawBufferPointer

        var count: Int { edits.count }

        func id(_ offset: Int) -> ObjectID { objects[Int(edits[offset].object)] }

        /// Returns the new posting; nil when it is removed.
        func posting(_ offset: Int) -> UnsafeRawBufferPointer? {
            let edit = edits[offset]
            if edit.byteCount < 0 { return nil }
            return UnsafeRawBufferPointer(
                rebasing: bytes[edit.start..<edit.start + edit.byteCount])
        }
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
            totals[number, default: TextTotals()] += change
        }
        objects.append(id)
        self.before.removeAll()
        self.after.removeAll()
        before?.append(to: &self.before, number, &lists)
        after?.append(to: &self.after, number, &lists)
        if before == nil { appendAll() } else { appendDifferences() }
    }

    /// Records all postings of a new object.
    private mutating func appendAll() {
        let first = bytes.count
        bytes += after.bytes
        var start = 0
        for (list, end) in after.entries {
            append(list, first + start, end - start)
            start = end
        }
    }

    private mutating func appendDifferences() {
        var (old, new) = (0, 0)
        while old < before.count || new < after.count {
            let oldList = old < before.count ? before.list(old) : .max
            let newList = new < after.count ? after.list(new) : .max
            if newList > oldList {
                append(oldList, bytes.count, -1)
            } else if newList < oldList || before.posting(old) != after.posting(new) {
                let posting = after.posting(new)
                append(newList, bytes.count, posting.count)
                bytes += posting
            }
            if oldList <= newList { old += 1 }
            if newList <= oldList { new += 1 }
        }
    }

    private mutating func append(_ list: Int, _ start: Int, _ byteCount: Int) {
        edits.append(
            Edit(
                list: UInt32(list), object: UInt32(objects.count - 1), start: start,
                byteCount: byteCount))
    }

    /// Sorts edits that were collected in the order of their objects: by their lists, in which
    /// they keep that order.
    package mutating func sort() {
        // The number of each list's edits first, and the place of its next edit then.
        var places = [Int](repeating: 0, count: lists.count)
        for edit in edits { places[Int(edit.list)] += 1 }
        var start = 0
        for list in lists.sorted() {
            let count = places[list]
            places[list] = start
            start += count
        }
        edits = [Edit](unsafeUninitializedCapacity: edits.count) { sorted, count in
            for edit in edits {
                (sorted.baseAddress! + places[Int(edit.list)]).initialize(to: edit)
                places[Int(edit.list)] += 1
            }
            count = edits.count
        }
    }
}

/// The sums of an index of words, by which searches rank objects, or of trigrams.
package struct TextTotals: Hashable, Sendable {
    /// The number of objects.
    package var objectCount = 0
    /// The number of words, or of different trigrams, of all objects.
    package var wordCount = 0

    static func += (one: inout TextTotals, other: TextTotals) {
        one.objectCount &+= other.objectCount
        one.wordCount &+= other.wordCount
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
        word.withUnsafeBytes { append(number, $0, to: &key) }
        if isPrefix { key.removeLast() }
        return key
    }

    static func append(_ number: Int, _ word: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: number >> 8))
        bytes.append(UInt8(truncatingIfNeeded: number))
        bytes.append(postings)
        bytes.append(contentsOf: word)
        bytes.append(end)
    }

    /// Returns whether the key of a list is that of a word in an index.
    static func isList(
        _ key: UnsafeRawBufferPointer, of word: UnsafeRawBufferPointer, _ number: Int
    ) -> Bool {
        key.count == word.count + 4 && key[0] == UInt8(truncatingIfNeeded: number >> 8)
            && key[1] == UInt8(truncatingIfNeeded: number)
            && UnsafeRawBufferPointer(rebasing: key[3..<key.count - 1]).compare(word) == 0
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

    /// Returns the first object of a chunk that is not the first one of its list.
    ///
    /// - Throws: `DecodingFailure` when the key is too short.
    static func id(
        of key: UnsafeRawBufferPointer, in list: [UInt8]
    ) throws(DecodingFailure) -> ObjectID {
        guard key.count == list.count + idByteCount else {
            throw DecodingFailure("a key of an index of words that is malformed")
        }
        return ObjectID(bytes: UnsafeRawBufferPointer(rebasing: key[list.count...]))
    }
}

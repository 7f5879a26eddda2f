/// The effect of a change set on the postings of indexes of words and of substrings.
package struct TextEdits: Sendable {
    /// The change of one posting.
    struct Edit {
        /// The number of its list.
        let list: UInt32
        /// The place of its object in `objects`.
        let object: UInt32
        /// The place of the new posting in `bytes`.
        let start: Int
        /// The number of bytes of the new posting; -1 when it is removed.
        let byteCount: Int
    }

    /// An object whose postings in an index change.
    struct Object {
        /// The id; the short id after `mapIDs`.
        var id: ObjectID
        /// The place of the index in `indexes`.
        let index: UInt32
        /// True when the index did not contain the object before.
        let isAdded: Bool
    }

    private var lists = TextLists()
    /// The indexes whose postings change, and the changes of their totals.
    package private(set) var indexes: [(index: TextIndex, totals: TextTotals)] = []
    private var objects: [Object] = []
    private var bytes: [UInt8] = []
    private var edits: [Edit] = []
    /// Memory for the postings of the object whose change is recorded.
    private var before = TextPostings()
    private var after = TextPostings()

    package init() {}

    /// The approximate number of bytes in memory.
    package var byteCount: Int {
        lists.bytes.count + bytes.count + edits.count * MemoryLayout<Edit>.stride
            + objects.count * MemoryLayout<Object>.stride
    }
    package var isEmpty: Bool { objects.isEmpty }
    /// The number of postings that change.
    package var count: Int { edits.count }

    /// Calls `body` with a walk through the changes of all lists.
    func withChanges<Result>(_ body: (TextChangeWalk) throws -> Result) rethrows -> Result {
        try edits.withUnsafeBufferPointer { edits in
            try objects.withUnsafeBufferPointer { objects in
                try bytes.withUnsafeBytes { bytes in
                    try body(
                        TextChangeWalk(
                            edits: edits, objects: objects, bytes: bytes, lists: lists,
                            terms: indexes.map(\.index.terms)))
                }
            }
        }
    }

    // MARK: Collecting

    /// Records the change of an object's words or trigrams in an index; `before` and `after` are
    /// nil when the object does not exist.
    package mutating func append(
        _ index: TextIndex, _ id: ObjectID, _ before: (any TextTerms)?, _ after: (any TextTerms)?
    ) {
        let place = place(of: index)
        indexes[place].totals.objectCount += (after == nil ? 0 : 1) - (before == nil ? 0 : 1)
        indexes[place].totals.wordCount += (after?.count ?? 0) - (before?.count ?? 0)
        objects.append(Object(id: id, index: UInt32(place), isAdded: before == nil))
        self.before.removeAll()
        self.after.removeAll()
        before?.append(to: &self.before, index.number, &lists)
        after?.append(to: &self.after, index.number, &lists)
        if before == nil { appendAll() } else { appendDifferences() }
    }

    /// Returns the place of an index, which is added unless it is there.
    private mutating func place(of index: TextIndex) -> Int {
        if let place = indexes.firstIndex(where: { $0.index == index }) { return place }
        indexes.append((index, TextTotals()))
        return indexes.count - 1
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

extension TextEdits {
    /// Replaces the ids of objects by those that `body` returns for the place of the index in
    /// `indexes` and the id.
    package mutating func mapIDs(
        _ body: (_ index: Int, ObjectID, _ isAdded: Bool) throws -> ObjectID
    ) rethrows {
        var isSorted = true
        var last = [ObjectID?](repeating: nil, count: indexes.count)
        for place in objects.indices {
            let object = objects[place]
            let index = Int(object.index)
            let id = try body(index, object.id, object.isAdded)
            objects[place].id = id
            if let last = last[index], last >= id { isSorted = false }
            last[index] = id
        }
        if isSorted { return }
        var start = 0
        while start < edits.count {
            let end = edits[start...].firstIndex { $0.list != edits[start].list } ?? edits.count
            edits[start..<end].sort { objects[Int($0.object)].id < objects[Int($1.object)].id }
            start = end
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

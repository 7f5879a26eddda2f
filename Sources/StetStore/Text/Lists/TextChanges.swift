import StetLMDB

/// The changes of the postings of one list, by ascending short id: those of one part of the
/// objects, then those of the other.
struct TextChanges {
    /// The changes of one part.
    struct Run {
        let edits: UnsafeBufferPointer<TextEdits.Edit>
        let objects: UnsafeBufferPointer<TextEdits.Object>
        let bytes: UnsafeRawBufferPointer

        fileprivate static var none: Run {
            Run(
                edits: UnsafeBufferPointer(start: nil, count: 0),
                objects: UnsafeBufferPointer(start: nil, count: 0),
                bytes: UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    private let first: Run
    private let second: Run

    fileprivate init(_ first: Run, _ second: Run) {
        self.first = first
        self.second = second
    }

    var count: Int { first.edits.count + second.edits.count }

    @inline(__always)
    private func run(of offset: Int) -> (Run, edit: TextEdits.Edit) {
        let rest = offset - first.edits.count
        return rest < 0 ? (first, first.edits[offset]) : (second, second.edits[rest])
    }

    func id(_ offset: Int) -> ObjectID {
        let (run, edit) = run(of: offset)
        return run.objects[Int(edit.object)].id
    }

    /// Returns the new posting; nil when it is removed.
    func posting(_ offset: Int) -> UnsafeRawBufferPointer? {
        let (run, edit) = run(of: offset)
        if edit.byteCount < 0 { return nil }
        return UnsafeRawBufferPointer(
            rebasing: run.bytes[edit.start..<edit.start + edit.byteCount])
    }
}

/// A walk through the lists of which postings change, in the order of their places.
struct TextChangeWalk {
    private let all: TextChanges.Run
    private let lists: TextLists
    /// The terms of each index.
    private let terms: [TextIndex.Terms]
    private var range = 0..<0

    init(
        edits: UnsafeBufferPointer<TextEdits.Edit>,
        objects: UnsafeBufferPointer<TextEdits.Object>, bytes: UnsafeRawBufferPointer,
        lists: TextLists, terms: [TextIndex.Terms]
    ) {
        all = TextChanges.Run(edits: edits, objects: objects, bytes: bytes)
        self.lists = lists
        self.terms = terms
        advance()
    }

    private mutating func advance() {
        let start = range.upperBound
        var end = start
        while end < all.edits.count, all.edits[end].list == all.edits[start].list { end += 1 }
        range = start..<end
    }

    private var place: ArraySlice<UInt8> { lists[Int(all.edits[range.lowerBound].list)] }

    private var presentTerms: TextIndex.Terms {
        terms[Int(all.objects[Int(all.edits[range.lowerBound].object)].index)]
    }

    private var run: TextChanges.Run {
        TextChanges.Run(
            edits: UnsafeBufferPointer(rebasing: all.edits[range]), objects: all.objects,
            bytes: all.bytes)
    }

    /// Calls `body` with each list, the terms of its index and its changes, together with those of
    /// another walk, whose objects follow.
    mutating func forEachList(
        with other: inout TextChangeWalk,
        _ body: (_ place: ArraySlice<UInt8>, TextIndex.Terms, TextChanges) throws -> Void
    ) rethrows {
        while !range.isEmpty || !other.range.isEmpty {
            let order = range.isEmpty ? 1 : other.range.isEmpty ? -1 : place.compare(other.place)
            let walk = order <= 0 ? self : other
            try body(
                walk.place, walk.presentTerms,
                TextChanges(order <= 0 ? run : .none, order >= 0 ? other.run : .none))
            if order <= 0 { advance() }
            if order >= 0 { other.advance() }
        }
    }
}

extension ArraySlice<UInt8> {
    /// Compares bytes: less than 0, 0, or more.
    fileprivate func compare(_ other: ArraySlice<UInt8>) -> Int {
        withUnsafeBytes { one in other.withUnsafeBytes { one.compare($0) } }
    }
}

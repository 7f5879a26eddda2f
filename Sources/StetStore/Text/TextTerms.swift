/// The parts of an object's texts by which an index finds it: words or trigrams.
package protocol TextTerms {
    /// The number of parts, which is added to the totals of the index.
    var count: Int { get }

    /// Returns the postings of the different parts for an index with a number.
    func postings(ofIndex number: Int, in lists: inout TextLists) -> TextPostings
}

/// The postings of one object, in the order of the numbers of their lists.
package struct TextPostings {
    private var bytes: [UInt8] = []
    /// The lists, and the ends of the postings in `bytes`.
    private var entries: [(list: Int, end: Int)] = []

    package init() {}

    package var count: Int { entries.count }

    /// Returns the number of the list of a posting.
    func list(_ offset: Int) -> Int { entries[offset].list }

    /// Returns the bytes of a posting.
    func posting(_ offset: Int) -> ArraySlice<UInt8> {
        bytes[(offset == 0 ? 0 : entries[offset - 1].end)..<entries[offset].end]
    }

    mutating func reserveCapacity(_ count: Int, byteCount: Int) {
        entries.reserveCapacity(count)
        bytes.reserveCapacity(byteCount)
    }

    /// Adds a posting to a list with a greater number than those before; `write` appends its bytes.
    mutating func append(_ list: Int, _ write: (inout [UInt8]) -> Void) {
        write(&bytes)
        entries.append((list, bytes.count))
    }

    /// Calls `body` with the place of the list of each posting and its bytes.
    package func forEach(
        in lists: TextLists,
        _ body: (_ list: ArraySlice<UInt8>, _ posting: ArraySlice<UInt8>) -> Void
    ) {
        for offset in entries.indices { body(lists[list(offset)], posting(offset)) }
    }
}

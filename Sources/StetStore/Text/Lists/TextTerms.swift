/// The parts of an object's texts by which an index finds it: words or trigrams.
package protocol TextTerms {
    /// The number of parts, which is added to the totals of the index.
    var count: Int { get }

    /// Adds the postings of the different parts for an index with a number.
    func append(to postings: inout TextPostings, _ number: Int, _ lists: inout TextLists)
}

/// The postings of one object, in the order of the numbers of their lists.
package struct TextPostings: Sendable {
    private(set) var bytes: [UInt8] = []
    /// The lists, and the ends of the postings in `bytes`.
    private(set) var entries: [(list: Int, end: Int)] = []
    /// Memory in which the terms of an object are sorted.
    var order: [UInt64] = []

    package init() {}

    package var count: Int { entries.count }

    /// Returns the number of the list of a posting.
    func list(_ offset: Int) -> Int { entries[offset].list }

    /// Returns the bytes of a posting.
    func posting(_ offset: Int) -> ArraySlice<UInt8> {
        bytes[(offset == 0 ? 0 : entries[offset - 1].end)..<entries[offset].end]
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
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

package import StetLMDB

/// A search for the objects that have all trigrams of some texts, in an index of substrings.
package struct TrigramSearch: Sendable {
    /// The number of trigrams of a text that are looked up; further ones rarely exclude an object.
    private static let trigramLimit = 64
    /// Lists that are longer than the shortest one by more than this factor are not read: to look
    /// up an object in them costs more than to test its text.
    private static let longestFactor = 16
    /// The number of lists that are read.
    private static let listLimit = 8

    private let number: Int
    /// The trigrams of each text, without those of the texts before it.
    private let texts: [[UInt64]]

    /// Creates a search in the index with a number for the trigrams of all texts; nil when the
    /// texts are too short to have one.
    package init?(_ number: Int, _ texts: [String]) {
        self.number = number
        var seen: Set<UInt64> = []
        self.texts = texts.map { text in
            let new = TextTrigrams(of: text).trigrams.filter { !seen.contains($0) }
            seen.formUnion(new)
            return Array(new.prefix(Self.trigramLimit))
        }
        if seen.isEmpty { return nil }
    }

    /// The number of different trigrams that are looked up.
    package var count: Int { texts.reduce(0) { $0 + $1.count } }

    /// Calls `body` with the short id of each object that may have all trigrams, in ascending
    /// order, until it returns false; `visit` is called for each entry of the shortest list.
    ///
    /// - Complexity: O(objects in the shortest list).
    package func forEachID(
        in table: Table, _ transaction: borrowing ReadTransaction, visit: () throws -> Void,
        _ body: (ObjectID) throws -> Bool
    ) throws {
        let walks = try shortestWalks(in: table, transaction)
        guard let shortest = walks.first else { return }
        var others = walks.dropFirst().map { Sieve($0) }
        while let id = try shortest.next() {
            try visit()
            var isLeft = true
            for place in others.indices where isLeft {
                isLeft = try others[place].lets(id)
            }
            if isLeft, try !body(id) { return }
        }
    }

    /// A list that excludes objects, as long as it excludes enough of them: trigrams of one word
    /// occur in the same objects.
    private struct Sieve {
        private let walk: TextListWalk
        private var testCount = 0
        private var excludedCount = 0

        init(_ walk: TextListWalk) { self.walk = walk }

        /// Returns false when the list does not have an object.
        mutating func lets(_ id: ObjectID) throws -> Bool {
            if testCount >= 32, excludedCount * 8 < testCount { return true }
            testCount += 1
            if try walk.advance(to: id) { return true }
            excludedCount += 1
            return false
        }
    }

    /// Returns walks through the shortest lists, the shortest one first; empty when a list is.
    ///
    /// The lists are chosen from the texts alternately, because the trigrams of one text tend to
    /// occur in the same objects.
    /// Lists are compared by the numbers of their bytes, which are counted a few chunks at a time,
    /// because one short list is enough.
    private func shortestWalks(
        in table: Table, _ transaction: borrowing ReadTransaction
    ) throws -> [TextListWalk] {
        let walks = try texts.map { trigrams in
            try trigrams.map { trigram in
                try TextListWalk(number, TextTrigrams.term(trigram), in: table, transaction)
            }
        }
        var least = Int.max
        var limit = 8 * TextChunk.byteLimit
        while least >= limit {
            if least < .max { limit *= 8 }
            least = try walks.joined().reduce(Int.max) { least, walk in
                min(least, try walk.byteCount(limit: limit))
            }
        }
        if least == 0 { return [] }
        let longest = least * Self.longestFactor
        var found: [(rank: Int, count: Int, walk: TextListWalk)] = []
        for walks in walks {
            let counted = try walks.map { (try $0.byteCount(limit: longest + 1), $0) }
            let sorted = counted.sorted { $0.0 < $1.0 }.prefix { $0.0 <= longest }
            for (rank, (count, walk)) in sorted.enumerated() { found.append((rank, count, walk)) }
        }
        return found.sorted { ($0.rank, $0.count) < ($1.rank, $1.count) }
            .prefix(Self.listLimit).map(\.walk)
    }
}

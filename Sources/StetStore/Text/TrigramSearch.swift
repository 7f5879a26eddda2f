package import StetLMDB

/// A search for the objects that have all trigrams of some texts, in an index of substrings.
package struct TrigramSearch: Sendable {
    /// The number of trigrams that are looked up; further ones rarely exclude an object.
    private static let trigramLimit = 64
    /// Lists that are longer than the shortest one by more than this factor are not read: to look
    /// up an object in them costs as much as to test its text.
    private static let longestFactor = 4
    /// The number of lists that are read.
    private static let listLimit = 4

    private let number: Int
    private let trigrams: [UInt64]

    /// Creates a search in the index with a number for the trigrams of all texts; nil when the
    /// texts are too short to have one.
    package init?(_ number: Int, _ texts: [String]) {
        let found = Set(texts.flatMap { TextTrigrams(of: $0).trigrams }).sorted()
        if found.isEmpty { return nil }
        self.number = number
        trigrams = Array(found.prefix(Self.trigramLimit))
    }

    /// The number of different trigrams that are looked up.
    package var count: Int { trigrams.count }

    /// Calls `body` with each object that may have all trigrams, in ascending order of the ids,
    /// until it returns false; `visit` is called for each entry of the shortest list.
    ///
    /// - Complexity: O(objects in the shortest list).
    package func forEachID(
        in table: Table, _ transaction: borrowing ReadTransaction, visit: () throws -> Void,
        _ body: (ObjectID) throws -> Bool
    ) throws {
        let walks = try shortestWalks(in: table, transaction)
        guard let shortest = walks.first else { return }
        let others = walks.dropFirst()
        while let id = try shortest.next() {
            try visit()
            guard try others.allSatisfy({ try $0.advance(to: id) }) else { continue }
            guard try body(id) else { return }
        }
    }

    /// Returns walks through the shortest lists, the shortest one first; empty when a list is.
    ///
    /// Lists are compared by the numbers of their chunks, which are counted a few steps at a time,
    /// because one short list is enough.
    private func shortestWalks(
        in table: Table, _ transaction: borrowing ReadTransaction
    ) throws -> [TextListWalk] {
        var walks: [TextListWalk] = []
        for trigram in trigrams {
            walks.append(
                try TextListWalk(number, TextTrigrams.term(trigram), in: table, transaction))
        }
        var least = Int.max
        var limit = 8
        while least >= limit {
            if least < .max { limit *= 8 }
            least = try walks.reduce(Int.max) { min($0, try $1.chunkCount(limit: limit)) }
        }
        if least == 0 { return [] }
        let longest = least * Self.longestFactor
        let counted = try walks.map { (walk: $0, count: try $0.chunkCount(limit: longest + 1)) }
        return counted.filter { $0.count <= longest }.sorted { $0.count < $1.count }
            .prefix(Self.listLimit).map(\.walk)
    }
}

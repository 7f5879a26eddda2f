package import StetLMDB

/// The tree of members: for each end of a relationship and each owner, the members in their order.
///
/// It is the inverse side of every reference. The list of an owner is cut into chunks of some
/// seventy members: one key for most owners, a scan of packed arrays for the others.
package struct MemberTree: Sendable {
    package static let tableName = "members"
    package let table: Table

    package init(table: Table) { self.table = table }

    /// Calls `body` with each entry of an owner's list, in order, until it answers false; entries
    /// of removed members are among them.
    ///
    /// - Complexity: O(members), a cursor move for each chunk.
    package func forEachEntry(
        of owner: ObjectID, at end: MemberEnd, in transaction: ReadTransaction,
        _ body: (MemberEntry) throws -> Bool
    ) throws {
        try forEachChunk(of: owner, at: end, in: transaction) { chunk in
            var entries = chunk.entries
            while let entry = try entries.next() {
                if try !body(entry) { return false }
            }
            return true
        }
    }

    /// The number of members that are present.
    ///
    /// - Complexity: O(chunks).
    package func count(
        of owner: ObjectID, at end: MemberEnd, in transaction: ReadTransaction
    ) throws -> Int {
        var count = 0
        try forEachChunk(of: owner, at: end, in: transaction) { chunk in
            count += chunk.presentCount
            return true
        }
        return count
    }

    private func forEachChunk(
        of owner: ObjectID, at end: MemberEnd, in transaction: ReadTransaction,
        _ body: (MemberChunk) throws -> Bool
    ) throws {
        let layout = end.layout
        let prefix = MemberKey.prefix(end.number, owner)
        try transaction.scan(table, KeyRange(prefix: prefix)) { key, value in
            try body(try MemberChunk(decoding: value, at: key, layout))
        }
    }
}

package import StetLMDB

/// The tree of members: for each end of a relationship and each owner, the members in order.
///
/// It is the inverse side of every reference. The list of an owner is split into chunks of about
/// seventy members: one key for most owners, a scan of packed arrays for the others.
package struct MemberTree: Sendable {
    package static let tableName = "members"
    package let table: Table

    package init(table: Table) { self.table = table }

    /// Calls `body` with each entry of an owner's list, in order, until it returns false; entries
    /// of removed members are included.
    ///
    /// - Complexity: O(members), with a cursor move for each chunk.
    @inline(__always)
    package func forEachEntry(
        of owner: ObjectID, at end: MemberEnd, in transaction: borrowing ReadTransaction,
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

    /// Returns the number of present members.
    ///
    /// - Complexity: O(chunks).
    package func count(
        of owner: ObjectID, at end: MemberEnd, in transaction: borrowing ReadTransaction
    ) throws -> Int {
        var count = 0
        try forEachChunk(of: owner, at: end, in: transaction) { chunk in
            count += chunk.presentCount
            return true
        }
        return count
    }

    /// Calls `body` with each owner that has members at an end, in ascending order, and with their
    /// number, until it returns false.
    ///
    /// - Complexity: O(chunks of the end).
    package func forEachCount(
        at end: MemberEnd, in transaction: borrowing ReadTransaction,
        _ body: (_ owner: ObjectID, _ count: Int) throws -> Bool
    ) throws {
        let layout = end.layout
        var last: (owner: ObjectID, count: Int)?
        var goesOn = true
        func give() throws {
            if let last, last.count > 0 { goesOn = try body(last.owner, last.count) }
        }
        try transaction.scan(table, KeyRange(prefix: MemberKey.prefix(ofEnd: end.number))) {
            key, value in
            let owner = try MemberKey.decode(key).owner
            let count = try MemberChunk(decoding: value, at: key, layout).presentCount
            if last?.owner == owner {
                last?.count += count
            } else {
                try give()
                last = (owner, count)
            }
            return goesOn
        }
        if goesOn { try give() }
    }

    /// Returns the entry of an object in a list that is sorted by id; nil when there is none.
    ///
    /// - Complexity: a few cursor moves, O(entries of a chunk).
    package func entry(
        of member: ObjectID, _ owner: ObjectID, at end: MemberEnd,
        in transaction: borrowing ReadTransaction
    ) throws -> MemberEntry? {
        let prefix = MemberKey.prefix(end.number, owner)
        var key = prefix
        member.append(to: &key)
        let cursor = try transaction.cursor(in: table)
        guard let (chunkKey, value) = try cursor.seekBackwards(key), chunkKey.starts(with: prefix)
        else { return nil }
        var entries = try MemberChunk(decoding: value, at: chunkKey, end.layout).entries
        while let entry = try entries.next() {
            if entry.id >= member { return entry.id == member ? entry : nil }
        }
        return nil
    }

    /// Returns the last entry of an owner's list; nil when it has none.
    ///
    /// - Complexity: a few cursor moves, O(entries of a chunk).
    package func lastEntry(
        of owner: ObjectID, at end: MemberEnd, in transaction: borrowing ReadTransaction
    ) throws -> MemberEntry? {
        let prefix = MemberKey.prefix(end.number, owner)
        // Greater than every key of the owner's list.
        let key = prefix + [UInt8](repeating: .max, count: ListPosition.byteLimit + 1)
        let cursor = try transaction.cursor(in: table)
        guard let (chunkKey, value) = try cursor.seekBackwards(key), chunkKey.starts(with: prefix)
        else { return nil }
        var entries = try MemberChunk(decoding: value, at: chunkKey, end.layout).entries
        var last: MemberEntry?
        while let entry = try entries.next() { last = entry }
        return last
    }

    @inline(__always)
    private func forEachChunk(
        of owner: ObjectID, at end: MemberEnd, in transaction: borrowing ReadTransaction,
        _ body: (MemberChunk) throws -> Bool
    ) throws {
        let layout = end.layout
        let cursor = try transaction.cursor(in: table)
        try MemberKey.withPrefix(end.number, owner) { prefix in
            var entry = try cursor.seek(UnsafeRawBufferPointer(prefix))
            while let present = entry, present.key.hasPrefix(prefix) {
                guard try body(try MemberChunk(decoding: present.value, at: present.key, layout))
                else { return }
                entry = try cursor.next()
            }
        }
    }
}

extension Cursor {
    /// Moves to the last entry whose key is at most `key`; returns nil when there is none.
    borrowing func seekBackwards(_ key: [UInt8]) throws -> Entry? {
        guard let found = try seek(key) else { return try last() }
        return found.key.elementsEqual(key) ? found : try previous()
    }
}

import StetLMDB

/// The revision up to which the nodes of a shared journal trim it, in a node's file: trimming takes
/// several transactions, and may be interrupted or held back.
enum WantedFloor {
    private static let key: StaticString = "wanted floor"

    /// Returns the revision; 0 when no trim was requested.
    static func read(in transaction: borrowing ReadTransaction) throws -> Revision {
        guard let value = try transaction.get(key, in: .unnamed) else { return .zero }
        var reader = ByteReader(value)
        let revision = Revision(try reader.read(UInt64.self))
        try reader.expectEnd()
        return revision
    }

    /// Raises the revision.
    static func raise(
        to revision: Revision, in transaction: borrowing WriteTransaction
    ) throws {
        guard try read(in: transaction.reading) < revision else { return }
        var buffer = ByteBuffer(capacity: 8)
        buffer.append(revision.number)
        try transaction.put(buffer.bytes, for: key, in: .unnamed)
    }

    /// Refuses to trim the journal of a node up to a revision that its shared journal keeps.
    static func check(
        _ last: Revision, in transaction: borrowing WriteTransaction
    ) throws {
        if try read(in: transaction.reading) >= last { return }
        try AttachedMark.refuse("its journal is trimmed on all nodes", in: transaction)
    }
}

import StetLMDB

/// The tables of a store's objects and links while a write transaction migrates them.
struct StoredState {
    /// The schemas up to the new one of the store.
    let history: SchemaHistory
    let journal: Journal
    let members: MemberTree
    /// The tables of the entities, in the order of their numbers.
    let records: [Table]

    private var schema: Schema { history.current }

    /// Converts the digest of the state at the beginning of a trimmed journal to the new schema:
    /// the digest of the current state, without the effects of all entries.
    func renewFloor(
        through last: Revision, in transaction: borrowing WriteTransaction
    ) throws {
        guard var floor = try JournalFloor.read(in: transaction.reading) else { return }
        var digest = try digestOfLinks(in: transaction.reading)
        for (number, entity) in schema.entities.numbered where !entity.isRemoved {
            try transaction.reading.scan(records[number]) { key, value in
                digest += try history.digest(
                    ofEntity: number, try RecordLayout.id(ofKey: key), value)
                return true
            }
        }
        var revision = floor.revision
        while revision < last {
            revision = revision.next
            let (envelope, body) = try journal.entry(revision, in: transaction.reading)
            let commit = try Commit(
                envelope: envelope, body: body, history: history, store: .none)
            digest -= try StateDigest.effect(of: commit, history)
        }
        floor.digest = digest
        try floor.write(in: transaction)
    }

    private func digestOfLinks(in transaction: borrowing ReadTransaction) throws -> StateDigest {
        var digest = StateDigest()
        for case let ends? in schema.links.indices.map({ schema.ends(ofLink: $0 + 1) }) {
            let range = KeyRange(prefix: MemberKey.prefix(ofEnd: ends.sources.number))
            try transaction.scan(members.table, range) { key, value in
                let owner = try MemberKey.decode(key).owner
                var entries = try MemberChunk(decoding: value, at: key, ends.sources.layout).entries
                while let entry = try entries.next() {
                    guard let link = ends.sources.linkKey(owner, entry.id) else { continue }
                    digest += StateDigest.link(link, try entry.membership, entry.revision)
                }
                return true
            }
        }
        return digest
    }
}

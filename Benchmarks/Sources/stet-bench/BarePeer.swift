import BareLMDB

/// C on LMDB, which writes what Stet writes, with or without the journal.
final class BarePeer: Peer {
    private let path: String
    private let samples: Samples
    private let journals: Bool
    private var store: BareStore?
    private var inserted: [BareID] = []
    private var ids: [BareID] = []

    init(_ path: String, _ samples: Samples, journals: Bool) throws {
        self.path = path
        self.samples = samples
        self.journals = journals
        let store = try BareStore(path: path, creates: true, journals: journals)
        try store.commitNotebooks()
        self.store = store
    }

    func commit(_ range: Range<Int>) throws {
        let ids = try opened().commit(range, of: samples)
        if inserted.isEmpty { inserted = ids }
    }

    /// Without a journal each thread has its own transactions; with one, a writer groups them.
    func commitSingly(_ range: Range<Int>, writers: Int) throws {
        try opened().commitSingly(range, of: samples, writers: writers, grouped: journals)
    }

    func prepareReads(_ positions: [Int]) {
        ids = positions.map { inserted[$0] }
    }

    func read(inOneScope: Bool) throws -> Totals {
        try opened().get(ids, inOneScope: inOneScope)
    }

    func walk() throws -> Totals { try opened().walk() }

    func sorted(_ notebooks: Range<Int>) throws -> TitlesInOrder {
        try opened().sorted(notebooks)
    }

    func count(containing text: String) throws -> Int { try opened().count(containing: text) }

    func fetchAll() throws -> Totals { try opened().scan().ofTwoProperties }

    func update(_ positions: [Int], to range: Range<Int>) throws {
        try opened().update(positions.map { inserted[$0] }, to: range, of: samples)
    }

    func undo() throws { try opened().undo() }

    func delete(_ positions: [Int]) throws {
        try opened().delete(positions.map { inserted[$0] })
    }

    func openAndRead() throws -> (Duration, Totals) {
        let start = ContinuousClock.now
        let store = try BareStore(path: path, creates: false, journals: journals)
        let totals = try store.get([ids[0]], inOneScope: true)
        return (start.duration(to: .now), totals)
    }

    func check() throws -> Totals { try opened().scan(hashes: true) }

    func open() throws { store = try BareStore(path: path, creates: false, journals: journals) }

    func close() { store = nil }

    private func opened() throws -> BareStore {
        guard let store else { throw Failure("the store is closed") }
        return store
    }
}

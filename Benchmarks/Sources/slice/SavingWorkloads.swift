import BareLMDB
import Stet

/// Durable commits of inserts, by both programs, each into a new store of its own.
struct SavingWorkloads {
    private let options: Options
    private let samples: Samples
    private let directory: String

    init(_ options: Options, _ samples: Samples, directory: String) {
        self.options = options
        self.samples = samples
        self.directory = directory
    }

    /// One round; who begins changes from round to round.
    func run(round: Int, _ measurements: inout Measurements) throws {
        let stet: Totals
        let bare: Totals
        if round.isMultiple(of: 2) {
            stet = try runStet(&measurements)
            bare = try runBare(&measurements)
        } else {
            bare = try runBare(&measurements)
            stet = try runStet(&measurements)
        }
        try expectEqual(stet, bare, "saving")
    }

    private func runStet(_ measurements: inout Measurements) throws -> Totals {
        let store = try Store.open(try newPath("saving.stet"))
        defer { store.close() }
        try store.commitNotebooks()
        try run(.stet, try StetInserts(store, samples), &measurements)
        return try store.totals(hashes: true)
    }

    private func runBare(_ measurements: inout Measurements) throws -> Totals {
        let store = try BareStore(path: try newPath("saving.lmdb"), creates: true)
        try store.commitNotebooks()
        try run(.lmdbJournal, BareInserts(store: store, samples: samples), &measurements)
        return try store.scan(hashes: true)
    }

    /// The large commit, then those of middle size, then the small ones, all into one store.
    private func run(
        _ program: Program, _ inserts: some Inserts, _ measurements: inout Measurements
    ) throws {
        var next = 0
        func take(_ count: Int) -> Range<Int> {
            defer { next += count }
            return next..<next + count
        }
        let large = options.largeCommitCount
        try inserts.begin()
        try count("\(large)-insert", program, commits: 1, &measurements) { measurements in
            try measurements.time(
                "insert \(large) in one durable commit", program, .rate, objects: large
            ) { try inserts.commit(take(large)) }
        }
        let middle = options.middleCommitCount
        let commits = options.middleCommits
        try inserts.begin()
        try count("\(middle)-insert", program, commits: commits, &measurements) { measurements in
            try measurements.time(
                "insert \(middle) per durable commit", program, .rate, objects: middle * commits
            ) { for _ in 0..<commits { try inserts.commit(take(middle)) } }
        }
        let small = options.smallCommits
        try inserts.begin()
        try count("one-insert", program, commits: small, &measurements) { measurements in
            try measurements.time(
                "insert 1 per durable commit", program, .rate, objects: small
            ) { for _ in 0..<small { try inserts.commit(take(1)) } }
        }
    }

    /// Adds the pages and the write calls of the commits that `body` makes.
    private func count(
        _ name: String, _ program: Program, commits: Int, _ measurements: inout Measurements,
        _ body: (inout Measurements) throws -> Void
    ) throws {
        bare_trim_memory()
        let start = try WriteCounters.now()
        try body(&measurements)
        let end = try WriteCounters.now()
        measurements.add(
            end.pages(since: start) / Double(commits), .pages, "pages of a \(name) commit", program)
        measurements.add(
            Double(end.callCount - start.callCount) / Double(commits), .calls,
            "write calls of a \(name) commit", program)
    }

    /// How many samples a round takes.
    static func sampleCount(_ options: Options) -> Int {
        options.largeCommitCount + options.middleCommitCount * options.middleCommits
            + options.smallCommits
    }

    private func newPath(_ name: String) throws -> String {
        let path = "\(directory)/\(name)"
        try removeStore(path)
        return path
    }
}

/// A program that inserts samples.
private protocol Inserts {
    /// Called before a workload begins.
    func begin() throws
    func commit(_ range: Range<Int>) throws
}

private final class StetInserts: Inserts {
    private let store: Store
    private let samples: Samples
    private var context: ManagedContext
    private var notebooks: [Notebook]

    init(_ store: Store, _ samples: Samples) throws {
        self.store = store
        self.samples = samples
        (context, notebooks) = try store.contextWithNotebooks()
    }

    /// A context per workload, so that each begins with empty tables.
    func begin() throws {
        (context, notebooks) = try store.contextWithNotebooks()
    }

    func commit(_ range: Range<Int>) throws {
        context.insert(samples.values[range], into: notebooks)
        try context.save()
    }
}

private struct BareInserts: Inserts {
    let store: BareStore
    let samples: Samples

    func begin() {}

    func commit(_ range: Range<Int>) throws {
        try store.commit(range, of: samples)
    }
}

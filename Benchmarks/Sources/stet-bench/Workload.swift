/// The work that all programs are given; see `describe` for what each is.
enum Workload: String, CaseIterable {
    case insertAll = "W1"
    case insertThousands = "W1k"
    case readInOneScope = "W3"
    case readInScopes = "W3'"
    case sorted = "W4"
    case search = "W5"
    case walk = "W10"
    case fetchAll = "W11"
    case fetchSnapshots = "W11s"
    case fetchValues = "W11v"
    case insertSingly = "W2"
    case insertBy16 = "W2b"
    case insertBy64 = "W2c"
    case open = "W12"
    // Last, because scattered free pages slow down commits.
    case update = "W6"
    case undo = "W8"
    case delete = "W7"

    /// Counted while W2 runs.
    static let pages = "W2 pages"
    static let writeCalls = "W2 write calls"
    /// The time of the slowest commit but one in a hundred.
    static let tail = "W2 p99"
    /// The name of the figure for the size of the store after W1.
    static let size = "W1 size"

    var unit: Unit {
        switch self {
        case .insertAll, .insertThousands, .walk, .update, .undo, .delete: .objects
        case .fetchAll, .fetchSnapshots, .fetchValues: .objects
        case .insertSingly, .insertBy16, .insertBy64: .commits
        case .readInOneScope, .readInScopes: .reads
        case .sorted: .queries
        case .search: .rows
        case .open: .milliseconds
        }
    }

    func description(_ options: Options) -> String {
        switch self {
        case .insertAll: "insert \(options.storedCount) in one durable commit"
        case .insertThousands: "insert 1000 per durable commit, \(options.middleCommits) commits"
        case .readInOneScope: "\(options.readCount) random reads by id in one read scope"
        case .readInScopes: "the same, one read scope per read"
        case .sorted:
            "articles of 5 notebooks, about \(options.storedCount / 200), sorted by title"
        case .search: "count of those whose body has a text in it"
        case .fetchAll: "fetch all, and read 2 properties"
        case .fetchSnapshots: "the same, as values that are in no context"
        case .fetchValues: "the values of 2 properties of all, without the others"
        case .walk: "from \(Samples.notebookCount) notebooks to the titles of all their articles"
        case .insertSingly: "\(options.smallCommits) durable commits of one insert, one thread"
        case .insertBy16: "\(options.commitsBy16) durable commits of one insert, 16 writers"
        case .insertBy64: "\(options.commitsBy64) durable commits of one insert, 64 writers"
        case .open: "open a store of \(options.storedCount) and more, and one read"
        case .update:
            "update title and rating of \(options.changedCount), read by id, in one commit"
        case .undo: "undo the last commit, an update of \(options.undoneCount), durably"
        case .delete: "delete \(options.changedCount), read by id, in one commit"
        }
    }
}

/// The programs that are compared.
enum Program: String, CaseIterable {
    case stet
    case stetLogged = "stet-logged"
    case stetRelaxed = "stet-relaxed"
    case lmdb
    case lmdbJournal = "lmdb-journal"
    case grdb
    case grdbNormal = "grdb-normal"
    case grdbCached = "grdb-cached"
    case grdbTuned = "grdb-tuned"
    case grdbUndo = "grdb-undo"
    case grdbUndoTuned = "grdb-undo-tuned"
    /// Beside live queries only: observations of a whole table.
    case grdbRegion = "grdb-region"
    /// Beside the fetch of all objects only.
    case lmdbStructs = "lmdb-structs"
    /// Beside large data only: a plain file.
    case file

    /// The workloads of a program: an undo log does not change reads, and cached statements do not
    /// change writes.
    var workloads: Set<Workload> {
        switch self {
        case .stet: Set(Workload.allCases)
        case .lmdbJournal: Set(Workload.allCases).subtracting([.fetchSnapshots, .fetchValues])
        case .lmdb:
            Set(Workload.allCases).subtracting([.fetchSnapshots, .fetchValues, .undo])
        case .grdb, .grdbTuned: Set(Workload.allCases).subtracting([.undo])
        case .stetLogged, .stetRelaxed:
            [
                .insertAll, .insertThousands, .insertSingly, .insertBy16, .insertBy64, .update,
                .undo, .delete,
            ]
        case .grdbNormal: [.insertSingly, .insertBy16, .insertBy64]
        case .grdbCached: [.readInOneScope, .readInScopes]
        case .grdbUndo, .grdbUndoTuned:
            [
                .insertAll, .insertThousands, .insertSingly, .insertBy16, .insertBy64, .update,
                .undo, .delete,
            ]
        case .lmdbStructs, .grdbRegion, .file: []
        }
    }
}

/// A program with a store of its own, which lasts for one round.
protocol Peer: AnyObject {
    /// Inserts samples in one durable commit.
    func commit(_ range: Range<Int>) throws

    /// Inserts samples in a durable commit each; every writer has its share of them.
    func commitSingly(_ range: Range<Int>, writers: Int) async throws

    /// Looks up what `read`, `update` and `delete` need to find the objects that were inserted
    /// first.
    func prepareReads(_ positions: [Int]) throws
    func read(inOneScope: Bool) throws -> Totals

    /// Goes from every notebook to its articles, and reads their titles.
    func walk() throws -> Totals

    /// Finds the articles of notebooks at positions, and reads their titles in order.
    func sorted(_ notebooks: Range<Int>) throws -> TitlesInOrder

    /// Returns the number of articles with a text in their body.
    func count(containing text: String) throws -> Int

    /// All articles, of each the title and the rating.
    func fetchAll() throws -> Totals

    /// The same, where a program has another way to read values that nobody edits.
    func fetchSnapshots() throws -> Totals

    /// The titles and ratings of all articles, where a program can read them alone.
    func fetchValues() throws -> Totals

    /// Gives the objects at positions, which ascend, titles and ratings of samples, in one durable
    /// commit.
    func update(_ positions: [Int], to range: Range<Int>) throws

    /// Takes the last update back in one durable commit: only asked where the workload is.
    func undo() throws

    /// Deletes the objects at positions, which ascend, in one durable commit.
    func delete(_ positions: [Int]) throws

    /// Opens the closed store, reads one object, and closes it again.
    ///
    /// - Returns: how long it took up to the end of the read, and that object's totals.
    func openAndRead() throws -> (Duration, Totals)

    /// Reads everything that is stored.
    func check() throws -> Totals

    func open() throws
    func close() throws
}

extension Peer {
    func fetchSnapshots() throws -> Totals { try fetchAll() }

    func fetchValues() throws -> Totals { try fetchAll() }
}

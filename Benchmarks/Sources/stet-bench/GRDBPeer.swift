import Foundation
import GRDB
import Synchronization

// Stores dates as numbers, as Stet does. GRDB's default, text, would cost it more.

/// GRDB on SQLite as its documentation recommends, with records written by hand.
final class GRDBPeer: Peer {
    struct Kind: OptionSet {
        let rawValue: Int
        /// A cache of 64 MiB, and the file mapped.
        static let tuned = Kind(rawValue: 1)
        /// A prepared statement for reads by id.
        static let cached = Kind(rawValue: 2)
        /// Triggers that fill an undo log.
        static let undo = Kind(rawValue: 4)
        /// GRDB's default setting, with which a power cut may take the last commits.
        static let unsynced = Kind(rawValue: 8)
    }

    private let path: String
    private let samples: Samples
    private let kind: Kind
    private var pool: DatabasePool
    private var ids: [Int64] = []
    /// The number of changed rows, as the undo log counts them.
    private var changeCount = 0
    /// The entry of the undo log at which the last update begins.
    private var lastUpdate: Int64 = 0

    init(_ path: String, _ samples: Samples, _ kind: Kind) throws {
        self.path = path
        self.samples = samples
        self.kind = kind
        pool = try Self.openPool(path, kind)
        try pool.write { database in
            try createTables(database)
            if kind.contains(.undo) { try createUndoLog(database) }
            for _ in 0..<Samples.notebookCount {
                try database.execute(sql: "INSERT INTO notebook (name) VALUES ('Notebook')")
            }
        }
        changeCount = Samples.notebookCount
    }

    static func openPool(_ path: String, _ kind: Kind) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            guard kind.contains(.tuned) else { return }
            try database.execute(sql: "PRAGMA cache_size = -65536; PRAGMA mmap_size = 1073741824")
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        let level = kind.contains(.unsynced) ? 1 : 2
        try pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous = \(level)")
            try expectEqual(
                try Int.fetchOne(database, sql: "PRAGMA synchronous"), level, "PRAGMA synchronous")
            try expectEqual(
                try String.fetchOne(database, sql: "PRAGMA journal_mode"), "wal",
                "PRAGMA journal_mode")
        }
        return pool
    }

    func commit(_ range: Range<Int>) throws {
        try pool.write { database in
            for sample in samples.values[range] {
                var article = ArticleRecord(sample)
                try article.insert(database)
            }
        }
        changeCount += range.count
    }

    /// Each writer is a thread.
    func commitSingly(_ range: Range<Int>, writers: Int) throws {
        let failure = FirstFailure()
        let group = DispatchGroup()
        for share in range.shares(writers) {
            let samples = samples.values[share]
            group.enter()
            Thread.detachNewThread { [pool] in
                defer { group.leave() }
                failure.note {
                    for sample in samples {
                        try pool.write { database in
                            var article = ArticleRecord(sample)
                            try article.insert(database)
                        }
                    }
                }
            }
        }
        group.wait()
        try failure.check()
        changeCount += range.count
    }

    func prepareReads(_ positions: [Int]) {
        ids = positions.map { Int64($0 + 1) }
    }

    func read(inOneScope: Bool) throws -> Totals {
        var totals = Totals()
        if inOneScope {
            try pool.read { database in
                for id in ids { totals.addAll(try fetch(id, database)) }
            }
        } else {
            for id in ids { totals.addAll(try pool.read { try fetch(id, $0) }) }
        }
        return totals
    }

    private func fetch(_ id: Int64, _ database: Database) throws -> ArticleRecord? {
        guard kind.contains(.cached) else { return try ArticleRecord.fetchOne(database, key: id) }
        let statement = try database.cachedStatement(sql: ArticleRecord.selectByID)
        return try ArticleRecord.fetchOne(statement, arguments: [id])
    }

    func walk() throws -> Totals {
        try pool.read { database in
            var totals = Totals()
            for id in try Int64.fetchAll(database, sql: "SELECT id FROM notebook") {
                let articles = ArticleRecord.filter(Column("notebookId") == id)
                for article in try articles.fetchAll(database) {
                    totals.add(title: article.title)
                }
            }
            return totals
        }
    }

    func sorted(_ notebooks: Range<Int>) throws -> TitlesInOrder {
        let ids = Int64(notebooks.lowerBound + 1)...Int64(notebooks.upperBound)
        return try pool.read { database in
            let articles = ArticleRecord.filter(ids.contains(Column("notebookId")))
                .order(Column("title"))
            var titles = TitlesInOrder()
            for article in try articles.fetchAll(database) { titles.add(article.title) }
            return titles
        }
    }

    func count(containing text: String) throws -> Int {
        try pool.read { database in
            let statement = try database.cachedStatement(
                sql: "SELECT count(*) FROM article WHERE instr(body, ?) > 0")
            return try Int.fetchOne(statement, arguments: [text]) ?? 0
        }
    }

    func fetchAll() throws -> Totals {
        try pool.read { database in
            var totals = Totals()
            for article in try ArticleRecord.fetchAll(database) {
                totals.count += 1
                totals.titleByteCount += article.title.utf8.count
                totals.ratingSum += article.rating
            }
            return totals
        }
    }

    func fetchValues() throws -> Totals {
        try pool.read { database in
            var totals = Totals()
            let rows = try Row.fetchCursor(database, sql: "SELECT title, rating FROM article")
            while let row = try rows.next() {
                let title: String = row[0]
                totals.add(title: title)
                totals.ratingSum += row[1]
            }
            return totals
        }
    }

    func update(_ positions: [Int], to range: Range<Int>) throws {
        try pool.write { database in
            if kind.contains(.undo) { lastUpdate = try nextOfUndoLog(database) }
            for (position, sample) in zip(positions, samples.values[range]) {
                guard var article = try ArticleRecord.fetchOne(database, key: position + 1) else {
                    throw Failure("an article is missing")
                }
                article.title = sample.title
                article.rating = sample.rating
                try article.update(database, columns: ["title", "rating"])
            }
        }
        changeCount += positions.count
    }

    func undo() throws { try pool.write { try takeBack(from: lastUpdate, $0) } }

    func delete(_ positions: [Int]) throws {
        try pool.write { database in
            for position in positions {
                guard try ArticleRecord.deleteOne(database, key: position + 1) else {
                    throw Failure("an article is missing")
                }
            }
        }
        changeCount += positions.count
    }

    func openAndRead() throws -> (Duration, Totals) {
        let start = ContinuousClock.now
        let pool = try Self.openPool(path, kind)
        var totals = Totals()
        totals.addAll(try pool.read { try fetch(ids[0], $0) })
        let time = start.duration(to: .now)
        try pool.close()
        return (time, totals)
    }

    func check() throws -> Totals {
        try pool.read { database in
            var totals = Totals()
            let articles = try ArticleRecord.fetchCursor(database)
            while let article = try articles.next() {
                totals.addAll(article)
                totals.addHash(
                    title: article.title, body: article.body, rating: article.rating,
                    created: article.created, notebook: Int(article.notebook) - 1)
            }
            if kind.contains(.undo) {
                let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM undolog")
                try expectEqual(count, changeCount, "the undo log")
            }
            return totals
        }
    }

    func open() throws { pool = try Self.openPool(path, kind) }

    func close() throws { try pool.close() }
}

/// The first error of several threads.
private final class FirstFailure: Sendable {
    private let error = Mutex<(any Error)?>(nil)

    func note(_ body: () throws -> Void) {
        do {
            try body()
        } catch let met {
            error.withLock { $0 = $0 ?? met }
        }
    }

    func check() throws {
        if let met = error.withLock({ $0 }) { throw met }
    }
}

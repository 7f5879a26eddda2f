import GRDB

/// Texts in SQLite; the index of words is of FTS5 and contains no copy of the texts.
struct GRDBTexts {
    private let pool: DatabasePool

    init(_ texts: [String], path: String) throws {
        pool = try GRDBPeer.openPool(path, .tuned)
        try pool.write { database in
            try database.execute(
                sql: "CREATE TABLE text (id INTEGER PRIMARY KEY, content TEXT NOT NULL)")
            let insert = try database.makeStatement(sql: "INSERT INTO text VALUES (?, ?)")
            for (number, text) in texts.enumerated() {
                try insert.execute(arguments: [number, text])
            }
        }
    }

    /// Builds the index, in one transaction.
    func buildIndex() throws {
        try pool.write { database in
            try database.execute(
                sql: """
                    CREATE VIRTUAL TABLE words USING fts5(
                        content, content = 'text', content_rowid = 'id',
                        tokenize = "unicode61 remove_diacritics 2");
                    INSERT INTO words(words) VALUES ('rebuild');
                    """)
        }
    }

    func removeIndex() throws {
        try pool.write { try $0.execute(sql: "DROP TABLE words") }
    }

    /// The number of bytes of the index.
    func indexByteCount() throws -> Int {
        try pool.read { database in
            let blocks = try Int.fetchOne(
                database, sql: "SELECT sum(length(block)) FROM words_data")
            let ids = try Int.fetchOne(database, sql: "SELECT sum(length(sz)) FROM words_docsize")
            return (blocks ?? 0) + (ids ?? 0)
        }
    }

    func best(_ terms: String) throws -> [Int] {
        try pool.read { database in
            let statement = try database.cachedStatement(
                sql: "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10")
            return try Int.fetchAll(statement, arguments: [terms])
        }
    }

    func count(_ terms: String) throws -> Int {
        try pool.read { database in
            let statement = try database.cachedStatement(
                sql: "SELECT count(*) FROM words WHERE words MATCH ?")
            return try Int.fetchOne(statement, arguments: [terms]) ?? 0
        }
    }

    func all(_ terms: String) throws -> Set<Int> {
        try pool.read { database in
            try Int.fetchSet(
                database, sql: "SELECT rowid FROM words WHERE words MATCH ?", arguments: [terms])
        }
    }
}

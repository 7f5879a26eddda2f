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

    /// Builds an index of trigrams, in one transaction, and lets it follow changes of the texts.
    func buildTrigrams() throws {
        try pool.write { database in
            try database.execute(
                sql: """
                    CREATE VIRTUAL TABLE parts USING fts5(
                        content, content = 'text', content_rowid = 'id', tokenize = "trigram",
                        detail = 'none');
                    INSERT INTO parts(parts) VALUES ('rebuild');
                    CREATE TRIGGER text_changed AFTER UPDATE ON text BEGIN
                        INSERT INTO parts(parts, rowid, content)
                            VALUES ('delete', old.id, old.content);
                        INSERT INTO parts(rowid, content) VALUES (new.id, new.content);
                    END;
                    """)
        }
    }

    func removeTrigrams() throws {
        try pool.write { try $0.execute(sql: "DROP TRIGGER text_changed; DROP TABLE parts") }
    }

    /// Returns the number of texts that contain a part, without regard to the case of ASCII.
    func count(with part: String, usesIndex: Bool) throws -> Int {
        try pool.read { database in
            let statement = try database.cachedStatement(
                sql: usesIndex
                    ? "SELECT count(*) FROM parts WHERE content LIKE ?"
                    : "SELECT count(*) FROM text WHERE content LIKE ?")
            return try Int.fetchOne(statement, arguments: ["%\(part)%"]) ?? 0
        }
    }

    /// Replaces texts by others, each in a transaction of its own.
    func replace(_ texts: [(number: Int, text: String)]) throws {
        for (number, text) in texts {
            try pool.write { database in
                try database.cachedStatement(sql: "UPDATE text SET content = ? WHERE id = ?")
                    .execute(arguments: [text, number])
            }
        }
    }

    /// The number of bytes of an index of FTS5.
    func indexByteCount(_ name: String = "words") throws -> Int {
        try pool.read { database in
            let blocks = try Int.fetchOne(
                database, sql: "SELECT sum(length(block)) FROM \(name)_data")
            let ids = try Int.fetchOne(database, sql: "SELECT sum(length(sz)) FROM \(name)_docsize")
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

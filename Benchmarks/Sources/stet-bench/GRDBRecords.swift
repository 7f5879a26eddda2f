import FoundationEssentials
import GRDB

/// An article, by hand: columns by position, no `Codable`.
struct ArticleRecord: FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "article"
    static let selectByID = "SELECT * FROM article WHERE id = ?"

    var id: Int64?
    var title: String
    var body: String
    var rating: Int
    var created: Double
    var notebook: Int64

    init(_ sample: Sample) {
        title = sample.title
        body = sample.body
        rating = sample.rating
        created = sample.created.timeIntervalSinceReferenceDate
        notebook = Int64(sample.notebook + 1)
    }

    init(row: Row) {
        id = row[0]
        title = row[1]
        body = row[2]
        rating = row[3]
        created = row[4]
        notebook = row[5]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["title"] = title
        container["body"] = body
        container["rating"] = rating
        container["created"] = created
        container["notebookId"] = notebook
    }

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

func createTables(_ database: Database) throws {
    try database.create(table: "notebook") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("name", .text).notNull()
    }
    try database.create(table: "article") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("title", .text).notNull().indexed()
        table.column("body", .text).notNull()
        table.column("rating", .integer).notNull().indexed()
        table.column("created", .double).notNull()
        // With an index and a foreign-key check, because Stet checks its references, too.
        table.belongsTo("notebook").notNull()
    }
}

/// The undo log of sqlite.org/undoredo.html, kept in the database.
func createUndoLog(_ database: Database) throws {
    try database.execute(sql: "CREATE TABLE undolog (seq INTEGER PRIMARY KEY, sql TEXT)")
    let columns = [
        "notebook": ["name"],
        "article": ["title", "body", "rating", "created", "notebookId"],
    ]
    for (table, columns) in columns {
        let set = columns.map { "\($0)='||quote(old.\($0))||'" }.joined(separator: ",")
        let names = columns.joined(separator: ",")
        let values = columns.map { "'||quote(old.\($0))||'" }.joined(separator: ",")
        try database.execute(
            sql: """
                CREATE TRIGGER _\(table)_it AFTER INSERT ON \(table) BEGIN
                  INSERT INTO undolog VALUES(NULL,
                    'DELETE FROM \(table) WHERE rowid='||new.rowid);
                END;
                CREATE TRIGGER _\(table)_ut AFTER UPDATE ON \(table) BEGIN
                  INSERT INTO undolog VALUES(NULL,
                    'UPDATE \(table) SET \(set) WHERE rowid='||old.rowid);
                END;
                CREATE TRIGGER _\(table)_dt BEFORE DELETE ON \(table) BEGIN
                  INSERT INTO undolog VALUES(NULL,
                    'INSERT INTO \(table)(rowid,\(names)) VALUES('||old.rowid||',\(values))');
                END;
                """)
    }
}

/// The number of the next entry.
func nextOfUndoLog(_ database: Database) throws -> Int64 {
    try Int64.fetchOne(database, sql: "SELECT coalesce(max(seq), 0) + 1 FROM undolog") ?? 1
}

/// Undoes everything from an entry on, as sqlite.org/undoredo.html does it: the entries are taken
/// from the log and run, the last one first, which logs what a redo would run.
func takeBack(from first: Int64, _ database: Database) throws {
    let statements = try String.fetchAll(
        database, sql: "SELECT sql FROM undolog WHERE seq >= ? ORDER BY seq DESC",
        arguments: [first])
    try database.execute(sql: "DELETE FROM undolog WHERE seq >= ?", arguments: [first])
    for statement in statements { try database.execute(sql: statement) }
}

extension Totals {
    @inline(__always)
    mutating func addAll(_ article: ArticleRecord?) {
        guard let article else { return }
        count += 1
        titleByteCount += article.title.utf8.count
        bodyByteCount += article.body.utf8.count
        ratingSum += article.rating
        createdSum += Int(article.created)
    }
}

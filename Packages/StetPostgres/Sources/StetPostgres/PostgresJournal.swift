import Foundation
public import Stet

/// The journal of a store in a PostgreSQL database, or in another one that speaks its protocol and
/// has its `WITH … UPDATE … RETURNING`.
///
/// ```swift
/// let store = try Store.open(
///     at: "/var/lib/catalogue/node.stet", for: Item.self,
///     journal: .postgres("postgresql://stet@db/catalogue", store: "catalogue"))
/// ```
///
/// Three tables have the journals of all stores: `stet_head`, `stet_entry` and `stet_base`; the
/// first store of a database creates them. A commit is one statement. Nodes wake each other by
/// `NOTIFY` where the database has it, and ask repeatedly in any case.
///
/// A journal has one connection for commands and one for notifications, which it makes when they are
/// needed, and again after they were lost. Journals of one `PostgresDatabase` share connections.
public final class PostgresJournal: SharedJournal {
    /// The name of the store in the database.
    public let store: String
    private let database: PostgresDatabase
    /// A number that no other journal has.
    private let number = UInt64.random(in: .min ... .max)
    private var connection: ConnectionPool { database.pool }

    /// Creates the journal of a store; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - connection: A connection string or URI of libpq. What it does not say, such as the
    ///     password, libpq takes from its environment variables and files. It is never logged.
    ///   - store: The name of the store in the database.
    ///   - timeout: The time after which a statement without an answer is given up; 10 seconds by
    ///     default.
    public convenience init(
        _ connection: String, store: String, timeout: Duration = .seconds(10)
    ) {
        self.init(
            store: store,
            in: PostgresDatabase(connection, connectionLimit: 1, timeout: timeout))
    }

    init(store: String, in database: PostgresDatabase) {
        self.store = store
        self.database = database
    }

    /// The name of the store, without the connection.
    public var name: String { "“\(store)” in PostgreSQL" }

    // MARK: The head

    /// Returns the head of the journal; nil when the database has no store of this name.
    ///
    /// - Throws: `SharedJournalError`.
    /// - Complexity: one statement.
    public func head() throws -> SharedJournalHead? {
        try connection.repeated { session in
            do {
                return try session.run(Statement.head, [.text(store)]).head()
            } catch let failure as SQLFailure where failure.isMissingTable {
                return nil
            }
        }
    }

    /// Returns the head after making sure that no append that was begun before will succeed.
    ///
    /// - Throws: `SharedJournalError`.
    /// - Complexity: one statement.
    public func fence() throws -> SharedJournalHead? {
        // A counter would come to a number again after a standby has taken over that lacks it.
        let number = Int64.random(in: .min ... .max)
        return try connection.repeated {
            try $0.run(Statement.fence, [.text(store), .integer(number)]).head()
        }
    }

    // MARK: Entries

    /// Appends entries if the journal is at a head, and replaces earlier ones in which values were
    /// redacted, by one statement.
    ///
    /// - Returns: False when the journal is at another head, or was fenced since.
    /// - Throws: `SharedJournalError`: `.unavailable` when they were not appended, and will not be;
    ///   `.outcomeUnknown` when they may have been.
    public func append(
        _ entries: [SharedJournalEntry], replacing earlier: [SharedJournalEntry],
        after head: SharedJournalHead
    ) throws -> Bool {
        guard let last = entries.last else { return true }
        return try connection.once { session in
            let answer: Answer
            do {
                // Only a redaction needs the right to change entries.
                answer = try session.run(
                    earlier.isEmpty ? Statement.append : Statement.appendReplacing,
                    [
                        .text(store), .integer(head.revision), .bytes(head.hash),
                        .integer(head.fence), .integer(last.revision), .bytes(last.hash),
                    ] + Parameter.columns(of: entries)
                        + (earlier.isEmpty ? [] : Parameter.columns(of: earlier)))
            } catch let failure as SQLFailure where failure.isRepeatable {
                return false
            }
            guard answer.changedCount == entries.count else { return false }
            session.notify(Notification(store: store, sender: number))
            return true
        }
    }

    /// Returns the entries after a revision, in order.
    ///
    /// - Throws: `SharedJournalError`.
    /// - Complexity: one statement.
    public func entries(
        after revision: Revision, byteLimit: Int
    ) throws -> [SharedJournalEntry] {
        try connection.repeated { session in
            let answer = try session.run(
                Statement.entries, [.text(store), .integer(revision), .integer(Int64(byteLimit))])
            return try (0..<answer.rowCount).map { row in
                SharedJournalEntry(
                    revision: try answer.revision(row, 0), hash: try answer.bytes(row, 1),
                    bytes: try answer.bytes(row, 2))
            }
        }
    }

    // MARK: The whole store

    /// Makes the journal of a store, with a copy of its file, in one transaction.
    ///
    /// - Returns: False when the database has a store of this name.
    /// - Throws: `SharedJournalError`.
    public func create(at head: SharedJournalHead, base path: String) throws -> Bool {
        try connection.once { session in
            try makeTables(session)
            return try session.transaction("BEGIN") {
                let inserted = try session.run(
                    Statement.insertHead,
                    [
                        .text(store), .bytes(Array(head.store.description.utf8)),
                        .integer(head.revision), .bytes(head.hash), .integer(head.fence),
                    ])
                guard inserted.changedCount == 1 else { return false }
                try insertBase(path, at: head.revision, session)
                return true
            }
        }
    }

    /// Inserts a file in pieces of a MiB.
    private func insertBase(_ path: String, at revision: Revision, _ session: Session) throws {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var number: Int64 = 0
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {
            try session.run(
                Statement.insertBase,
                [.text(store), .integer(revision), .integer(number), .bytes(Array(piece))])
            number += 1
        }
    }

    /// Replaces the copy of the store's file by a later one, and removes entries, in one
    /// transaction on a connection of its own.
    ///
    /// - Throws: `SharedJournalError` (`.unavailable`), also when the role may not do so.
    public func replaceBase(
        by path: String, at head: SharedJournalHead, removingEntriesThrough last: Revision
    ) throws {
        try connection.separately { session in
            do {
                try replaceBase(path, head, last, session)
            } catch let failure as SQLFailure where failure.isPresent {
                // Another node has inserted a copy of the same commit.
                try replaceBase(path, head, last, session)
            }
        }
    }

    private func replaceBase(
        _ path: String, _ head: SharedJournalHead, _ last: Revision, _ session: Session
    ) throws {
        let store = Parameter.text(store)
        _ = try session.transaction("BEGIN") {
            let present = try session.run(
                Statement.laterBases, [store, .integer(head.revision)])
            if try present.integer(0, 0) == 0 {
                try insertBase(path, at: head.revision, session)
            }
            try deleteEntries(through: last, session)
            // Holds the head until the end: the journal is not removed meanwhile, and of the copies
            // of several nodes the last one stays.
            let held = try session.run(
                Statement.hold, [store, .bytes(Array(head.store.description.utf8))])
            guard held.changedCount == 1 else {
                throw SharedJournalError(.unavailable, "the journal was removed")
            }
            try session.run(Statement.deleteEarlierBases, [store])
            return true
        }
    }

    /// Removes the first entries, so many at a time that a statement does not take long.
    private func deleteEntries(through last: Revision, _ session: Session) throws {
        let first = try session.run(Statement.firstEntry, [.text(store)]).integer(0, 0)
        let end = Int64(bitPattern: last.number)
        for start in stride(from: first, through: end, by: 10_000) {
            try session.run(
                Statement.deleteFirstEntries,
                [.text(store), .integer(min(start + 9_999, end))])
        }
    }

    /// Makes the tables unless they exist; a role that may not make tables needs them to exist.
    private func makeTables(_ session: Session) throws {
        do {
            try session.run(Statement.head, [.text(store)])
        } catch let failure as SQLFailure where failure.isMissingTable {
            do {
                try session.run(Statement.tables)
            } catch let failure as SQLFailure where failure.isPresent {
                // Another node has made them at the same time.
            }
        }
    }

    /// Reads the copy of the store's file that the database has, a MiB at a time.
    ///
    /// - Returns: False when the database has no store of this name.
    /// - Throws: `SharedJournalError`, and the errors of `receive`.
    public func readBase(
        _ receive: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Bool {
        guard try head() != nil else { return false }
        return try connection.once { session in
            try session.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") {
                var number: Int64 = 0
                while true {
                    let answer = try session.run(
                        Statement.base, [.text(store), .integer(number)])
                    if answer.rowCount == 0 { return number > 0 }
                    try answer.bytes(0, 0).withUnsafeBytes(receive)
                    number += 1
                }
            }
        }
    }

    /// Removes the journal if it is at a head.
    ///
    /// - Returns: False when it is at another head.
    /// - Throws: `SharedJournalError`.
    public func remove(at head: SharedJournalHead) throws -> Bool {
        try connection.once { session in
            try session.transaction("BEGIN") {
                let removed = try session.run(
                    Statement.deleteHead,
                    [
                        .text(store), .integer(head.revision), .bytes(head.hash),
                        .integer(head.fence),
                    ])
                guard removed.changedCount == 1 else { return false }
                try session.run(Statement.deleteEntries, [.text(store)])
                try session.run(Statement.deleteBase, [.text(store)])
                return true
            }
        }
    }

    // MARK: Hints

    /// Calls `wake` after appends of other nodes, until the returned object is released; returns
    /// nil when the database has no `LISTEN`, or cannot be reached.
    public func listen(_ wake: @escaping @Sendable () -> Void) -> AnyObject? {
        database.listener.listen(to: store, for: number, wake)
    }
}

extension SharedJournal where Self == PostgresJournal {
    /// Returns the journal of a store in a PostgreSQL database.
    ///
    /// - Parameters:
    ///   - connection: A connection string or URI of libpq, which is never logged.
    ///   - store: The name of the store in the database.
    /// - Returns: The journal; nothing is connected yet.
    public static func postgres(_ connection: String, store: String) -> PostgresJournal {
        PostgresJournal(connection, store: store)
    }
}

/// The statements, in the SQL that PostgreSQL, CockroachDB and YugabyteDB have in common.
private enum Statement {
    static let tables = """
        CREATE TABLE IF NOT EXISTS stet_head (
            store text PRIMARY KEY, id bytea NOT NULL, revision bigint NOT NULL,
            hash bytea NOT NULL, fence bigint NOT NULL);
        CREATE TABLE IF NOT EXISTS stet_entry (
            store text NOT NULL, revision bigint NOT NULL, hash bytea NOT NULL,
            bytes bytea NOT NULL, PRIMARY KEY (store, revision));
        CREATE TABLE IF NOT EXISTS stet_base (
            store text NOT NULL, revision bigint NOT NULL, number bigint NOT NULL,
            bytes bytea NOT NULL, PRIMARY KEY (store, revision, number))
        """
    static let head = "SELECT id, revision, hash, fence FROM stet_head WHERE store = $1"
    static let fence = """
        UPDATE stet_head SET fence = $2 WHERE store = $1
        RETURNING id, revision, hash, fence
        """
    static let append = """
        WITH head AS (
            UPDATE stet_head SET revision = $5, hash = $6
            WHERE store = $1 AND revision = $2 AND hash = $3 AND fence = $4 RETURNING store)
        INSERT INTO stet_entry (store, revision, hash, bytes)
        SELECT head.store, entry.revision, entry.hash, entry.bytes
        FROM head, unnest($7::bigint[], $8::bytea[], $9::bytea[])
            AS entry (revision, hash, bytes)
        """
    static let appendReplacing = """
        WITH head AS (
            UPDATE stet_head SET revision = $5, hash = $6
            WHERE store = $1 AND revision = $2 AND hash = $3 AND fence = $4 RETURNING store),
        earlier AS (
            UPDATE stet_entry SET bytes = entry.bytes
            FROM head, unnest($10::bigint[], $11::bytea[], $12::bytea[])
                AS entry (revision, hash, bytes)
            WHERE stet_entry.store = head.store AND stet_entry.revision = entry.revision
                AND stet_entry.hash = entry.hash)
        INSERT INTO stet_entry (store, revision, hash, bytes)
        SELECT head.store, entry.revision, entry.hash, entry.bytes
        FROM head, unnest($7::bigint[], $8::bytea[], $9::bytea[])
            AS entry (revision, hash, bytes)
        """
    static let entries = """
        SELECT revision, hash, bytes FROM (
            SELECT revision, hash, bytes,
                sum(length(bytes)) OVER (ORDER BY revision) - length(bytes) AS before
            FROM (SELECT revision, hash, bytes FROM stet_entry
                WHERE store = $1 AND revision > $2 ORDER BY revision LIMIT 1000) AS next
        ) AS measured WHERE before < $3 ORDER BY revision
        """
    static let insertHead = """
        INSERT INTO stet_head (store, id, revision, hash, fence) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (store) DO NOTHING
        """
    static let insertBase = """
        INSERT INTO stet_base (store, revision, number, bytes) VALUES ($1, $2, $3, $4)
        """
    static let base = """
        SELECT bytes FROM stet_base WHERE store = $1 AND number = $2
            AND revision = (SELECT max(revision) FROM stet_base WHERE store = $1)
        """
    static let laterBases = "SELECT count(*) FROM stet_base WHERE store = $1 AND revision >= $2"
    static let deleteEarlierBases = """
        DELETE FROM stet_base WHERE store = $1
            AND revision < (SELECT max(revision) FROM stet_base WHERE store = $1)
        """
    static let firstEntry = """
        SELECT coalesce(min(revision), 1) FROM stet_entry WHERE store = $1
        """
    static let deleteFirstEntries = "DELETE FROM stet_entry WHERE store = $1 AND revision <= $2"
    static let hold = "UPDATE stet_head SET fence = fence WHERE store = $1 AND id = $2"
    static let deleteHead = """
        DELETE FROM stet_head WHERE store = $1 AND revision = $2 AND hash = $3 AND fence = $4
        """
    static let deleteEntries = "DELETE FROM stet_entry WHERE store = $1"
    static let deleteBase = "DELETE FROM stet_base WHERE store = $1"
}

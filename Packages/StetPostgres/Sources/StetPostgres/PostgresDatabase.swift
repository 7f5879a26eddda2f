public import Stet

/// The connections to a PostgreSQL database that the journals of several stores share.
///
/// ```swift
/// let database = PostgresDatabase("postgresql://stet@db/tenants")
/// let store = try Store.open(at: path, for: Item.self, journal: database.journal(of: tenant))
/// ```
///
/// A journal alone has a connection for commands and one for notifications; a hundred of them would
/// need two hundred.
public final class PostgresDatabase: Sendable {
    let pool: ConnectionPool
    let listener: Listener

    /// Creates the connections; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - connection: A connection string or URI of libpq. What it does not say, such as the
    ///     password, libpq takes from its environment variables and files. It is never logged.
    ///   - connectionLimit: The number of connections for commands, at least 1; 8 by default. There
    ///     is one more for notifications, and one while a copy of a store is replaced.
    ///   - timeout: The time after which a statement without an answer is given up; 10 seconds by
    ///     default.
    public init(
        _ connection: String, connectionLimit: Int = 8, timeout: Duration = .seconds(10)
    ) {
        pool = ConnectionPool(connection, timeout: timeout, limit: max(connectionLimit, 1))
        listener = Listener(pool)
    }

    /// Returns the journal of a store.
    ///
    /// - Parameter store: The name of the store in the database.
    /// - Returns: The journal.
    public func journal(of store: String) -> PostgresJournal {
        PostgresJournal(store: store, in: self)
    }
}

import CLibpq
import Stet

/// A service that does the same with plain SQL: a counter of a random item is raised, and what has
/// changed is kept, in one statement.
final class PlainService {
    private let handle: OpaquePointer

    init(_ connection: String) throws {
        guard let handle = PQconnectdb(connection), PQstatus(handle) == CONNECTION_OK else {
            throw SharedJournalError(.unavailable, "the plain service cannot connect")
        }
        self.handle = handle
    }

    deinit { PQfinish(handle) }

    func makeTables(itemCount: Int) throws {
        try run("CREATE TABLE item (id bigint PRIMARY KEY, name text UNIQUE, stock bigint)")
        try run(
            "CREATE TABLE item_change (number bigserial PRIMARY KEY, item bigint, author text, "
                + "stock bigint, time timestamptz DEFAULT now())")
        try run(
            "INSERT INTO item SELECT n, 'item ' || n, 0 FROM generate_series(1, \(itemCount)) n")
    }

    func raise(_ item: Int) throws {
        try run(
            "WITH changed AS (UPDATE item SET stock = stock + 1 WHERE id = \(item) "
                + "RETURNING id, stock) INSERT INTO item_change (item, author, stock) "
                + "SELECT id, 'lala', stock FROM changed")
    }

    private func run(_ sql: String) throws {
        let result = PQexec(handle, sql)
        defer { PQclear(result) }
        guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
            throw SharedJournalError(
                .unavailable, String(cString: PQerrorMessage(handle)))
        }
    }
}

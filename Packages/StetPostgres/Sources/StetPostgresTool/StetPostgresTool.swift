import StetCLI
import StetPostgres

/// The program `stet-postgres`: `stet`, with journals in PostgreSQL.
@main
enum StetPostgresTool {
    static func main() {
        Tool.run { connection, store in PostgresJournal(connection, store: store) }
    }
}

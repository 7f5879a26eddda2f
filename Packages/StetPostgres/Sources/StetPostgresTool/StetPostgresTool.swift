import Stet
import StetCLI
import StetPostgres
import StetStemming

/// The program `stet-postgres`: `stet`, with journals in PostgreSQL.
@main
enum StetPostgresTool {
    static func main() {
        // Stores are opened without their models: the stemmers of their languages must be known.
        _ = TextLanguage.snowball
        Tool.run { connection, store in PostgresJournal(connection, store: store) }
    }
}

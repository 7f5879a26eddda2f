import Stet
import StetLMDB
import StetStore

extension ContractRun {
    private struct NothingToWrite: Error {}

    /// Checks that projecting the entries of the journal in order produces the tables of the store,
    /// byte for byte, but for large data.
    func compareProjection() throws {
        let (file, projection) = (store.file, store.file.projection)
        let tables = projection.journaledTables
        let entries = try store.journal()
        do {
            try file.environment.write { transaction in
                let stored = try tables.map { try contents(of: $0, transaction.reading) }
                for table in tables { try transaction.empty(table) }
                for entry in entries { try projection.project(entry, in: transaction) }
                for (table, stored) in zip(tables, stored) {
                    let projected = try contents(of: table, transaction.reading)
                    if projected == stored { continue }
                    throw Difference(
                        "the journal projects to \(projected.count) entries of a table, "
                            + "of which \(zip(projected, stored).count { $0 == $1 }) are as the "
                            + "\(stored.count) that are stored")
                }
                throw NothingToWrite()
            }
        } catch is NothingToWrite {}
        count("projected")
    }

    private func contents(
        of table: Table, _ transaction: borrowing ReadTransaction
    ) throws -> [[[UInt8]]] {
        var contents: [[[UInt8]]] = []
        try transaction.scan(table) { key, value in
            contents.append([Array(key), Array(value)])
            return true
        }
        return contents
    }
}

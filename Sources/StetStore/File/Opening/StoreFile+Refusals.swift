import Glibc
import StetLMDB

/// The checks before LMDB maps a file.
extension StoreFile {
    /// Refuses a file that is shorter than it states: LMDB would end the process.
    static func refuseUnusable(_ path: String) throws {
        let inspection = try FileInspection.inspect(path: path, walkingPages: false)
        if inspection.isEmptyFile {
            throw StoreError(
                .notAStore, path: path, message: "The file is empty; it is not a Stet store.",
                advice: "Correct the path, or remove the file; nothing was changed.")
        }
        try refuseDamaged(inspection, path)
    }

    /// Refuses a damaged file, and names the first damage.
    static func refuseDamaged(_ inspection: FileInspection, _ path: String) throws {
        if let damage = inspection.damages.first {
            throw StoreError.damaged("\(damage)", path: path)
        }
    }

    /// Refuses a file that is not a store, or not one for the declared models, before LMDB creates
    /// a lock file beside it.
    ///
    /// If a lock file exists, none would be created, and reading without a lock would not be
    /// reliable: then `connect` checks instead.
    static func refuseForeign(_ place: StorePlace, _ declared: DeclaredModels?) throws {
        guard place.lockFile == nil else { return }
        do {
            func value(of key: String) throws -> [UInt8]? {
                try FileInspection.value(of: Array(key.utf8), inFileAt: place.path)
            }
            try StoreTables.checkIdentity(place.path, value)
            let schema = try StoreTables.schema(value)
            if let comparison = try declared?.comparison(with: schema) {
                try comparison.refuseProblems(place.path)
            }
        } catch {
            // If another process has opened the file since, it may have changed during this check.
            if access(place.lockPath, F_OK) != 0 { throw error }
        }
    }

    /// Refuses models other than those with which this process has the store open.
    static func refuseOthers(_ file: StoreFile, _ declared: DeclaredModels) throws {
        let comparison = try declared.comparison(with: file.schema)
        let differences = comparison.problems + comparison.steps
        guard differences.isEmpty else {
            throw StoreError(
                .modelMismatch, path: file.path,
                message:
                    "The store is open in this process with other models: "
                    + "\(differences.joined(separator: "; ")).",
                advice: "Close it there first.")
        }
    }
}

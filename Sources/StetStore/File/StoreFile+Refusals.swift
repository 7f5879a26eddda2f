import Glibc
import StetLMDB

/// What is looked at before LMDB maps a file.
extension StoreFile {
    /// Refuses a file that is shorter than it says: it would end the process.
    static func refuseUnusable(_ path: String) throws {
        let inspection = try FileInspection.inspect(path: path, walkingPages: false)
        if inspection.isEmptyFile {
            throw StoreError(
                .notAStore, path: path, message: "The file is empty, and so not a Stet store.",
                advice: "Correct the path, or remove the file; nothing was changed.")
        }
        try refuseDamaged(inspection, path)
    }

    /// Refuses a file with damage, and names the first.
    static func refuseDamaged(_ inspection: FileInspection, _ path: String) throws {
        if let damage = inspection.damages.first {
            throw StoreError.damaged("\(damage)", path: path)
        }
    }

    /// Refuses a file that is no store, or none for the declared models, before LMDB makes a lock
    /// file beside it.
    ///
    /// Beside a lock file nothing would be made, and what is read without a lock would not be
    /// reliable: then it is left to `connect`.
    static func refuseForeign(_ place: StorePlace, _ declared: DeclaredModels?) throws {
        guard place.lockFile == nil else { return }
        do {
            func value(of key: String) throws -> [UInt8]? {
                try FileInspection.value(of: Array(key.utf8), inFileAt: place.path)
            }
            try StoreTables.checkIdentity(place.path, value)
            let schema = try StoreTables.schema(value)
            if let comparison = try declared?.comparison(with: schema) {
                try refuseMismatch(comparison, place.path)
            }
        } catch {
            // Who has opened the file meanwhile may have changed it under this look.
            if access(place.lockPath, F_OK) != 0 { throw error }
        }
    }

    /// Refuses models that the store cannot be brought to by itself.
    static func refuseMismatch(_ comparison: SchemaComparison, _ path: String) throws {
        guard comparison.problems.isEmpty else {
            throw StoreError(
                .modelMismatch, path: path,
                message:
                    "The store was made for other models: "
                    + "\(comparison.problems.joined(separator: "; ")).",
                advice: "Open it with the models it was made for, or with a plan that migrates it.")
        }
    }

    /// Refuses models other than those that this process has the store open with.
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

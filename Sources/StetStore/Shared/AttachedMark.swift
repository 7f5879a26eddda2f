import StetLMDB

/// The mark in a store's file that its journal is shared: nobody may save without it.
enum AttachedMark {
    private static let key: StaticString = "attached"
    private static let format: UInt8 = 1

    /// Returns whether the store is a node of a shared journal.
    static func read(in transaction: borrowing ReadTransaction) throws -> Bool {
        guard let value = try transaction.get(key, in: .unnamed) else { return false }
        guard value.count == 1, value[0] == format else {
            throw DecodingFailure("its mark of a shared journal is of an unknown format")
        }
        return true
    }

    /// Refuses what the nodes of a shared journal cannot do.
    static func refuse(_ what: String, in transaction: borrowing WriteTransaction) throws {
        guard try read(in: transaction.reading) else { return }
        throw StoreError.sharedJournal(what, path: transaction.reading.environment.path)
    }

    /// Sets the mark, durably; returns whether the store had it.
    @discardableResult
    static func set(_ isAttached: Bool, _ environment: Environment) throws -> Bool {
        try environment.write { transaction in
            let before = try read(in: transaction.reading)
            try put(isAttached, in: transaction)
            return before
        }
    }

    static func put(_ isAttached: Bool, in transaction: borrowing WriteTransaction) throws {
        if isAttached {
            try withUnsafeBytes(of: format) { try transaction.put($0, for: key, in: .unnamed) }
        } else {
            try transaction.delete(key, in: .unnamed)
        }
    }
}

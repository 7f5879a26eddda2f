import ArgumentParser
import StetStore
import Synchronization

/// The shared journals that the program can open.
enum SharedJournals {
    /// Returns the journal of a store at a connection.
    typealias Opener = @Sendable (_ connection: String, _ store: String) -> any SharedJournal

    private static let opener = Mutex<Opener?>(nil)

    static func register(_ new: Opener?) { opener.withLock { $0 = new } }

    /// Opens a journal.
    ///
    /// - Throws: `Failure` when the program has no shared journals.
    static func open(_ connection: String, _ store: String) throws -> any SharedJournal {
        guard let opener = opener.withLock({ $0 }) else {
            throw Failure(
                .usage, code: "usage", path: nil,
                message: "This program can't open shared journals.",
                advice: "Use stet-postgres, which is in the package StetPostgres.")
        }
        return opener(connection, store)
    }
}

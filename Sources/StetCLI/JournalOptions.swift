import ArgumentParser
import StetStore

/// The options that name the shared journal of a node.
struct JournalOptions: ParsableArguments {
    @Option(
        name: .customLong("journal"),
        help: "The connection of the shared journal of which the store is a node.")
    var connection: String?

    @Option(
        name: .customLong("journal-store"),
        help: "The store's name in the shared journal; without it, the name of the file.")
    var store: String?

    /// Returns the journal; nil when none is named.
    func open(for path: String) throws -> (any SharedJournal)? {
        guard let connection else { return nil }
        return try SharedJournals.open(connection, store ?? Self.name(of: path))
    }

    /// Returns the journal.
    ///
    /// - Throws: `Failure` when none is named.
    func openRequired(for path: String) throws -> any SharedJournal {
        guard let journal = try open(for: path) else {
            throw Failure(
                .usage, code: "usage", path: path, message: "The command needs a shared journal.",
                advice: "Name its connection with --journal.")
        }
        return journal
    }

    private static func name(of path: String) -> String {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        return file.hasSuffix(".stet") ? String(file.dropLast(5)) : file
    }
}

import ArgumentParser
import StetStore

/// `stet attach`: moves the journal of a store into a shared journal.
struct AttachCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Moves the journal of a store into a shared journal.",
        discussion: """
            The store becomes the first node of the shared journal, and loses nothing. No other \
            process may have it open. After a failure the same command completes the work.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var journal: JournalOptions

    func perform(_ output: Output) throws -> ExitCode {
        let journal = try journal.openRequired(for: options.path)
        try journal.attach(options.path)
        try output.say(
            text: "attached to the shared journal \(journal.name)",
            json: .object(["isNode": .bool(true), "journal": .string(journal.name)]))
        return .success
    }
}

/// `stet detach`: ends a shared journal.
struct DetachCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Ends a shared journal; the store continues alone.",
        discussion: """
            The store gets what it lacks from the shared journal, which is then removed. All other \
            nodes can only be read from then on. No other process may have the store open. After a \
            failure the same command completes the work.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var journal: JournalOptions

    func perform(_ output: Output) throws -> ExitCode {
        let journal = try journal.openRequired(for: options.path)
        try journal.detach(options.path)
        try output.say(
            text: "detached from the shared journal \(journal.name)",
            json: .object(["isNode": .bool(false), "journal": .string(journal.name)]))
        return .success
    }
}

/// `stet remake`: makes a node anew.
struct RemakeCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "remake",
        abstract: "Makes the file of a node anew from the shared journal.",
        discussion: """
            For a node that is damaged, or lacks commits that were trimmed. No process may have it \
            open. The former file stays beside it, with .former at the end of its name: it alone \
            has the node's durable subscriptions.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var journal: JournalOptions

    func perform(_ output: Output) throws -> ExitCode {
        let journal = try journal.openRequired(for: options.path)
        try journal.remake(options.path)
        let revision = try openStore().head().revision
        try output.say(
            text: "made anew at revision \(revision); the former file is \(options.path).former",
            json: .object([
                "former": .string("\(options.path).former"), "revision": .number(revision.number),
            ]))
        return .success
    }
}

/// `stet renew-base`: replaces the copy from which new nodes begin.
struct RenewBaseCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "renew-base",
        abstract: "Replaces the copy of the store from which new nodes begin.",
        discussion: """
            New nodes then need only the commits after this one. Trim and redact do this, too.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var journal: JournalOptions

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore(of: try journal.openRequired(for: options.path))
        try StoreNode(store).renewBase()
        let revision = try store.head().revision
        try output.say(
            text: "new nodes begin with a copy of revision \(revision) or later",
            json: .object(["revision": .number(revision.number)]))
        return .success
    }
}

import ArgumentParser

/// The tool, which shows, verifies and copies stores without their models.
struct StetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stet",
        abstract: "Shows, queries, fills, verifies and copies Stet stores.",
        discussion: """
            The tool needs no models: a store contains the description of its own. Other processes \
            may use the store meanwhile. Only undo, redo, revert, import, trim, redact, compact \
            --in-place, attach, detach, remake and subscriptions write to it, and only remake \
            makes a missing file; keys reads and writes a key file instead. Each command reads \
            the store in a child process, so that a damaged file cannot end the tool itself.

            A node of a shared journal can be read without that. To write to it, name the journal \
            with --journal; the program stet-postgres, which has all of these commands, knows \
            journals in PostgreSQL.

            With --json, results are JSON on standard output (one object, or one per line) and \
            errors are JSON objects on standard error. Keys are sorted; times are ISO 8601 to the \
            millisecond, data are base64, ids are UUIDs, and NaN and infinities are strings.

            EXIT CODES:
              0    all is well
              1    verify found something wrong, or there are conflicts or violations, or
                   values are redacted or in use
              64   the command line is not valid
              65   the file is not a store, or it is damaged, or written by a later version; or
                   a file to be imported is malformed
              66   there is no such file, revision or object
              70   the tool itself failed
              73   the copy cannot be created, for instance because the file exists
              74   reading or writing failed, or the disk is full
              77   permission is missing, or the store is in an unsafe place
              128+ a signal from outside ended the command
            """,
        subcommands: [
            InfoCommand.self, LogCommand.self, ShowCommand.self, DumpCommand.self,
            QueryCommand.self, ExportCommand.self, ImportCommand.self,
            DiffCommand.self, BlameCommand.self, UndoCommand.self, RedoCommand.self,
            RevertCommand.self, VerifyCommand.self, BackupCommand.self, ShipCommand.self,
            RestoreCommand.self,
            CompactCommand.self, TrimCommand.self, RedactCommand.self, SubscriptionsCommand.self,
            KeysCommand.self,
            AttachCommand.self, DetachCommand.self, RenewBaseCommand.self, RemakeCommand.self,
            InChildCommand.self,
        ])
}

/// The options of all commands on a store.
struct StoreOptions: ParsableArguments {
    @Argument(help: "The store's file.", completion: .file())
    var path: String

    @Flag(help: "Writes JSON instead of text.")
    var json = false

    @Flag(help: "Shows the values of hidden properties, too.")
    var hidden = false

    @Flag(help: "Reads a store on a network file system, or in a directory that all may write to.")
    var allowUnsafePlace = false
}

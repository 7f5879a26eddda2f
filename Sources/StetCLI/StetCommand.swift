import ArgumentParser

/// The entry point of the program.
package enum Tool {
    /// Executes the command line, and ends the process.
    package static func run() { StetCommand.main() }
}

/// The tool, which shows, verifies and copies stores without their models.
struct StetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stet",
        abstract: "Shows, queries, fills, verifies and copies Stet stores.",
        discussion: """
            Needs no models: a store holds the description of its own. A store may be in use by \
            other processes meanwhile; only undo, redo, revert, import, trim, redact and \
            subscriptions write to it, and none is made where there is none. Each command reads \
            the store in a child process, so that a damaged file cannot end the tool itself.

            With --json, results are JSON on standard output (one object, or one per line) and \
            errors are JSON objects on standard error. Keys are sorted; times are ISO 8601 to the \
            millisecond, data are base64, ids are UUIDs, and NaN and infinities are strings.

            EXIT CODES:
              0    all is well
              1    verify found something wrong, or there are conflicts or violations, or
                   values are redacted or in use
              64   the command line is not understood
              65   the file is not a store, or it is damaged, or written by a later version; or
                   a file to be imported is not written as it should be
              66   there is no such file, revision or object
              70   the tool itself failed
              73   the copy cannot be made, as when there is such a file already
              74   reading or writing failed, or the disk is full
              77   the permission is missing, or the store is in a place that is not safe
              128+ a signal from outside ended the command
            """,
        subcommands: [
            InfoCommand.self, LogCommand.self, ShowCommand.self, DumpCommand.self,
            QueryCommand.self, ExportCommand.self, ImportCommand.self,
            DiffCommand.self, BlameCommand.self, UndoCommand.self, RedoCommand.self,
            RevertCommand.self, VerifyCommand.self, BackupCommand.self, ShipCommand.self,
            RestoreCommand.self,
            CompactCommand.self, TrimCommand.self, RedactCommand.self, SubscriptionsCommand.self,
            InChildCommand.self,
        ])
}

/// The options of all commands on a store.
struct StoreOptions: ParsableArguments {
    @Argument(help: "The store's file.", completion: .file())
    var path: String

    @Flag(help: "Writes JSON instead of text.")
    var json = false

    @Flag(help: "Reads a store on a network file system, or in a directory that all may write to.")
    var allowUnsafePlace = false
}

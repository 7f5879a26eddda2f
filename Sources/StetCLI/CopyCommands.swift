import ArgumentParser
import Glibc
import StetStore

/// What the commands that make a copy are told.
struct CopyOptions: ParsableArguments {
    @Argument(help: "The file to make; refused when it is there.", completion: .file())
    var target: String

    @Flag(help: "Tells how far it is, on standard error, even if that is not a terminal.")
    var progress = false
}

/// A command that copies a store.
protocol CopyCommand: StoreCommand {
    var copy: CopyOptions { get }
}

extension CopyCommand {
    /// Lets `copy` make the copy and tell how far it is.
    func makeCopy(
        _ output: Output,
        _ copyTo: (String, (StoreCopy.Progress) -> Void) throws -> StoreCopy
    ) throws -> ExitCode {
        let isTerminal = isatty(STDERR_FILENO) != 0
        var lastShare = -1
        do {
            let made = try copyTo(copy.target) { progress in
                let share = progress.byteCount * 100 / max(progress.expectedByteCount, 1)
                guard share > lastShare, copy.progress || isTerminal else { return }
                lastShare = share
                output.note(
                    text: "copied \(progress.byteCount) of \(progress.expectedByteCount) bytes",
                    json: .object([
                        "byteCount": .integer(progress.byteCount),
                        "expectedByteCount": .integer(progress.expectedByteCount),
                    ]))
            }
            try output.say(
                text: "\(copy.target.visible): \(made.byteCount) bytes\n\(made.report)\n"
                    + "hash \(made.report.hash)",
                json: .object([
                    "byteCount": .integer(made.byteCount), "path": .string(copy.target),
                    "verification": made.report.json,
                ]))
        } catch let error as StoreError {
            throw Failure(error).creating(copy.target)
        }
        return .success
    }
}

/// `stet backup`: a copy of a store that is in use.
struct BackupCommand: CopyCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies a store that may be in use, and verifies the copy.",
        discussion: """
            The copy is the state of one commit, whatever is written meanwhile. It is written \
            under another name (TARGET.new-ID), synced and verified before it is given its own, so \
            that there never is half a backup. Each entry is written anew: there are no free \
            pages, and no bytes of what was trimmed or redacted. It keeps the id of the store: do \
            not let both be written to, for their revisions would mean different commits.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var copy: CopyOptions

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        return try makeCopy(output) { try store.copy(to: $0, progress: $1) }
    }
}

/// `stet restore`: a store out of a backup.
struct RestoreCommand: CopyCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Makes a store out of a backup that verifies.",
        discussion: """
            The backup stays as it is. A store that is there is not replaced: end the processes \
            that use it and move it away first, with its lock file (TARGET-lock). The restored \
            store has the id and the whole journal of the backup.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var copy: CopyOptions

    func perform(_ output: Output) throws -> ExitCode {
        // What is wrong with the backup is wrong with its copy, which is verified in any case.
        let store = try openStore(inspectsPages: true)
        return try makeCopy(output) { try store.copy(to: $0, progress: $1) }
    }
}

/// `stet compact`: a copy without free pages.
struct CompactCommand: CopyCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Copies a store without what is not in use, and verifies the copy.",
        discussion: """
            As backup, but each entry is written anew: without free pages, and without the bytes \
            that trimmed, redacted and deleted values leave behind in pages. It takes twice the \
            room for a while. The store itself stays as it is.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var copy: CopyOptions

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        return try makeCopy(output) { try store.copy(to: $0, progress: $1) }
    }
}

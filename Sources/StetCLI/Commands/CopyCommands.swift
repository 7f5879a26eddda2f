import ArgumentParser
import Glibc
import StetStore

/// The arguments of commands that make a copy.
struct CopyOptions: ParsableArguments {
    @Argument(help: "The file to make; refused when it is there.", completion: .file())
    var target: String

    @OptionGroup var progress: ProgressOptions
}

/// The options of commands that can report progress.
struct ProgressOptions: ParsableArguments {
    @Flag(help: "Tells how far it is, on standard error, even if that is not a terminal.")
    var progress = false
}

extension StoreCommand {
    /// Makes a copy at `target` by calling `copy`, and reports its progress.
    fileprivate func makeCopy(
        _ target: String, _ options: ProgressOptions, _ output: Output,
        _ copyTo: (String, (StoreCopy.Progress) -> Void) throws -> StoreCopy
    ) throws -> ExitCode {
        let isTerminal = isatty(STDERR_FILENO) != 0
        var lastShare = -1
        do {
            let made = try copyTo(target) { progress in
                let share = progress.byteCount * 100 / max(progress.expectedByteCount, 1)
                guard share > lastShare, options.progress || isTerminal else { return }
                lastShare = share
                output.note(
                    text: "copied \(byteCountText(progress.byteCount)) of "
                        + byteCountText(progress.expectedByteCount),
                    json: .object([
                        "byteCount": .integer(progress.byteCount),
                        "expectedByteCount": .integer(progress.expectedByteCount),
                    ]))
            }
            try output.say(
                text: "\(target.visible): \(byteCountText(made.byteCount))\n\(made.report)\n"
                    + "hash \(made.report.hash)",
                json: .object([
                    "byteCount": .integer(made.byteCount), "path": .string(target),
                    "verification": made.report.json,
                ]))
        } catch let error as StoreError {
            throw Failure(error).creating(target)
        }
        return .success
    }
}

/// `stet backup`: copies a store that is in use.
struct BackupCommand: StoreCommand {
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
        return try makeCopy(copy.target, copy.progress, output) {
            try store.copy(to: $0, progress: $1)
        }
    }
}

/// `stet restore`: makes a store from a backup.
struct RestoreCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Makes a store out of a backup, or of a directory that stet ship has written.",
        discussion: """
            From a directory the store is made of the last base before the commit that --at names, \
            and of the commits that were shipped after it; without --at, of all of them.

            The backup stays as it is. A store that is there is not replaced: end the processes \
            that use it and move it away first, with its lock file (TARGET-lock). The restored \
            store has the id and the whole journal of the backup.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var copy: CopyOptions

    @Option(
        help: ArgumentHelp(
            "The last commit: a revision, or a time in ISO 8601.", valueName: "revision|date"))
    var at: Moment?

    func perform(_ output: Output) throws -> ExitCode {
        var status = stat()
        if stat(options.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            return try makeCopy(copy.target, copy.progress, output) { path, _ in
                try StoreCopy.restore(
                    from: options.path, to: path, at: at?.restorePoint ?? .bound(.latest))
            }
        }
        if at != nil { throw ValidationError("--at needs a directory that stet ship has written.") }
        // The copy is verified in any case, and has every fault of the backup.
        let store = try openStore(inspectsPages: true)
        return try makeCopy(copy.target, copy.progress, output) {
            try store.copy(to: $0, progress: $1)
        }
    }
}

/// `stet compact`: makes a copy without free pages, or rewrites the store itself without them.
struct CompactCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Copies a store without what is not in use, and verifies the copy.",
        discussion: """
            The copy is made as by backup: each entry is written anew, without free pages, and \
            without the bytes that trimmed, redacted and deleted values leave behind in pages. It \
            takes twice the room for a while. The store itself stays as it is.

            With --in-place the copy takes the place of the store. No save is lost: those of other \
            processes wait meanwhile, and then fail with storeMoved, because these processes have \
            the file open that was there before. They go on reading that, and save again when they \
            have closed the store and opened it anew.
            """)

    @OptionGroup var options: StoreOptions

    @Argument(help: "The file to make; refused when it is there.", completion: .file())
    var target: String?

    @Flag(help: "Puts the copy in the place of the store.")
    var inPlace = false

    @OptionGroup var progress: ProgressOptions

    func validate() throws {
        if (target == nil) != inPlace {
            throw ValidationError("Name the file to make, or give --in-place.")
        }
    }

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        return try makeCopy(target ?? options.path, progress, output) { path, progress in
            inPlace
                ? try store.compactInPlace(progress: progress)
                : try store.copy(to: path, progress: progress)
        }
    }
}

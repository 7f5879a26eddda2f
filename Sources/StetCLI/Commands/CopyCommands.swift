import ArgumentParser
import Glibc
import StetStore

/// The arguments of commands that make a copy.
struct CopyOptions: ParsableArguments {
    @Argument(help: "The file to create; it must not exist.", completion: .file())
    var target: String

    @OptionGroup var progress: ProgressOptions
}

extension ProgressOptions {
    /// Returns a meter of the bytes of a copy.
    func copyMeter(_ output: Output) -> ProgressMeter {
        meter(output) { "copied \(byteCountText($0)) of \(byteCountText($1))" }
    }
}

extension StoreCommand {
    /// Makes a copy at `target` by calling `copy`, and reports its progress.
    fileprivate func makeCopy(
        _ target: String, _ options: ProgressOptions, _ output: Output,
        _ copyTo: (String, (StoreCopy.Progress) -> Void) throws -> StoreCopy
    ) throws -> ExitCode {
        let meter = options.copyMeter(output)
        return try makeCopy(target, meter, output) {
            try copyTo(target) { meter.report($0.byteCount, of: $0.expectedByteCount) }
        }
    }

    /// Makes a copy at `target` by calling `copy`, which reports its progress to `meter`.
    fileprivate func makeCopy(
        _ target: String, _ meter: ProgressMeter, _ output: Output, _ copy: () throws -> StoreCopy
    ) throws -> ExitCode {
        do {
            defer { meter.end() }
            let made = try copy()
            meter.end()
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
            The copy is the state of one commit, regardless of what is written meanwhile. It is \
            written under another name (TARGET.new-ID), synced and verified before it gets its \
            own, so that there is never half a backup. Each entry is written anew: the copy has no \
            free pages, and no bytes of trimmed or redacted values. It keeps the id of the store: \
            do not write to both, because their revisions would mean different commits.
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
        abstract: "Makes a store from a backup, or from a directory that stet ship has written.",
        discussion: """
            A directory gives the store as of --at: the last base before that, and the commits \
            that were shipped after it; without --at, all of them.

            The backup stays as it is. An existing store is not replaced: end the processes that \
            use it, and move it away first, with its lock file (TARGET-lock). The restored store \
            has the id and the whole journal of the backup.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var copy: CopyOptions

    @Option(
        help: ArgumentHelp(
            "The last commit: a revision, or a time in ISO 8601.", valueName: "revision|date"))
    var at: RevisionOrDate?

    func perform(_ output: Output) throws -> ExitCode {
        var status = stat()
        if stat(options.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            let meter = copy.progress.meter(output) { "restored \($0) of \($1) commits" }
            var progress = ShippingProgress()
            progress.finished = meter.report
            return try makeCopy(copy.target, meter, output) {
                try StoreCopy.restore(
                    from: options.path, to: copy.target, at: at?.restorePoint ?? .bound(.latest),
                    progress: progress)
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
        abstract: "Copies a store without unused bytes, and verifies the copy.",
        discussion: """
            The copy is made as by backup: each entry is written anew, without free pages, and \
            without the bytes that trimmed, redacted and deleted values leave behind in pages. It \
            needs twice the space for a while. The store itself stays as it is.

            With --in-place the copy replaces the store. No save is lost: saves of other processes \
            wait meanwhile, and then fail with storeMoved, because these processes have the former \
            file open. They can still read it, and save again after they have closed and reopened \
            the store.
            """)

    @OptionGroup var options: StoreOptions

    @Argument(help: "The file to create; it must not exist.", completion: .file())
    var target: String?

    @Flag(help: "Replaces the store with the copy.")
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

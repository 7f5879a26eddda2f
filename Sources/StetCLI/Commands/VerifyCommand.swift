import ArgumentParser
import StetStore

/// `stet verify`: checks whether the state equals the journal.
struct VerifyCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Rebuilds the state from the journal and compares it with what is stored.",
        discussion: """
            Inspects all pages, during which nobody can commit, then folds the journal: hashes and \
            digests, records byte for byte, reverse references, the head. It takes memory for all \
            objects. If anything is wrong, standard output describes it, and the exit code is 1.

            The hash of the last commit covers the whole history: kept elsewhere, it reveals later \
            whether history was rewritten.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var progress: ProgressOptions

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore(inspectsPages: true)
        let report = try report(
            of: store, progress.meter(output) { "verified \($0) of \($1) commits" })
        try output.say(
            text: report.isClean ? "\(report)\nhash \(report.hash)" : "\(report)",
            json: report.json)
        return report.isClean ? .success : .problemsFound
    }

    private func report(
        of store: StoreFile, _ meter: ProgressMeter
    ) throws -> VerificationReport {
        let count = try store.read { Int(try $0.head().revision.number - $0.floor().number) }
        var doneCount = 0
        defer { meter.end() }
        return try store.verify {
            doneCount += 1
            meter.report(doneCount, of: count)
        }
    }

    func report(damage: Failure, _ output: Output) throws -> ExitCode {
        try output.say(
            text: "NOT VERIFIED:\n  \(damage.message.visible)",
            json: .object(["isClean": .bool(false), "problems": .array([.string(damage.message)])]))
        try output.flush()
        return .problemsFound
    }
}

extension VerificationReport {
    var json: JSON {
        .object([
            "changeCount": .integer(changeCount), "commitCount": .integer(commitCount),
            "hash": .string(hash), "indexEntryCount": .integer(indexEntryCount),
            "isClean": .bool(isClean),
            "objectCount": .integer(objectCount),
            "problems": .array(problems.map { .string($0) }),
            "referenceCount": .integer(referenceCount), "revision": .number(revision.number),
            "uncheckedIndexes": .array(uncheckedIndexes.map { .string($0) }),
        ])
    }
}

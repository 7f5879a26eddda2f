import ArgumentParser
import StetStore

/// `stet verify`: whether the state equals the journal.
struct VerifyCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Rebuilds the state from the journal and compares it with what is stored.",
        discussion: """
            Walks all pages first, while which nobody can commit, then folds the journal: hashes \
            and digests, records byte for byte, reverse references, the head. Takes memory for all \
            objects. The exit code is 1 when anything is wrong; what, is said on standard output.

            The hash of the last commit stands for the whole history: kept elsewhere, it shows \
            later whether history was rewritten.
            """)

    @OptionGroup var options: StoreOptions

    func perform(_ output: Output) throws -> ExitCode {
        let report = try openStore(inspectsPages: true).verify()
        try output.say(
            text: report.isClean ? "\(report)\nhash \(report.hash)" : "\(report)",
            json: report.json)
        return report.isClean ? .success : .problemsFound
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
        ])
    }
}

import ArgumentParser
import Glibc
import StetStore

/// The reason why a command failed, which is printed on standard error, and the exit code.
struct Failure: Error, Hashable {
    var exitCode: ExitCode
    /// The raw value of a code of `StoreError`.
    var code: String
    var message: String
    var advice: String
    var path: String?

    init(_ exitCode: ExitCode, code: String, path: String?, message: String, advice: String) {
        self.exitCode = exitCode
        self.code = code
        self.path = path
        self.message = message
        self.advice = advice
    }

    init(_ error: StoreError) {
        self.init(
            Self.exitCode(of: error.code), code: error.code.rawValue, path: error.path,
            message: error.message, advice: error.advice)
    }

    /// Creates the failure of a command that ended with an error; nil for one that no store threw.
    init?(_ error: any Error, path: String) {
        switch error {
        case let failure as Failure: self = failure
        case let error as StoreError: self.init(error)
        case let error as UnknownOutcomeError:
            self.init(
                .inputOutputError, code: "unknownOutcome", path: path,
                message: "It is not known whether the commit was saved: \(error.cause.message)",
                advice: "Look for it with 'stet log' once the disk works again.")
        default: return nil
        }
    }

    private static func exitCode(of code: StoreError.Code) -> ExitCode {
        switch code {
        case .damaged, .notAStore, .newerFormat, .invalidSchema, .modelMismatch, .journalDiverged,
            .textRulesMissing:
            .dataError
        case .notFound, .invalidPath, .historyTrimmed, .noSuchRevision: .noInput
        case .erased, .valueInUse: .problemsFound
        case .alreadyExists: .cannotCreate
        case .noPermission, .unsafePlace: .noPermission
        case .diskFull, .inputOutput, .readersFull, .mapFull, .journalUnavailable:
            .inputOutputError
        case .journalRequired, .sharedJournal: .usage
        default: .internalError
        }
    }

    /// Creates the failure of a child that a signal ended while it read a store.
    init(signal: Int32, path: String) {
        let name = strsignal(signal).map { String(cString: $0) } ?? "unknown"
        self.init(
            .dataError, code: StoreError.Code.damaged.rawValue, path: path,
            message: "The store is damaged: reading it ended the process with signal \(signal) "
                + "(\(name)).",
            advice: "Run verify on a copy, and restore from a backup.")
    }

    /// Creates the failure of a command that names a missing revision or object.
    init(missing what: String, in path: String, advice: String) {
        self.init(
            .noInput, code: StoreError.Code.notFound.rawValue, path: path,
            message: "There is no \(what) in the store.", advice: advice)
    }

    /// Returns the failure for a file to be created instead of one to be read.
    func creating(_ target: String) -> Failure {
        guard path == target, exitCode == .noInput else { return self }
        var failure = self
        failure.exitCode = .cannotCreate
        return failure
    }

    /// The failure as a JSON object.
    var json: JSON {
        .object([
            "advice": .string(advice), "code": .string(code), "message": .string(message),
            "path": JSON(path),
        ])
    }
}

// The exit codes, as sysexits.h has them; `stet --help` lists them.
extension ExitCode {
    static let problemsFound = ExitCode(1)
    static let usage = ExitCode(64)
    static let dataError = ExitCode(65)
    static let noInput = ExitCode(66)
    static let internalError = ExitCode(70)
    static let cannotCreate = ExitCode(73)
    static let inputOutputError = ExitCode(74)
    static let noPermission = ExitCode(77)
}

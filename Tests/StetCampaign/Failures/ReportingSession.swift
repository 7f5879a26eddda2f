import Foundation
import StetLMDB
import StetStore
import StetTestSupport

/// Works with a store in a process that is subject to failures, and reports the store's answers in
/// statements.
struct ReportingSession {
    let path: String
    private(set) var file: StoreFile?
    private(set) var workload: Workload
    /// The maximum size of the map.
    var mapByteCount = 1 << 30
    /// The initial size of the map; nil means the maximum.
    var initialMapByteCount: Int?

    init(_ path: String, seed: UInt64) {
        self.path = path
        workload = Workload(seed: seed, stream: 0, changeLimit: 1)
    }

    static func tell(_ statement: Statement) {
        say("\(statement)")
    }

    /// Returns the code of a typed error; any other error is reported as wrong.
    private static func code(of error: any Error, _ what: String) -> String {
        if let error = error as? StoreError { return "\(error.code)" }
        tell(.wrong("\(what): \(error)"))
        return "untyped"
    }

    // MARK: Opening

    /// Opens the store in a few attempts, and returns false if none of them succeeds.
    mutating func open(attempts: Int = 3) -> Bool {
        for _ in 0..<attempts {
            do {
                file = try openOnce()
                return true
            } catch {
                Self.tell(.failed(what: "open", code: Self.code(of: error, "open")))
            }
        }
        return false
    }

    private func openOnce() throws -> StoreFile {
        var configuration = StoreFile.Configuration()
        configuration.mapByteCount = mapByteCount
        guard let initialMapByteCount else {
            return try StoreFile.open(at: path, schema: .campaign, configuration)
        }
        if access(path, F_OK) != 0 {
            try StoreFile.open(at: path, schema: .campaign, configuration).close()
        }
        var sizes = Environment.Configuration()
        sizes.mapByteCount = mapByteCount
        sizes.initialMapByteCount = initialMapByteCount
        sizes.createsFile = false
        // The store shares the environment that is already open for its file.
        let environment: Environment
        do { environment = try Environment.open(at: path, sizes) } catch { throw StoreError(error) }
        do {
            return try StoreFile.open(at: path, schema: .campaign, configuration)
        } catch {
            environment.close()
            throw error
        }
    }

    /// Starts from the contents of the store.
    mutating func takeOver() throws {
        if let file { try workload.load(file) }
    }

    mutating func close() {
        file?.close()
        file = nil
    }

    // MARK: Saving

    /// The result of a save after all its attempts.
    enum Result { case committed, notCommitted, unknown }

    /// Returns edits of at most `count` objects.
    mutating func edits(_ count: Int) -> [Workload.Edit] {
        workload.changeLimit = count
        return workload.edits()
    }

    /// Commits edits; each attempt is a separate commit with its own token.
    mutating func save(_ edits: [Workload.Edit], attempts: Int = 3) -> Result {
        var result = Result.notCommitted
        for _ in 0..<attempts where result == .notCommitted {
            result = attempt(edits)
            check()
        }
        return result
    }

    private mutating func attempt(_ edits: [Workload.Edit]) -> Result {
        guard let file, let token = try? file.token(at: workload.revision, workload.token())
        else { return .notCommitted }
        Self.tell(
            .trying(token: token, base: workload.revision, changeCount: edits.count))
        do {
            let commit = try file.commit(edits, base: workload.revision, token: token)
            Self.tell(.acknowledged(token: token, commit.revision))
            workload.adopt(edits, commit.revision)
            return .committed
        } catch let error as UnknownOutcomeError {
            Self.tell(.unknown(token: token, code: "\(error.cause.code)"))
            return resolve(error.commit, edits)
        } catch {
            Self.tell(.notCommitted(token: token, code: Self.code(of: error, "commit")))
            return .notCommitted
        }
    }

    /// Closes the store, opens it again, and asks for the outcome of a commit.
    private mutating func resolve(_ id: CommitID, _ edits: [Workload.Edit]) -> Result {
        close()
        guard open(), let file else { return .unknown }
        switch file.outcome(of: id) {
        case .committed(let commit):
            Self.tell(.resolved(token: id.token, isCommitted: true))
            workload.adopt(edits, commit.revision)
            return .committed
        case .notCommitted:
            Self.tell(.resolved(token: id.token, isCommitted: false))
            return .notCommitted
        case .unknown:
            return .unknown
        }
    }

    // MARK: Reading

    /// Reads everything, and compares it with the acknowledged commits.
    func check() {
        guard let file else { return }
        do {
            if let difference = try workload.difference(from: file) {
                Self.tell(.wrong(difference))
            }
        } catch {
            Self.tell(.failed(what: "read", code: Self.code(of: error, "read")))
        }
    }
}

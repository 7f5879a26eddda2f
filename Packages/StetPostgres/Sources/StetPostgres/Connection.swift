import Foundation
import Stet

/// The connection of a journal, for one command at a time; it is made again after it was lost.
///
/// State: the session, guarded by the lock.
final class Connection: @unchecked Sendable {  // `session` is reached under `lock` only
    private let string: String
    private let timeout: Duration
    private let lock = NSLock()
    private var session: Session?

    init(_ string: String, timeout: Duration) {
        self.string = string
        self.timeout = timeout
    }

    /// Runs a command that must not be repeated.
    ///
    /// - Throws: `SharedJournalError`: `.unavailable` when there is no connection, or the database
    ///   refuses; `.outcomeUnknown` when the connection was lost.
    func once<Result>(_ body: (Session) throws -> Result) throws -> Result {
        try lock.withLock {
            // An idle connection may have been lost long ago, which only a statement shows.
            let session = try usable()
            do {
                return try body(session)
            } catch let lost as LostConnection {
                self.session = nil
                throw SharedJournalError(.outcomeUnknown, lost.message)
            } catch let failure as SQLFailure {
                throw SharedJournalError(.unavailable, failure.message)
            }
        }
    }

    /// Runs a command that may be repeated, once more when the connection was lost.
    ///
    /// - Throws: `SharedJournalError` (`.unavailable`).
    func repeated<Result>(_ body: (Session) throws -> Result) throws -> Result {
        do {
            return try once(body)
        } catch let error as SharedJournalError where error.code == .outcomeUnknown {
            do {
                return try once(body)
            } catch let error as SharedJournalError where error.code == .outcomeUnknown {
                throw SharedJournalError(.unavailable, error.message)
            }
        }
    }

    /// Runs a long command on a connection of its own, so that appends do not wait for it.
    ///
    /// - Throws: `SharedJournalError` (`.unavailable`), and the errors of `body`.
    func separately<Result>(_ body: (Session) throws -> Result) throws -> Result {
        do {
            return try body(makeSession())
        } catch let lost as LostConnection {
            throw SharedJournalError(.unavailable, lost.message)
        } catch let failure as SQLFailure {
            throw SharedJournalError(.unavailable, failure.message)
        }
    }

    /// Makes a connection of its own.
    func makeSession() throws -> Session { try Session(string, timeout: timeout) }

    private func usable() throws -> Session {
        if let session { return session }
        do {
            let made = try makeSession()
            session = made
            return made
        } catch let lost as LostConnection {
            throw SharedJournalError(.unavailable, lost.message)
        }
    }
}

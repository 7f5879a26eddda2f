import Foundation
import Stet

/// The connections to a database for commands, which are made when they are needed, and again after
/// they were lost.
///
/// State: the idle sessions and the number of all of them, guarded by the condition.
final class ConnectionPool: @unchecked Sendable {  // reached under `condition` only
    private let string: String
    private let timeout: Duration
    private let limit: Int
    private let condition = NSCondition()
    private var idle: [Session] = []
    private var count = 0

    init(_ string: String, timeout: Duration, limit: Int) {
        self.string = string
        self.timeout = timeout
        self.limit = limit
    }

    /// Runs a command that must not be repeated.
    ///
    /// - Throws: `SharedJournalError`: `.unavailable` when there is no connection, or the database
    ///   refuses; `.outcomeUnknown` when the connection was lost.
    func once<Result>(_ body: (Session) throws -> Result) throws -> Result {
        // An idle connection may have been lost long ago, which only a statement shows.
        var session: Session? = try take()
        defer { giveBack(session) }
        do {
            return try body(session!)
        } catch let lost as LostConnection {
            session = nil
            throw SharedJournalError(.outcomeUnknown, lost.message)
        } catch let failure as SQLFailure {
            throw SharedJournalError(.unavailable, failure.message)
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

    /// Makes a connection that is not one of the pool.
    func makeSession() throws -> Session { try Session(string, timeout: timeout) }

    // MARK: Sessions

    /// Returns an idle session, or a new one; waits while all are in use.
    private func take() throws -> Session {
        condition.lock()
        while idle.isEmpty, count == limit { condition.wait() }
        let last = idle.popLast()
        if last == nil { count += 1 }
        condition.unlock()
        if let last { return last }
        do {
            return try makeSession()
        } catch let lost as LostConnection {
            giveBack(nil)
            throw SharedJournalError(.unavailable, lost.message)
        }
    }

    /// Takes a session back; nil when it was lost, and the idle ones probably, too.
    private func giveBack(_ session: Session?) {
        condition.lock()
        if let session {
            idle.append(session)
        } else {
            count -= 1 + idle.count
            idle = []
        }
        condition.broadcast()
        condition.unlock()
    }
}

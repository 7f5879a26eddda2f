import CLibpq
import Glibc
import Stet

/// The result of a statement.
final class Answer {
    private let result: OpaquePointer?

    init(_ result: OpaquePointer?) { self.result = result }

    deinit { PQclear(result) }

    var rowCount: Int { Int(PQntuples(result)) }

    /// The number of rows that the statement has changed.
    var changedCount: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    /// Returns a value in binary form.
    func bytes(_ row: Int, _ column: Int) throws -> [UInt8] {
        let (row, column) = (Int32(row), Int32(column))
        guard row < PQntuples(result), column < PQnfields(result),
            PQgetisnull(result, row, column) == 0
        else { throw SharedJournalError(.damaged, "a value is missing") }
        let bytes = UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column),
            count: Int(PQgetlength(result, row, column)))
        return Array(bytes)
    }

    /// The failure that it reports; nil when it is a success.
    fileprivate var failure: SQLFailure? {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: nil
        default:
            SQLFailure(
                state: PQresultErrorField(result, Int32(UInt8(ascii: "C")))
                    .map { String(cString: $0) } ?? "",
                message: PQresultErrorField(result, Int32(UInt8(ascii: "M")))
                    .map { String(cString: $0) } ?? "it gave no reason")
        }
    }
}

/// A statement that the database has refused.
struct SQLFailure: Error {
    /// The code of SQLSTATE.
    let state: String
    let message: String

    var isMissingTable: Bool { state == "42P01" }

    /// Whether something exists that it makes.
    var isPresent: Bool { ["23505", "42P07", "42710"].contains(state) }

    /// Whether nothing was changed, and the same statement may succeed.
    var isRepeatable: Bool { ["40001", "40P01"].contains(state) }

    /// Whether the server ends the session, which may be after the commit.
    var isEnding: Bool { state.hasPrefix("57P") || state.hasPrefix("08") || state == "40003" }
}

/// The connection was lost, or gave no answer in time.
struct LostConnection: Error {
    let message: String
}

/// A connection to the database, for one thread at a time.
final class Session {
    private let handle: OpaquePointer
    private let timeout: Duration
    /// Whether the result of a notification has not been read yet.
    private var isNotifying = false
    private var canNotify = true

    /// Connects.
    ///
    /// - Throws: `LostConnection`.
    init(_ connection: String, timeout: Duration) throws {
        // A string that cannot be parsed is not repeated in the message: it may have a password.
        guard let options = PQconninfoParse(connection, nil) else {
            throw LostConnection(message: "the connection string is not one of libpq")
        }
        PQconninfoFree(options)
        let seconds = String(max(Int(timeout.components.seconds), 2))
        let keywords = ["dbname", "fallback_application_name", "connect_timeout"]
        handle = try Self.connect(keywords, [connection, "stet", seconds])
        self.timeout = timeout
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        // A statement that is longer than the socket's buffer must not wait for the server forever.
        PQsetnonblocking(handle, 1)
    }

    private static func connect(_ keywords: [String], _ values: [String]) throws -> OpaquePointer {
        let words = keywords.map { strdup($0) } + [nil]
        let texts = values.map { strdup($0) } + [nil]
        defer { for text in words + texts { free(text) } }
        let handle = PQconnectdbParams(
            words.map { UnsafePointer($0) }, texts.map { UnsafePointer($0) }, 1)
        guard let handle else { throw LostConnection(message: "there is no memory left") }
        guard PQstatus(handle) == CONNECTION_OK else {
            defer { PQfinish(handle) }
            throw LostConnection(message: errorMessage(of: handle))
        }
        return handle
    }

    deinit { PQfinish(handle) }

    private static func errorMessage(of handle: OpaquePointer) -> String {
        let text = String(cString: PQerrorMessage(handle))
        return text.split(separator: "\n").joined(separator: "; ")
    }

    // MARK: Statements

    /// Runs a statement, or several without parameters.
    ///
    /// - Throws: `SQLFailure`, `LostConnection`.
    @discardableResult
    func run(_ sql: String, _ parameters: [Parameter] = []) throws -> Answer {
        try finishNotification()
        return try answer { try send(sql, parameters) }
    }

    private func send(_ sql: String, _ parameters: [Parameter]) throws {
        let isSent: Int32
        if parameters.isEmpty {
            isSent = PQsendQuery(handle, sql)
        } else {
            let encoded = parameters.map(\.encoded)
            let bytes = UnsafeMutableRawBufferPointer.allocate(
                byteCount: encoded.reduce(1) { $0 + $1.count }, alignment: 1)
            defer { bytes.deallocate() }
            var offset = 0
            var values: [UnsafePointer<CChar>?] = []
            for value in encoded {
                let place = UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
                place.copyBytes(from: value)
                values.append(
                    place.baseAddress.map { UnsafePointer($0.assumingMemoryBound(to: CChar.self)) })
                offset += value.count
            }
            isSent = PQsendQueryParams(
                handle, sql, Int32(encoded.count), parameters.map(\.type), values,
                encoded.map { Int32($0.count) }, encoded.map { _ in 1 }, 1)
        }
        guard isSent == 1 else { throw LostConnection(message: Self.errorMessage(of: handle)) }
    }

    /// Runs `body` in a transaction, which is rolled back when it throws or returns false.
    func transaction(_ begin: String, _ body: () throws -> Bool) throws -> Bool {
        try run(begin)
        do {
            let isDone = try body()
            try run(isDone ? "COMMIT" : "ROLLBACK")
            return isDone
        } catch let lost as LostConnection {
            throw lost
        } catch {
            try run("ROLLBACK")
            throw error
        }
    }

    private func answer(_ send: () throws -> Void) throws -> Answer {
        try send()
        let end = ContinuousClock.now + timeout
        while true {
            let rest = PQflush(handle)
            if rest == 0 { break }
            guard rest == 1 else { throw LostConnection(message: Self.errorMessage(of: handle)) }
            try wait(until: end, POLLIN | POLLOUT)
        }
        var last: Answer?
        while true {
            while PQisBusy(handle) == 1 { try wait(until: end) }
            guard let result = PQgetResult(handle) else { break }
            last = Answer(result)
        }
        guard let last else { throw LostConnection(message: Self.errorMessage(of: handle)) }
        guard let failure = last.failure else { return last }
        if PQstatus(handle) != CONNECTION_OK || failure.isEnding {
            throw LostConnection(message: failure.message)
        }
        throw failure
    }

    private func wait(until end: ContinuousClock.Instant, _ events: Int32 = POLLIN) throws {
        guard try isReady(events, within: end - .now) else {
            throw LostConnection(message: "it did not answer within \(timeout)")
        }
    }

    /// Waits for bytes of the server, and reads them; returns false when there are none in time.
    func isReadable(within limit: Duration) throws -> Bool { try isReady(POLLIN, within: limit) }

    private func isReady(_ events: Int32, within limit: Duration) throws -> Bool {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
        let milliseconds = max(limit / .milliseconds(1), 0)
        let count = poll(&descriptor, 1, Int32(min(milliseconds.rounded(.up), 1e6)))
        if count < 0, errno != EINTR { throw LostConnection(message: "the socket fails") }
        if count > 0, Int32(descriptor.revents) & ~POLLOUT != 0, PQconsumeInput(handle) == 0 {
            throw LostConnection(message: Self.errorMessage(of: handle))
        }
        return count != 0
    }

    // MARK: Notifications

    private static let channel = "stet"

    /// Sends a notification without waiting for its result; a database without them is asked once.
    func notify(_ notification: Notification) {
        guard canNotify, !isNotifying else { return }
        // The entries are on the disk; the notification need not wait for it, too.
        let statement = """
            SELECT set_config('synchronous_commit', 'off', true), pg_notify('\(Self.channel)', $1)
            """
        isNotifying = (try? send(statement, [.text(notification.text)])) != nil
    }

    private func finishNotification() throws {
        guard isNotifying else { return }
        isNotifying = false
        do {
            _ = try answer {}
        } catch is SQLFailure {
            canNotify = false
        }
    }

    /// Asks for notifications.
    func listen() throws { try run("LISTEN \(Self.channel)") }

    /// Returns the notifications that have arrived.
    func notifications() -> [Notification] {
        var found: [Notification] = []
        while let notification = PQnotifies(handle) {
            if let one = Notification(String(cString: notification.pointee.extra)) {
                found.append(one)
            }
            PQfreemem(notification)
        }
        return found
    }
}

import Foundation
import Testing

/// A PostgreSQL server of its own, on a Unix socket in a temporary directory.
final class PostgresServer: Sendable {
    /// A server that all tests of a run share.
    static let shared = Result { try PostgresServer() }

    let directory: String
    private let bin: String

    init() throws {
        directory =
            "/tmp/stet-postgres-\(ProcessInfo.processInfo.processIdentifier)-"
            + "\(UInt32.random(in: 0 ... .max))"
        bin = try Self.binaries()
        try Self.run("/bin/mkdir", "-m", "700", directory)
        // The server refuses to run as root.
        if getuid() == 0 { try Self.run("/bin/chown", "postgres", directory) }
        try run("initdb", "-D", data, "-A", "trust", "-U", "stet", "-N", "--no-instructions")
        try start()
        atexit { if case .success(let server) = PostgresServer.shared { server.remove() } }
    }

    private var data: String { "\(directory)/data" }

    /// The connection string.
    var connection: String { "host=\(directory) user=stet dbname=postgres" }

    func start() throws {
        try run(
            "pg_ctl", "-D", data, "-w", "-s", "-l", "\(directory)/log", "-o",
            "-k \(directory) -c listen_addresses= -c fsync=off", "start")
    }

    /// Stops the server: `immediate` as a crash does.
    func stop(_ mode: String = "immediate") throws {
        try run("pg_ctl", "-D", data, "-w", "-s", "-m", mode, "stop")
    }

    private func remove() {
        try? stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Runs SQL as a user of the database does.
    @discardableResult
    func sql(_ text: String, as role: String = "stet") throws -> String {
        try run("psql", "-h", directory, "-U", role, "-d", "postgres", "-tAqc", text)
    }

    private static func binaries() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = try FileManager.default.contentsOfDirectory(atPath: root).sorted()
        return "\(root)/\(try #require(versions.last))/bin"
    }

    @discardableResult
    private func run(_ name: String, _ arguments: String...) throws -> String {
        let program = "\(bin)/\(name)"
        return getuid() == 0
            ? try Self.run("/sbin/runuser", ["-u", "postgres", "--", program] + arguments)
            : try Self.run(program, arguments)
    }

    @discardableResult
    private static func run(_ program: String, _ arguments: String...) throws -> String {
        try run(program, arguments)
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        // A server that is started must not keep the descriptor open by which Foundation sees the
        // end of its process.
        let closing =
            "for file in /proc/$$/fd/*; do number=${file##*/}; "
            + "[ $number -gt 2 ] && eval \"exec $number>&-\"; done; exec \"$@\""
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", closing, "bash", program] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        // A server that is started keeps the output open, so it is a file.
        let output = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data().write(to: output)
        defer { try? FileManager.default.removeItem(at: output) }
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ServerFailure(command: ([program] + arguments).joined(separator: " "))
        }
        return String(decoding: try Data(contentsOf: output), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

struct ServerFailure: Error {
    let command: String
}

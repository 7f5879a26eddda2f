import Foundation
import Glibc

/// A PostgreSQL server of its own, on a Unix socket in a temporary directory.
package final class PostgresServer: Sendable {
    package let directory: String
    private let bin: String
    private let isDurable: Bool

    /// Makes a server.
    ///
    /// - Parameter isDurable: Whether a commit waits for the disk.
    /// - Throws: `ServerFailure` when it cannot be made or started.
    package init(isDurable: Bool = false) throws {
        self.isDurable = isDurable
        (directory, bin) = (try Self.makeDirectory(), try Self.binaries())
        try run("initdb", "-D", data, "-A", "trust", "-U", "stet", "-N", "--no-instructions")
        try start()
    }

    /// Makes a standby, which follows a primary.
    package init(of primary: PostgresServer) throws {
        isDurable = primary.isDurable
        (directory, bin) = (try Self.makeDirectory(), try Self.binaries())
        try run(
            "pg_basebackup", "-h", primary.directory, "-U", "stet", "-D", data, "-R", "-N", "-c",
            "fast")
        try start()
    }

    /// Makes a server with a small disk of its own, which needs the right to mount.
    package init(diskByteCount: Int) throws {
        isDurable = false
        (directory, bin) = (try Self.makeDirectory(), try Self.binaries())
        try Self.run("/bin/mkdir", data)
        try Self.run(
            "/bin/mount", "-t", "tmpfs", "-o", "size=\(diskByteCount),mode=700", "tmpfs", data)
        try Self.run("/bin/chown", "postgres", data)
        try run(
            "initdb", "-D", data, "-A", "trust", "-U", "stet", "-N", "--no-instructions",
            "--wal-segsize=1")
        try start()
        try sql("ALTER SYSTEM SET max_wal_size = '4MB'")
        try sql("SELECT pg_reload_conf()")
    }

    /// Whether a small disk can be made here.
    package static var canMount: Bool {
        getuid() == 0 && (try? run("/usr/bin/unshare", "-m", "/bin/true")) != nil
    }

    /// Fills the disk, or makes room again.
    package func setFull(_ isFull: Bool) throws {
        let filler = "\(data)/filler"
        guard isFull else { return try FileManager.default.removeItem(atPath: filler) }
        // It ends with an error when the disk is full.
        _ = try? Self.run("/bin/dd", "if=/dev/zero", "of=\(filler)", "bs=8k")
    }

    /// Starts the server unless it runs.
    package func startUnlessItRuns() throws {
        if (try? run("pg_ctl", "-D", data, "status")) == nil { try start() }
    }

    private static func makeDirectory() throws -> String {
        let directory =
            "/tmp/stet-postgres-\(ProcessInfo.processInfo.processIdentifier)-"
            + "\(UInt32.random(in: 0 ... .max))"
        try run("/bin/mkdir", "-m", "700", directory)
        // The server refuses to run as root.
        if getuid() == 0 { try run("/bin/chown", "postgres", directory) }
        return directory
    }

    // MARK: Standbys

    /// Lets each commit wait for the standby; returns when there is one.
    package func waitForStandbys() throws {
        try sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try sql("SELECT pg_reload_conf()")
        while try sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1" {
            usleep(10_000)
        }
    }

    /// Makes the standby a primary.
    package func promote() throws { try run("pg_ctl", "-D", data, "-w", "-s", "promote") }

    // MARK: Its processes

    private var data: String { "\(directory)/data" }

    /// The connection string.
    package var connection: String { "host=\(directory) user=stet dbname=postgres" }
    /// The path of the socket.
    package var socket: String { "\(directory)/.s.PGSQL.5432" }

    package func start() throws {
        do {
            try run(
                "pg_ctl", "-D", data, "-w", "-s", "-l", "\(directory)/log", "-o",
                // A connection that says nothing would delay the server's end for a minute.
                "-k \(directory) -c listen_addresses= -c fsync=\(isDurable ? "on" : "off") "
                    + "-c authentication_timeout=5s",
                "start")
        } catch {
            let log = try String(contentsOfFile: "\(directory)/log", encoding: .utf8)
            throw ServerFailure(command: "start: \(log.suffix(2000))")
        }
    }

    /// Stops the server: `immediate` as a crash does.
    package func stop(_ mode: String = "immediate") throws {
        try run("pg_ctl", "-D", data, "-w", "-s", "-m", mode, "stop")
    }

    /// Kills all processes of the server at once.
    package func kill() throws {
        let file = try String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)
        guard let main = file.split(separator: "\n").first.flatMap({ pid_t($0) }) else { return }
        // It starts no more of them.
        Glibc.kill(main, SIGSTOP)
        let children = try String(
            contentsOfFile: "/proc/\(main)/task/\(main)/children", encoding: .utf8)
        let all = children.split(separator: " ").compactMap { pid_t($0) } + [main]
        for process in all { Glibc.kill(process, SIGKILL) }
        // Nobody may be there who waits for them.
        while all.contains(where: Self.runs) { usleep(2_000) }
        // They have the number of a process that may never be waited for.
        for file in ["\(data)/postmaster.pid", "\(socket).lock"] {
            try FileManager.default.removeItem(atPath: file)
        }
    }

    private static func runs(_ process: pid_t) -> Bool {
        let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return line.map { !$0.contains(") Z ") } ?? false
    }

    /// Stops the server, and removes its files.
    package func remove() {
        try? stop()
        _ = try? Self.run("/bin/umount", data)
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Runs SQL as a user of the database does.
    @discardableResult
    package func sql(_ text: String, as role: String = "stet") throws -> String {
        try run("psql", "-h", directory, "-U", role, "-d", "postgres", "-tAqc", text)
    }

    private static func binaries() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = try FileManager.default.contentsOfDirectory(atPath: root).sorted()
        guard let last = versions.last else { throw ServerFailure(command: root) }
        return "\(root)/\(last)/bin"
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
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard process.terminationStatus == 0 else {
            throw ServerFailure(command: (arguments + [text]).joined(separator: " "))
        }
        return text
    }
}

/// A command of the server that has failed.
package struct ServerFailure: Error {
    package let command: String
}

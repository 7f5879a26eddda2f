import Foundation
import Glibc
import StetTestSupport
import Synchronization

/// A process that a campaign has started.
///
/// Its standard output is read through a pipe, so that none of its output is lost when it is
/// killed. One thread uses it.
final class Child {
    /// The way in which a process ended.
    enum Ending: Hashable, CustomStringConvertible {
        case exited(Int32)
        case killed(Int32)

        var description: String {
            switch self {
            case .exited(let code): "exit code \(code)"
            case .killed(let signal): "signal \(signal)"
            }
        }
    }

    private let processID: pid_t
    private let output: Int32
    private var isOutputOpen = true
    private var bytes: [UInt8] = []
    private var takenLineCount = 0
    private var ending: Ending?

    /// Starts a program, this one by default.
    init(
        _ arguments: [String], program: String = "\(ChildProcess.buildFolder)/stet-campaign",
        environment: [String: String] = [:]
    ) throws {
        let values = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        (processID, output) = try Self.spawning.withLock { _ in
            try Self.spawn([program] + arguments, values.map { "\($0)=\($1)" })
        }
    }

    /// A lock that is held while a child is started: a child started at the same time would inherit
    /// the other's pipe.
    private static let spawning = Mutex(())

    private static func spawn(
        _ arguments: [String], _ environment: [String]
    ) throws -> (pid_t, output: Int32) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
        defer { close(ends[1]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        var cArguments = arguments.map { strdup($0) } + [nil]
        var cEnvironment = environment.map { strdup($0) } + [nil]
        defer { for text in cArguments + cEnvironment { free(text) } }
        var processID: pid_t = 0
        let code = posix_spawnp(
            &processID, arguments[0], &actions, nil, &cArguments, &cEnvironment)
        guard code == 0 else {
            close(ends[0])
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .ENOENT)
        }
        return (processID, ends[0])
    }

    deinit {
        if ending == nil {
            kill()
            _ = end()
        }
        if isOutputOpen { close(output) }
    }

    /// Sends SIGKILL.
    func kill() {
        if ending == nil { Glibc.kill(processID, SIGKILL) }
    }

    /// Sends another signal.
    func send(_ signal: Int32) {
        if ending == nil { Glibc.kill(processID, signal) }
    }

    /// The whole lines of its output; a line without an end was cut off by a kill.
    var lines: [String] {
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")) ?? bytes.startIndex
        return String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    /// Returns the next line as soon as it is written; nil if none is written within the time, or
    /// at all.
    func nextLine(within limit: Duration) -> String? {
        let deadline = ContinuousClock.now + limit
        while true {
            let lines = lines
            if lines.count > takenLineCount {
                defer { takenLineCount += 1 }
                return lines[takenLineCount]
            }
            guard isOutputOpen, ContinuousClock.now < deadline else { return nil }
            Self.read([self], until: deadline, stopsAtOutput: true)
        }
    }

    /// Reads to the end of its output and waits for its end, or kills it and returns nil if that
    /// takes longer than the limit.
    func end(within limit: Duration) -> Ending? {
        Self.read([self], until: ContinuousClock.now + limit)
        guard isOutputOpen else { return end() }
        kill()
        _ = end()
        return nil
    }

    private func end() -> Ending {
        if let ending { return ending }
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        let ending = signal == 0 ? Ending.exited(status >> 8 & 0xff) : .killed(signal)
        self.ending = ending
        return ending
    }

    /// Reads the output of children, until `deadline` or until all have closed it.
    static func read(
        _ children: [Child], until deadline: ContinuousClock.Instant, stopsAtOutput: Bool = false
    ) {
        while true {
            let open = children.filter(\.isOutputOpen)
            let remaining = deadline - ContinuousClock.now
            guard !open.isEmpty, remaining > .zero else { return }
            var descriptors = open.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
            let limit = Int32((remaining / .milliseconds(1)).rounded(.up))
            guard poll(&descriptors, nfds_t(descriptors.count), limit) > 0 else { continue }
            for (child, descriptor) in zip(open, descriptors) where descriptor.revents != 0 {
                child.readAvailable()
            }
            if stopsAtOutput { return }
        }
    }

    private func readAvailable() {
        let count = withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 8) { buffer in
            let count = Glibc.read(output, buffer.baseAddress, buffer.count)
            if count > 0 { bytes += buffer[..<count] }
            return count
        }
        guard count == 0 || (count < 0 && errno != EINTR) else { return }
        close(output)
        isOutputOpen = false
    }
}

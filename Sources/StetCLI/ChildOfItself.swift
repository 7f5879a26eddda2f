import FoundationEssentials
import Glibc
import StetStore
import Synchronization

/// Runs the command line of this process in a child process, with the same standard streams.
///
/// LMDB has no checksums: a damaged file may end the process that reads it.
enum ChildOfItself {
    /// The way in which a child ended.
    enum Ending {
        case exited(Int32)
        case killed(Int32)
    }

    /// The signals that a process may get when it reads a damaged file: bad addresses, and LMDB's
    /// assertions.
    static let signalsOfDamage: Set<Int32> = [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE]

    private static let childID = Atomic<Int32>(0)

    static func run() throws -> Ending {
        let arguments = CommandLine.arguments
        let words = [arguments.first ?? "stet", InChildCommand.name] + arguments.dropFirst()
        var environment = ProcessInfo.processInfo.environment
        // Keeps the runtime from printing the child's backtrace over the tool's own message.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        let processID = try spawn(words, environment.map { "\($0)=\($1)" })
        childID.store(processID, ordering: .releasing)
        // A signal that ends the tool must also end its child.
        for number in [SIGTERM, SIGHUP] {
            signal(number) { kill(ChildOfItself.childID.load(ordering: .acquiring), $0) }
        }
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0 {
            guard errno == EINTR else { throw failure(errno) }
        }
        let signal = status & 0x7f
        return signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
    }

    private static func spawn(_ words: [String], _ environment: [String]) throws -> pid_t {
        var words = words.map { strdup($0) } + [nil]
        var environment = environment.map { strdup($0) } + [nil]
        defer { for text in words + environment { free(text) } }
        var processID: pid_t = 0
        let code = posix_spawn(&processID, "/proc/self/exe", nil, nil, &words, &environment)
        guard code == 0 else { throw failure(code) }
        return processID
    }

    private static func failure(_ code: Int32) -> Failure {
        Failure(
            .internalError, code: StoreError.Code.inputOutput.rawValue, path: nil,
            message: "No child process can be run: \(String(cString: strerror(code))).",
            advice: "End other processes, or mount /proc.")
    }
}

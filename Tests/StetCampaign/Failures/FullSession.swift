import ArgumentParser
import Foundation
import StetStore
import StetTestSupport
import Synchronization

/// What a session of the campaign `full` runs up against.
enum Obstacle: String, CaseIterable, ExpressibleByArgument {
    /// The file system is small, and a filler takes most of it.
    case disk
    /// The process may not write larger files.
    case limit
    /// The map is small.
    case map
    /// The map is small, and a read that is open all the time keeps pages from being used again.
    case reader

    /// The code of the error that a save must get that does not fit.
    var code: StoreError.Code {
        switch self {
        case .disk, .limit: .diskFull
        case .map, .reader: .mapFull
        }
    }
}

/// The child that saves until nothing fits any more, makes room, and goes on.
struct FullSession: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Saves until the store is full, makes room, and goes on.")

    @Argument(help: "The store; it is created when it is not there.")
    var path: String
    @Option var seed: UInt64
    @Option var obstacle: Obstacle
    @Option(help: "The room: of a file, or of the map.")
    var bytes = 0
    @Option(help: "The file that is removed to make room.")
    var filler = ""
    @Option(help: "The most objects that a commit steps through.")
    var changes = 20

    /// More saves than fit into any room that a campaign leaves.
    private static let saveLimit = 5_000

    func run() throws {
        var session = ReportingSession(path, seed: seed)
        if obstacle == .limit { limitFiles(to: rlim_t(bytes)) }
        if obstacle.code == .mapFull { session.mapByteCount = bytes }
        if session.open(attempts: 1), let file = session.file {
            let reader = obstacle == .reader ? OpenRead(of: file) : nil
            let refused = fill(&session)
            makeRoom(&session, reader)
            try goOn(&session, with: obstacle == .reader ? nil : refused)
        } else {
            makeRoom(&session, nil)
            try goOn(&session, with: nil)
        }
        session.close()
        ReportingSession.tell(.done)
    }

    /// Saves until a save is refused, and tries that one again; its edits.
    private func fill(_ session: inout ReportingSession) -> [Workload.Edit]? {
        for _ in 0..<Self.saveLimit {
            let edits = session.edits(changes)
            if session.save(edits, attempts: 1) == .committed { continue }
            return session.save(edits, attempts: 1) == .committed ? nil : edits
        }
        ReportingSession.tell(.wrong("the store is never full"))
        return nil
    }

    private func makeRoom(_ session: inout ReportingSession, _ reader: OpenRead?) {
        ReportingSession.tell(.full)
        switch obstacle {
        case .disk: unlink(filler)
        case .limit: limitFiles(to: rlim_t.max)
        case .reader: reader?.end()
        case .map:
            session.close()
            session.mapByteCount = bytes * 4
        }
    }

    /// Everything must work again, the refused save first of all.
    private func goOn(_ session: inout ReportingSession, with refused: [Workload.Edit]?) throws {
        if session.file == nil, !session.open(attempts: 1) {
            return ReportingSession.tell(.wrong("the store cannot be opened after room was made"))
        }
        for number in 0..<5 {
            let edits = number == 0 ? refused ?? session.edits(2) : session.edits(2)
            if session.save(edits, attempts: 1) != .committed {
                return ReportingSession.tell(
                    .wrong("save \(number) after room was made is refused"))
            }
        }
    }

    /// Larger files are refused with an error, not a signal.
    private func limitFiles(to byteCount: rlim_t) {
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: byteCount, rlim_max: rlim_t.max)
        if setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) != 0 {
            ReportingSession.tell(.wrong("the limit cannot be set"))
        }
    }
}

/// A read on a thread of its own that ends when it is told.
private final class OpenRead: Sendable {
    private let begun = DispatchSemaphore(value: 0)
    private let ending = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init(of file: StoreFile) {
        let thread = Thread { [begun, ending, ended] in
            do {
                try file.read { reader in
                    let before = try reader.head().revision
                    begun.signal()
                    ending.wait()
                    if try reader.head().revision != before {
                        ReportingSession.tell(.wrong("an open read sees later commits"))
                    }
                }
            } catch {
                ReportingSession.tell(.wrong("read: \(error)"))
            }
            ended.signal()
        }
        thread.start()
        begun.wait()
    }

    func end() {
        ending.signal()
        ended.wait()
    }
}

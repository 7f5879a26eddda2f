#if STET_FAULTS
    import Glibc
#endif
import StetLMDB

/// The time at which a commit is on the disk: what a power cut or a crash of the system can take.
///
/// A commit that was acknowledged survives the end of the process in each of them but `none`, and a
/// store is never left with a part of a commit.
///
/// `logged`, `relaxed` and `none` allow one process at a time to write, until it closes the store;
/// others can read, and their saves throw `StoreError` (`.writtenElsewhere`). A store can be opened
/// with another durability each time.
public enum Durability: Hashable, Sendable {
    /// Each commit is on the disk when it is acknowledged, by two syncs of the store's file.
    ///
    /// Any number of processes can write.
    case synced
    /// Each commit is on the disk when it is acknowledged, by one sync of a log beside the store's
    /// file.
    ///
    /// The log, `PATH-log-0` and `PATH-log-1`, belongs to the store until the store is closed.
    case logged
    /// Each commit is in the log when it is acknowledged, and on the disk within a time after it: a
    /// power cut takes at most the commits of that time, the last ones.
    case relaxed(within: Duration)
    /// Commits are on the disk once the store is closed: for tests and imports.
    ///
    /// A store whose process ends without closing it cannot be opened any more (`.notSynced`).
    case none

    var ofEnvironment: Environment.Durability {
        switch self {
        case .synced: .synced
        case .logged: .logged
        case .relaxed(let time): .relaxed(within: time)
        case .none: .none
        }
    }

    /// The default: `synced`, or what `STET_DURABILITY` names in a build for tests.
    package static let usual: Durability = {
        #if STET_FAULTS
            switch getenv("STET_DURABILITY").map({ String(cString: $0) }) {
            case "logged": return .logged
            case "relaxed": return .relaxed(within: .milliseconds(50))
            case "none": return .none
            default: break
            }
        #endif
        return .synced
    }()

    /// Whether saves wait for another process that writes: false, unless a build for tests finds
    /// `STET_WAITS`.
    package static let waitsByDefault: Bool = {
        #if STET_FAULTS
            return getenv("STET_WAITS") != nil
        #else
            return false
        #endif
    }()
}

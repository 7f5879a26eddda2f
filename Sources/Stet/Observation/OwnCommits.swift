import StetStore
import Synchronization

/// The commits that a context has made, for observers that exclude them.
///
/// A commit is recorded before it is written, so that an observer that is faster than the context
/// recognises it, too. The memory is bounded: the oldest are forgotten when other writers have made
/// commits between them very many times.
///
/// State: the commits, guarded by the mutex.
final class OwnCommits: Sendable {
    private struct State {
        /// The ids of commits that may have been made.
        var sent: Set<CommitID> = []
        /// The revisions of the commits that were made: ascending ranges without gaps inside.
        var ranges: [ClosedRange<UInt64>] = []
    }
    private let state = Mutex(State())
    /// The greatest number of ranges that are kept, 16 bytes each.
    static let rangeLimit = 1 << 16

    init() {}

    /// The number of ranges that are kept.
    var rangeCount: Int { state.withLock { $0.ranges.count } }

    /// Records a commit that is about to be made.
    func send(_ id: CommitID) { state.withLock { _ = $0.sent.insert(id) } }

    /// Records that a commit was refused.
    func refuse(_ id: CommitID) { state.withLock { _ = $0.sent.remove(id) } }

    /// Records that a commit was made.
    func land(_ id: CommitID, _ revision: Revision) {
        state.withLock { state in
            state.sent.remove(id)
            let number = revision.number
            if let last = state.ranges.last, last.upperBound + 1 == number {
                state.ranges[state.ranges.count - 1] = last.lowerBound...number
            } else if state.ranges.last.map({ $0.upperBound < number }) ?? true {
                state.ranges.append(number...number)
                if state.ranges.count > Self.rangeLimit {
                    state.ranges.removeFirst(Self.rangeLimit / 2)
                }
            }
        }
    }

    func contains(_ commit: Commit) -> Bool { contains(commit.id, commit.revision) }

    func contains(_ id: CommitID, _ revision: Revision) -> Bool {
        state.withLock { state in
            if state.sent.contains(id) { return true }
            let number = revision.number
            let index = state.ranges.partitionPoint { $0.upperBound < number }
            return state.ranges.element(at: index)?.contains(number) ?? false
        }
    }
}

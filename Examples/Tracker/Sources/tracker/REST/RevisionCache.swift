import NIOCore
import Stet
import Synchronization

/// Answers that depend on nothing but the state of the store, kept until the next commit.
///
/// A revision names a state for good, so that an answer can never be stale.
final class RevisionCache: Sendable {
    private struct Answers {
        var revision = Revision.zero
        var bodies: [String: ByteBuffer] = [:]
    }

    /// The most answers that are kept.
    private static let limit = 1_000

    // The answers of the last state, guarded by the mutex.
    private let answers = Mutex(Answers())

    /// Returns the answer to a request in a state, if it is known.
    func body(for request: String, at revision: Revision) -> ByteBuffer? {
        answers.withLock { $0.revision == revision ? $0.bodies[request] : nil }
    }

    /// Keeps an answer, unless the store has moved on.
    func keep(_ body: ByteBuffer, for request: String, at revision: Revision) {
        answers.withLock { answers in
            if answers.revision < revision { answers = Answers(revision: revision) }
            guard answers.revision == revision, answers.bodies.count < Self.limit else { return }
            answers.bodies[request] = body
        }
    }
}

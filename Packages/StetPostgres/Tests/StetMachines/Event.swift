import Foundation
package import Stet

/// What a node notes of a history, with the uptime of the machine in nanoseconds.
package enum Event: Codable, Hashable, Sendable {
    case attempt(SaveAttempt)
    case answer(SaveAnswer)
    case read(ReadRecord)
    case final(FinalRecord)
    /// An error that no fault explains.
    case failure(node: Int, String)

    /// The uptime of the machine.
    package static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}

/// The invocation of a save; a save is attempted again with the same id.
package struct SaveAttempt: Codable, Hashable, Sendable {
    package var node: Int
    package var id: CommitID
    package var edit: Edit
    /// The time before the context was opened.
    package var opened: UInt64
    /// The revision of the context, and what it reads there.
    package var base: UInt64
    package var state: MachineState
    /// The time before the save.
    package var begun: UInt64

    package init(
        node: Int, id: CommitID, edit: Edit, opened: UInt64, base: UInt64, state: MachineState,
        begun: UInt64
    ) {
        (self.node, self.id, self.edit) = (node, id, edit)
        (self.opened, self.base, self.state, self.begun) = (opened, base, state, begun)
    }
}

/// What a node was told about a save.
package struct SaveAnswer: Codable, Hashable, Sendable {
    package enum Outcome: Codable, Hashable, Sendable {
        case committed(UInt64)
        /// A conflict, or a value that is not unique.
        case refused
        /// The journal was out of reach, and this attempt was not made.
        case unavailable
        case unknown
        /// It was not made, and will not be, whatever became of its attempts.
        case notCommitted
    }

    package var node: Int
    package var id: CommitID
    package var outcome: Outcome
    package var ended: UInt64

    package init(node: Int, id: CommitID, outcome: Outcome, ended: UInt64) {
        (self.node, self.id, self.outcome, self.ended) = (node, id, outcome, ended)
    }
}

/// A read of everything at a node.
package struct ReadRecord: Codable, Hashable, Sendable {
    package var node: Int
    package var begun: UInt64
    package var ended: UInt64
    /// Whether the node was refreshed in between.
    package var isFresh: Bool
    package var revision: UInt64
    package var state: MachineState

    package init(
        node: Int, begun: UInt64, ended: UInt64, isFresh: Bool, revision: UInt64,
        state: MachineState
    ) {
        (self.node, self.begun, self.ended, self.isFresh) = (node, begun, ended, isFresh)
        (self.revision, self.state) = (revision, state)
    }
}

/// What a node has when all faults are over.
package struct FinalRecord: Codable, Hashable, Sendable {
    package var node: Int
    /// The tokens of all commits, in order.
    package var commits: [UInt64]
    /// The tokens of those that redact values, and change no object.
    package var redactions: [UInt64]
    package var state: MachineState
    /// The hash of the last commit.
    package var hash: String
    /// What `verify` has found.
    package var problems: [String]
    /// Whether it said that the journal has another history.
    package var isDiverged: Bool

    package init(
        node: Int, commits: [UInt64], redactions: [UInt64] = [], state: MachineState,
        hash: String, problems: [String], isDiverged: Bool = false
    ) {
        self.redactions = redactions
        (self.node, self.commits, self.state) = (node, commits, state)
        (self.hash, self.problems, self.isDiverged) = (hash, problems, isDiverged)
    }
}

/// The edit of one save.
package enum Edit: Codable, Hashable, Sendable {
    /// Sets a value; two of them with one base are a conflict.
    case set(register: Int, value: Int)
    /// Increments a counter.
    case add(register: Int)
    /// Takes a key that is unique.
    case claim(key: Int, value: Int)
}

/// The state of a store of a history.
package struct MachineState: Codable, Hashable, Sendable {
    package static let registerCount = 3

    package var values: [Int]
    package var totals: [Int]
    package var claims: [Int: Int]

    /// Creates the state after the first commit.
    package init() {
        values = [Int](repeating: 0, count: Self.registerCount)
        totals = values
        claims = [:]
    }

    /// Returns the state after an edit; nil when it breaks a rule.
    func after(_ edit: Edit) -> MachineState? {
        var state = self
        switch edit {
        case .set(let register, let value): state.values[register] = value
        case .add(let register): state.totals[register] += 1
        case .claim(let key, let value):
            guard claims[key] == nil else { return nil }
            state.claims[key] = value
        }
        return state
    }
}

extension Event {
    /// Whether an event is of some nodes, or is an attempt whose save they may have.
    func concerns(_ nodes: [Int]) -> Bool {
        switch self {
        case .attempt: true
        case .answer(let answer): nodes.contains(answer.node)
        case .read(let read): nodes.contains(read.node)
        case .final(let final): nodes.contains(final.node)
        case .failure: true
        }
    }
}

import Foundation
public import Stet

/// What a node notes of a history, with the uptime of the machine in nanoseconds.
public enum Event: Codable, Hashable, Sendable {
    case attempt(SaveAttempt)
    case answer(SaveAnswer)
    case read(ReadRecord)
    case final(FinalRecord)
    /// An error that no fault explains.
    case failure(node: Int, String)

    /// The uptime of the machine.
    public static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}

/// The invocation of a save; a save is attempted again with the same id.
public struct SaveAttempt: Codable, Hashable, Sendable {
    public var node: Int
    public var id: CommitID
    public var edit: Edit
    /// The time before the context was opened.
    public var opened: UInt64
    /// The revision of the context, and what it reads there.
    public var base: UInt64
    public var state: MachineState
    /// The time before the save.
    public var begun: UInt64

    public init(
        node: Int, id: CommitID, edit: Edit, opened: UInt64, base: UInt64, state: MachineState,
        begun: UInt64
    ) {
        (self.node, self.id, self.edit) = (node, id, edit)
        (self.opened, self.base, self.state, self.begun) = (opened, base, state, begun)
    }
}

/// What a node was told about a save.
public struct SaveAnswer: Codable, Hashable, Sendable {
    public enum Outcome: Codable, Hashable, Sendable {
        case committed(UInt64)
        /// A conflict, or a value that is not unique.
        case refused
        /// The journal was out of reach, and this attempt was not made.
        case unavailable
        case unknown
        /// It was not made, and will not be, whatever became of its attempts.
        case notCommitted
    }

    public var node: Int
    public var id: CommitID
    public var outcome: Outcome
    public var ended: UInt64

    public init(node: Int, id: CommitID, outcome: Outcome, ended: UInt64) {
        (self.node, self.id, self.outcome, self.ended) = (node, id, outcome, ended)
    }
}

/// A read of everything at a node.
public struct ReadRecord: Codable, Hashable, Sendable {
    public var node: Int
    public var begun: UInt64
    public var ended: UInt64
    /// Whether the node was refreshed in between.
    public var isFresh: Bool
    public var revision: UInt64
    public var state: MachineState

    public init(
        node: Int, begun: UInt64, ended: UInt64, isFresh: Bool, revision: UInt64,
        state: MachineState
    ) {
        (self.node, self.begun, self.ended, self.isFresh) = (node, begun, ended, isFresh)
        (self.revision, self.state) = (revision, state)
    }
}

/// What a node has when all faults are over.
public struct FinalRecord: Codable, Hashable, Sendable {
    public var node: Int
    /// The tokens of all commits, in order.
    public var commits: [UInt64]
    public var state: MachineState
    /// The hash of the last commit.
    public var hash: String
    /// What `verify` has found.
    public var problems: [String]
    /// Whether it said that the journal has another history.
    public var isDiverged: Bool

    public init(
        node: Int, commits: [UInt64], state: MachineState, hash: String, problems: [String],
        isDiverged: Bool = false
    ) {
        (self.node, self.commits, self.state) = (node, commits, state)
        (self.hash, self.problems, self.isDiverged) = (hash, problems, isDiverged)
    }
}

/// The edit of one save.
public enum Edit: Codable, Hashable, Sendable {
    /// Sets a value; two of them with one base are a conflict.
    case set(register: Int, value: Int)
    /// Increments a counter.
    case add(register: Int)
    /// Takes a key that is unique.
    case claim(key: Int, value: Int)
}

/// The state of a store of a history.
public struct MachineState: Codable, Hashable, Sendable {
    public static let registerCount = 3

    public var values: [Int]
    public var totals: [Int]
    public var claims: [Int: Int]

    /// Creates the state after the first commit.
    public init() {
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

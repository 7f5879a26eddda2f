internal import Stet

/// Finds what contradicts the promises of a shared journal in a recorded history.
///
/// - The saves have one order, that of their revisions, which agrees with real time: a save that was
///   answered before another one was invoked has the lower revision.
/// - What each save and each read has seen is the state at a revision; a save that had a conflict or
///   broke a rule in the state before it is not in the journal.
/// - Reads of a node never go back, and contain what it has acknowledged; a fresh read contains
///   everything that was acknowledged, or read anywhere, before.
/// - A save whose outcome is not known was made once or not at all, and all that was said about it
///   is true.
/// - In the end all nodes have the same.
package struct HistoryChecker {
    /// A save with its attempts and answers.
    struct Save {
        var attempts: [SaveAttempt] = []
        var answers: [SaveAnswer] = []
        /// The revision in the journal.
        var revision: Int?

        var invoked: UInt64 { attempts.map(\.begun).min() ?? 0 }
        /// The time at which somebody knew that it was made.
        var acknowledged: UInt64? {
            answers.filter { if case .committed = $0.outcome { true } else { false } }
                .map(\.ended).min()
        }
    }

    /// A revision that a node has shown.
    struct Sight {
        var node: Int
        var begun: UInt64
        var ended: UInt64
        var revision: UInt64
        var isFresh = false
        /// The node had at least this revision, and may have shown later ones.
        var isAnswer = false
        var state: MachineState?
    }

    var saves: [UInt64: Save] = [:]
    var sights: [Sight] = []
    var finals: [FinalRecord] = []
    /// The tokens by revision, from revision 1.
    var journal: [UInt64] = []
    /// The states by revision, from revision 1; shorter than the journal when an edit breaks a rule.
    var states: [MachineState] = []
    package private(set) var problems: [String] = []

    /// Checks a history of some nodes, whose journal has lost nothing.
    package init(_ events: [Event], nodeCount: Int) {
        self.init(events, nodes: Array(0..<nodeCount))
        for final in finals where final.isDiverged { report("node \(final.node) has diverged") }
    }

    /// Checks a history whose journal has lost its last commits at some time: the nodes that have
    /// them say so, and keep them apart.
    ///
    /// - Parameters:
    ///   - events: The events.
    ///   - nodeCount: The number of nodes.
    ///   - newNode: A node that was made in the end.
    /// - Returns: What contradicts the promises.
    package static func problems(
        losing events: [Event], nodeCount: Int, newNode: Int
    ) -> [String] {
        var groups: [[UInt64]: [FinalRecord]] = [:]
        for case .final(let final) in events { groups[final.commits, default: []].append(final) }
        let all = groups.values.joined()
        guard all.count == nodeCount, let current = all.first(where: { $0.node == newNode })
        else { return ["the nodes in the end are \(all.map(\.node).sorted())"] }
        var problems: [String] = []
        for (commits, finals) in groups {
            let nodes = finals.map(\.node).sorted()
            let isLate = current.commits.starts(with: commits)
            for final in finals where final.isDiverged == isLate {
                problems.append(
                    isLate
                        ? "node \(final.node) has diverged without a reason"
                        : "node \(final.node) has not noticed that its commits were lost")
            }
            if isLate, commits.count < current.commits.count {
                problems.append("nodes \(nodes) lack the last commits")
            }
            problems += HistoryChecker(events.filter { $0.concerns(nodes) }, nodes: nodes).problems
        }
        return problems
    }

    private init(_ events: [Event], nodes: [Int]) {
        for event in events { add(event, nodes) }
        checkFinals(nodes)
        guard problems.isEmpty else { return }
        replay()
        checkAnswers()
        checkOrder()
        checkConflicts()
        checkSights()
    }

    mutating func report(_ problem: String) { problems.append(problem) }

    private mutating func add(_ event: Event, _ nodes: [Int]) {
        switch event {
        case .attempt(let attempt):
            // A save of other nodes may be in the journal.
            saves[attempt.id.token, default: Save()].attempts.append(attempt)
            guard nodes.contains(attempt.node) else { return }
            sights.append(
                Sight(
                    node: attempt.node, begun: attempt.opened, ended: attempt.begun,
                    revision: attempt.base, state: attempt.state))
        case .answer(let answer):
            saves[answer.id.token, default: Save()].answers.append(answer)
            if case .committed(let revision) = answer.outcome {
                sights.append(
                    Sight(
                        node: answer.node, begun: answer.ended, ended: answer.ended,
                        revision: revision, isAnswer: true))
            }
        case .read(let read):
            sights.append(
                Sight(
                    node: read.node, begun: read.begun, ended: read.ended,
                    revision: read.revision, isFresh: read.isFresh, state: read.state))
        case .final(let final): finals.append(final)
        case .failure(let node, let text): report("node \(node): \(text)")
        }
    }

    // MARK: The journal

    private mutating func checkFinals(_ nodes: [Int]) {
        guard finals.map(\.node).sorted() == nodes, let first = finals.first else {
            return report("the nodes in the end are \(finals.map(\.node).sorted())")
        }
        journal = first.commits
        for final in finals {
            for problem in final.problems { report("verify at node \(final.node): \(problem)") }
            if (final.commits, final.hash) != (first.commits, first.hash) {
                report("nodes \(first.node) and \(final.node) have different journals in the end")
            }
            if final.state != first.state {
                report("nodes \(first.node) and \(final.node) have different states in the end")
            }
        }
    }

    /// Computes the states from the edits.
    private mutating func replay() {
        var state = MachineState()
        if !journal.isEmpty { states.append(state) }
        let redactions = Set(finals.flatMap(\.redactions))
        for (index, token) in journal.enumerated().dropFirst() {
            let revision = index + 1
            if redactions.contains(token) {
                states.append(state)
                continue
            }
            guard let save = saves[token], let edit = save.attempts.first?.edit else {
                return report("nobody has invoked the save of revision \(revision)")
            }
            if let other = save.revision {
                return report("a save is in the journal as revisions \(other) and \(revision)")
            }
            saves[token]?.revision = revision
            guard let next = state.after(edit) else {
                return report("revision \(revision) breaks a rule: \(edit)")
            }
            state = next
            states.append(state)
        }
        if finals.first?.state != state { report("the last state is not that of the edits") }
    }

    private mutating func checkAnswers() {
        for (token, save) in saves {
            if Set(save.attempts.map(\.edit)).count != 1 {
                report("the save \(token) has \(save.attempts.count) attempts that differ")
            }
            for answer in save.answers {
                switch answer.outcome {
                case .committed(let revision) where save.revision != Int(revision):
                    report(
                        "a save was acknowledged as revision \(revision), and is "
                            + (save.revision.map { "revision \($0)" } ?? "not in the journal"))
                case .notCommitted where save.revision != nil:
                    report("revision \(save.revision ?? 0) was said not to be made")
                default: break
                }
            }
            let refusals = save.answers.filter {
                $0.outcome == .refused || $0.outcome == .unavailable
            }
            if let revision = save.revision, refusals.count == save.attempts.count {
                report("revision \(revision) was refused")
            }
        }
    }

    // MARK: Order

    private var ordered: [Save] {
        saves.values.filter { $0.revision != nil }
            .sorted { ($0.revision ?? 0) < ($1.revision ?? 0) }
    }

    private mutating func checkOrder() {
        var latest: (invoked: UInt64, revision: Int) = (0, 0)
        for save in ordered {
            if let end = save.acknowledged, end < latest.invoked {
                report(
                    "revision \(save.revision ?? 0) was acknowledged before revision "
                        + "\(latest.revision) was invoked")
            }
            if save.invoked > latest.invoked { latest = (save.invoked, save.revision ?? 0) }
        }
    }

    private mutating func checkConflicts() {
        let ordered = ordered
        func others(_ register: Int, after base: UInt64) -> [Save] {
            ordered.filter { save in
                guard case .set(register, _) = save.attempts.first?.edit else { return false }
                return (save.revision ?? 0) > Int(base)
            }
        }
        for save in saves.values {
            guard let edit = save.attempts.first?.edit else { continue }
            if let revision = save.revision, case .set(let register, _) = edit {
                let isAlone = save.attempts.contains { attempt in
                    !others(register, after: attempt.base).contains {
                        ($0.revision ?? 0) < revision
                    }
                }
                if !isAlone { report("revision \(revision) overwrites what it has not seen") }
            }
            for answer in save.answers where answer.outcome == .refused {
                let base = save.attempts.map(\.base).min() ?? 0
                let reasons: [Save] =
                    switch edit {
                    case .set(let register, _): others(register, after: base)
                    case .add: []
                    case .claim(let key, _):
                        ordered.filter { other in
                            if case .claim(key, _) = other.attempts.first?.edit {
                                true
                            } else {
                                false
                            }
                        }
                    }
                if !reasons.contains(where: { $0.invoked < answer.ended }) {
                    report("a save was refused without a reason: \(edit)")
                }
            }
        }
    }

    // MARK: Reads

    private mutating func checkSights() {
        let ordered = ordered
        let sights = sights.sorted { $0.begun < $1.begun }
        for sight in sights {
            guard sight.revision > 0, sight.revision <= journal.count else {
                report("node \(sight.node) has shown revision \(sight.revision)")
                continue
            }
            if let state = sight.state, state != states[safe: Int(sight.revision) - 1] {
                report("node \(sight.node) has shown another state at revision \(sight.revision)")
            }
            let seen = ordered.prefix { $0.revision ?? 0 <= Int(sight.revision) }
            if seen.contains(where: { $0.invoked > sight.ended }) {
                report("node \(sight.node) has shown revision \(sight.revision) before its save")
            }
        }
        for sight in sights where !sight.isAnswer {
            let earlier = sights.lazy.filter { other in
                other.ended < sight.begun && other.revision > sight.revision
                    && (sight.isFresh || other.node == sight.node)
            }
            if let other = earlier.first {
                report(
                    "node \(sight.node) has shown revision \(sight.revision) after node "
                        + "\(other.node) had shown \(other.revision)")
            }
        }
    }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? {
        indices.contains(index) ? self[index] : nil
    }
}

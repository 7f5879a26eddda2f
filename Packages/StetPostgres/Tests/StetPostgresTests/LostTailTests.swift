import Foundation
import Stet
import StetMachines
import Testing

/// The checker of histories whose journal has lost its last commits: node 0 has one that was lost,
/// node 1 and a new node, 2, have another one instead.
struct LostTailTests {
    private let kept: CommitID
    private let lost: CommitID
    private let later: CommitID
    private var lostAnswer = SaveAnswer.Outcome.committed(3)

    init() throws {
        func id() throws -> CommitID {
            let token = String(UInt64.random(in: 1 ... .max), radix: 16)
            let text = #"{"store": "\#(ObjectID())", "base": 1, "token": "\#(token)"}"#
            return try JSONDecoder().decode(CommitID.self, from: Data(text.utf8))
        }
        (kept, lost, later) = (try id(), try id(), try id())
    }

    private func state(_ total: Int) -> MachineState {
        var state = MachineState()
        state.totals[0] = total
        return state
    }

    private func save(
        _ node: Int, _ id: CommitID, _ base: UInt64, _ time: UInt64,
        _ outcome: SaveAnswer.Outcome
    ) -> [Event] {
        [
            .attempt(
                SaveAttempt(
                    node: node, id: id, edit: .add(register: 0), opened: time, base: base,
                    state: state(Int(base) - 1), begun: time)),
            .answer(SaveAnswer(node: node, id: id, outcome: outcome, ended: time + 5)),
        ]
    }

    private func final(
        _ node: Int, _ ids: CommitID..., isDiverged: Bool = false
    ) -> Event {
        .final(
            FinalRecord(
                node: node, commits: [1] + ids.map(\.token), state: state(ids.count),
                hash: "\(ids.map(\.token))", problems: [], isDiverged: isDiverged))
    }

    private var saves: [Event] {
        save(0, kept, 1, 10, .committed(2)) + save(0, lost, 2, 20, lostAnswer)
            + save(1, later, 2, 30, .committed(3))
    }

    private func problems(_ finals: Event...) -> [String] {
        HistoryChecker.problems(losing: saves + finals, nodeCount: 3, newNode: 2)
    }

    @Test func aNodeThatSaysThatItsCommitsWereLostIsAccepted() {
        #expect(
            problems(
                final(0, kept, lost, isDiverged: true), final(1, kept, later),
                final(2, kept, later)) == [])
    }

    @Test func aNodeThatDoesNotNoticeIsFound() {
        #expect(
            problems(final(0, kept, lost), final(1, kept, later), final(2, kept, later))
                == ["node 0 has not noticed that its commits were lost"])
    }

    @Test func anAcknowledgedCommitThatItsNodeHasReplacedIsFound() {
        let problems = problems(
            final(0, kept, later), final(1, kept, later), final(2, kept, later))
        #expect(
            problems == [
                "a save was acknowledged as revision 3, and is not in the journal",
                "node 0 has shown revision 3 before its save",
            ])
    }

    @Test func aLostCommitThatComesBackIsFound() {
        let all = HistoryChecker.problems(
            losing: saves + (0..<3).map { final($0, kept, later, lost) }, nodeCount: 3, newNode: 2)
        #expect(all.contains("a save was acknowledged as revision 3, and is revision 4"))
    }

    @Test func aNodeThatDivergesWithoutAReasonIsFound() {
        let problems = problems(
            final(0, kept, lost, isDiverged: true), final(1, kept, isDiverged: true),
            final(2, kept, later))
        #expect(problems.contains("node 1 has diverged without a reason"))
        #expect(problems.contains("nodes [1] lack the last commits"))
    }

    @Test func aMissingNodeIsFound() {
        #expect(problems(final(0, kept), final(1, kept)).count == 1)
    }
}

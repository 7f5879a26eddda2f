import Foundation
import Stet
import StetMachines
import Testing

/// The checker of histories accepts what a shared journal promises, and nothing else.
struct HistoryCheckerTests {
    /// Two nodes, and three saves: two of node 0, one of node 1, each answered before the next one.
    private var saves = [
        Save(node: 0, edit: .set(register: 0, value: 7), base: 1, times: 10...19),
        Save(node: 1, edit: .add(register: 1), base: 2, times: 20...29),
        Save(node: 0, edit: .claim(key: 3, value: 8), base: 3, times: 30...39),
    ]
    /// Events beside those of the saves.
    private var others: [Event] = []
    private var problemsInTheEnd: [String] = []
    /// Whether a last commit, which nobody has invoked, is said to redact values; nil for none.
    private var lastIsRedaction: Bool?

    /// A save as it is in the journal, at the revision after its place.
    private struct Save {
        var node: Int
        var edit: Edit
        var base: UInt64
        var times: ClosedRange<UInt64>
        var outcomes: [SaveAnswer.Outcome]?
        var isInJournal = true
        var id = Self.makeID()
        /// What it has read, unless that is the state at its base.
        var state: MachineState?

        private static func makeID() -> CommitID {
            let token = String(UInt64.random(in: 1 ... .max), radix: 16)
            let text = #"{"store": "\#(ObjectID())", "base": 1, "token": "\#(token)"}"#
            do {
                return try JSONDecoder().decode(CommitID.self, from: Data(text.utf8))
            } catch {
                Issue.record(error)
                preconditionFailure("an id is not \(text)")
            }
        }
    }

    private func state(_ revision: UInt64) -> MachineState {
        var state = MachineState()
        for save in saves.filter(\.isInJournal).prefix(Int(revision) - 1) {
            switch save.edit {
            case .set(let register, let value): state.values[register] = value
            case .add(let register): state.totals[register] += 1
            case .claim(let key, let value): state.claims[key] = value
            }
        }
        return state
    }

    private var events: [Event] {
        var events = others
        var commits: [UInt64] = [1]
        for save in saves {
            if save.isInJournal { commits.append(save.id.token) }
            events.append(attempt(of: save))
            for outcome in save.outcomes ?? [.committed(UInt64(commits.count))] {
                events.append(answer(save, outcome, save.times.upperBound))
            }
        }
        let last = state(UInt64(commits.count))
        if lastIsRedaction != nil { commits.append(2) }
        for node in 0..<2 {
            events.append(
                .final(
                    FinalRecord(
                        node: node, commits: commits,
                        redactions: lastIsRedaction == true ? [2] : [], state: last, hash: "1",
                        problems: problemsInTheEnd)))
        }
        return events
    }

    private func attempt(of save: Save, at time: UInt64? = nil) -> Event {
        let time = time ?? save.times.lowerBound
        return .attempt(
            SaveAttempt(
                node: save.node, id: save.id, edit: save.edit, opened: time, base: save.base,
                state: save.state ?? state(save.base), begun: time))
    }

    private func answer(_ save: Save, _ outcome: SaveAnswer.Outcome, _ time: UInt64) -> Event {
        .answer(SaveAnswer(node: save.node, id: save.id, outcome: outcome, ended: time))
    }

    private func read(
        _ node: Int, _ times: ClosedRange<UInt64>, _ revision: UInt64, isFresh: Bool = false
    ) -> Event {
        .read(
            ReadRecord(
                node: node, begun: times.lowerBound, ended: times.upperBound, isFresh: isFresh,
                revision: revision, state: state(revision)))
    }

    private var problems: [String] { HistoryChecker(events, nodeCount: 2).problems }

    // MARK: What is right

    @Test mutating func savesAndStaleReadsAreAccepted() {
        others = [
            read(1, 11...12, 1), read(1, 13...14, 2), read(1, 15...25, 2), read(1, 30...31, 3),
            read(1, 32...33, 4), read(0, 35...36, 3), read(1, 40...41, 4, isFresh: true),
        ]
        #expect(problems == [])
    }

    @Test mutating func aCommitThatNobodyHasInvokedMayRedactOnly() {
        others = [read(1, 40...41, 5)]
        lastIsRedaction = true
        #expect(problems == [])
        lastIsRedaction = false
        #expect(problems.contains("nobody has invoked the save of revision 5"))
    }

    @Test mutating func anUnknownSaveMayBeMadeOrNot() {
        saves[1].outcomes = [.unknown]
        #expect(problems == [])
        saves[1].isInJournal = false
        saves[2].base = 2
        #expect(problems == [])
        saves[1].outcomes = [.unknown, .notCommitted]
        #expect(problems == [])
    }

    @Test mutating func aSaveIsRepeatedWithItsId() {
        saves[1].outcomes = [.unknown, .committed(3), .committed(3)]
        others = [attempt(of: saves[1], at: 25)]
        #expect(problems == [])
    }

    @Test mutating func aSaveMayBeRefusedForAReason() {
        saves.append(
            Save(
                node: 1, edit: .set(register: 0, value: 9), base: 1, times: 15...50,
                outcomes: [.refused], isInJournal: false))
        saves.append(
            Save(
                node: 1, edit: .claim(key: 3, value: 9), base: 1, times: 15...50,
                outcomes: [.refused], isInJournal: false))
        #expect(problems == [])
    }

    // MARK: What is wrong

    private func expect(_ parts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
        let problems = problems
        #expect(problems.count == parts.count, "\(problems)", sourceLocation: sourceLocation)
        for part in parts {
            #expect(
                problems.contains { $0.contains(part) }, "\(part): \(problems)",
                sourceLocation: sourceLocation)
        }
    }

    @Test mutating func aLostCommitIsFound() {
        saves[2].outcomes = [.committed(4)]
        saves[2].isInJournal = false
        expect("acknowledged as revision 4, and is not in the journal", "has shown revision 4")
    }

    @Test mutating func anotherRevisionThanAcknowledgedIsFound() {
        saves[1].outcomes = [.unknown, .committed(3), .committed(4)]
        expect("acknowledged as revision 4, and is revision 3", "revision 4 before its save")
    }

    @Test mutating func aSaveThatWasMadeTwiceIsFound() {
        saves.append(saves[1])
        saves[3].outcomes = []
        expect("in the journal as revisions 3 and 5")
    }

    @Test mutating func aSaveThatNobodyInvokedIsFound() {
        var events = events
        events.removeAll { if case .attempt(let attempt) = $0 { attempt.node == 1 } else { false } }
        #expect(
            HistoryChecker(events, nodeCount: 2).problems.contains {
                $0.contains("nobody has invoked the save of revision 3")
            })
    }

    @Test mutating func aRefusedSaveInTheJournalIsFound() {
        saves[1].outcomes = [.unavailable]
        expect("revision 3 was refused")
    }

    @Test mutating func aSaveThatAppearsAfterItWasSaidNotToBeMadeIsFound() {
        saves[1].outcomes = [.unknown, .notCommitted]
        expect("revision 3 was said not to be made")
    }

    @Test mutating func anOrderAgainstRealTimeIsFound() {
        saves[0].times = 25...35
        saves[1].base = 1
        saves[1].times = 10...20
        expect(
            "revision 3 was acknowledged before revision 2 was invoked",
            "node 1 has shown revision 3 before its save")
    }

    @Test mutating func aValueThatNobodyHasSeenAndSomebodyOverwritesIsFound() {
        saves[2].edit = .set(register: 0, value: 9)
        saves[2].base = 1
        saves[2].times = 15...39
        saves[2].node = 1
        saves[1].node = 0
        expect("revision 4 overwrites what it has not seen")
    }

    @Test mutating func aUniqueValueThatIsThereTwiceIsFound() {
        saves[1].edit = .claim(key: 3, value: 1)
        #expect(problems.contains { $0.contains("revision 4 breaks a rule") })
    }

    @Test mutating func aRefusalWithoutAReasonIsFound() {
        for edit in [
            Edit.set(register: 1, value: 9), .claim(key: 5, value: 9), .add(register: 1),
        ] {
            var copy = self
            copy.saves.append(
                Save(
                    node: 1, edit: edit, base: 3, times: 40...50, outcomes: [.refused],
                    isInJournal: false))
            copy.expect("refused without a reason")
        }
    }

    @Test mutating func aStateThatNeverWasIsFound() {
        saves[2].state = MachineState()
        expect("node 0 has shown another state at revision 3")
    }

    @Test mutating func aReadThatGoesBackIsFound() {
        others = [read(1, 40...41, 4), read(1, 42...43, 3)]
        expect("node 1 has shown revision 3 after node 1 had shown 4")
    }

    @Test mutating func aNodeThatDoesNotShowItsOwnSaveIsFound() {
        others = [read(0, 40...41, 3)]
        expect("node 0 has shown revision 3 after node 0 had shown 4")
    }

    @Test mutating func aFreshReadWithoutTheCommitsOfOthersIsFound() {
        others = [read(1, 40...41, 3, isFresh: true)]
        expect("node 1 has shown revision 3 after node 0 had shown 4")
    }

    @Test mutating func aReadOfTheFutureIsFound() {
        others = [read(1, 25...26, 4)]
        expect("node 1 has shown revision 4 before its save")
    }

    @Test mutating func aRevisionThatIsNotInTheJournalIsFound() {
        var record = ReadRecord(
            node: 1, begun: 40, ended: 41, isFresh: false, revision: 4, state: state(4))
        record.revision = 5
        others = [.read(record)]
        expect("node 1 has shown revision 5")
    }

    @Test mutating func nodesThatDifferInTheEndAreFound() {
        let final = FinalRecord(
            node: 1, commits: [1], state: MachineState(), hash: "2", problems: [])
        let events = events.dropLast() + [.final(final)]
        let problems = HistoryChecker(Array(events), nodeCount: 2).problems
        #expect(problems.count == 2)
        #expect(problems.allSatisfy { $0.contains("nodes 0 and 1 have different") })
        #expect(HistoryChecker(self.events, nodeCount: 3).problems.count == 1)
    }

    @Test mutating func whatVerifyFindsAndErrorsAreFound() {
        problemsInTheEnd = ["a page is damaged"]
        others = [.failure(node: 1, "journalDiverged")]
        expect("node 1: journalDiverged", "a page is damaged", "a page is damaged")
    }
}

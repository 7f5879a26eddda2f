import Foundation
import Stet
import StetLMDB
import StetTestModels
import StetTestSupport
import Synchronization
import Testing

/// Whatever fails between a node and its shared journal, a save has one outcome.
struct NodeFailureTests {
    private let nodes = Nodes()
    private var journal: MemoryJournal { nodes.journal }

    @Test func aSaveWhoseAnswerIsLostIsMadeOnce() throws {
        let one = try nodes.open("one")
        journal.failNext(.lostAnswer)
        try one.saveNotebook("Swift")
        #expect(journal.entries.count == 1)
        #expect(try one.notebookNames == ["Swift"])
        try one.saveNotebook("Linux")
        #expect(try one.verify().problems == [])
    }

    @Test func aSaveWhoseRequestIsLostIsSentAgain() throws {
        let one = try nodes.open("one")
        journal.failNext(.lostRequest)
        try one.saveNotebook("Swift")
        #expect(journal.entries.count == 1)
        #expect(try one.notebookNames == ["Swift"])
    }

    @Test func aRequestThatArrivesLateIsRefused() throws {
        let one = try nodes.open("one")
        journal.failNext(.late)
        try one.saveNotebook("Swift")
        #expect(!journal.deliver())
        #expect(journal.entries.count == 1)
        #expect(try one.verify().problems == [])
    }

    @Test func aLostAnswerIsFoundBehindTheCommitsOfOthers() throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        journal.failNext(.lostAnswer)
        journal.beforeNext(.fence) { _ = try? other.saveNotebook("Linux") }
        try one.saveNotebook("Swift")
        #expect(try one.commit(1) == other.commit(1))
        try one.saveNotebook("LMDB")
        #expect(try one.notebookNames == ["LMDB", "Linux", "Swift"])
        #expect(journal.entries.count == 3)
    }

    @Test func aLostAnswerIsUnknownIfTheJournalIsLostBeforeItWasLookedFor() throws {
        // Their threads don't read what the save reads.
        let nodes = Nodes(isSilent: true)
        let journal = nodes.journal
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        journal.failNext(.lostAnswer)
        journal.beforeNext(.fence) {
            _ = try? other.saveNotebook("Linux")
            journal.goDown(after: .fence)
        }
        let error = #expect(throws: UnknownOutcomeError.self) { try one.saveNotebook("Swift") }
        let id = try #require(error?.commit)
        #expect(one.outcome(of: id) == .unknown)
        journal.isDown = false
        #expect(one.outcome(of: id) == .committed(try other.commit(1)))
        #expect(try one.notebookNames == ["Linux", "Swift"])
    }

    @Test func aLostAnswerIsUnknownIfTheJournalIsRemovedBeforeItWasLookedFor() throws {
        let one = try nodes.open("one")
        journal.failNext(.lostAnswer)
        let journal = journal
        journal.beforeNext(.fence) { _ = try? journal.remove(at: #require(try journal.head())) }
        let error = #expect(throws: UnknownOutcomeError.self) { try one.saveNotebook("Swift") }
        #expect(error?.cause.code == .journalDiverged)
    }

    @Test func withoutTheJournalReadsGoOnAndASaveLosesNothing() throws {
        let one = try nodes.open("one")
        try one.saveNotebook("Swift")
        journal.isDown = true
        let context = one.context()
        let notebook = try #require(try context.fetch(Notebook.self).first())
        notebook.name = "Linux"
        let error = #expect(throws: StoreError.self) { try context.save(onFailure: .keepPending) }
        #expect(error?.code == .journalUnavailable)
        #expect(try one.notebookNames == ["Swift"])
        #expect(notebook.name == "Linux")
        journal.isDown = false
        try context.save()
        #expect(try one.notebookNames == ["Linux"])
    }

    @Test func aJournalThatRefusesFailsTheSaveAlone() throws {
        let one = try nodes.open("one")
        journal.failNext(.unavailable)
        let error = #expect(throws: StoreError.self) { try one.saveNotebook("Swift") }
        #expect(error?.code == .journalUnavailable)
        #expect(journal.entries == [])
        try one.saveNotebook("Swift")
        #expect(try one.notebookNames == ["Swift"])
    }

    @Test func anUnknownOutcomeIsSettledByTheId() throws {
        for failure in [MemoryJournal.Failure.lostAnswer, .lostRequest, .late] {
            let nodes = Nodes()
            let journal = nodes.journal
            let one = try nodes.open("one", settleLimit: .milliseconds(1))
            journal.failNext(failure)
            // The answer is lost because the connection is.
            journal.beforeNext(.append) { journal.goDown(after: .append) }
            let error = #expect(throws: UnknownOutcomeError.self) { try one.saveNotebook("Swift") }
            let id = try #require(error?.commit)
            #expect(one.outcome(of: id) == .unknown)
            journal.isDown = false
            let outcome = one.outcome(of: id)
            switch failure {
            case .lostAnswer:
                #expect(outcome == .committed(try one.commit(1)))
            default:
                #expect(outcome == .notCommitted)
                #expect(!journal.deliver())
            }
            try one.saveNotebook("Linux")
            #expect(try one.verify().problems == [])
        }
    }

    #if STET_FAULTS
        @Test func aCommitThatOnlyTheFileRefusesIsThereAfterwards() throws {
            for operation in [LMDBError.Operation.commit, .put] {
                let nodes = Nodes()
                let one = try nodes.open("one")
                let faults = one.file.environment.faults
                nodes.journal.beforeNext(.append) { faults.failNext(operation, code: 5) }
                try one.saveNotebook("Swift")
                #expect(nodes.journal.entries.count == 1)
                #expect(try one.notebookNames == ["Swift"])
                faults.disarm()
                try one.saveNotebook("Linux")
                #expect(try one.verify().problems == [])
            }
        }
    #endif

    @Test func aNodeThatIsKilledAfterTheAppendGetsItsCommitWhenItIsOpened() throws {
        let one = try nodes.open("one")
        try one.saveNotebook("Swift")
        // A copy of a file that is open may have pages of two commits.
        one.close()
        try FileManager.default.copyItem(
            atPath: nodes.path("one"), toPath: nodes.path("killed"))
        try nodes.open("one").saveNotebook("Linux")
        let killed = try nodes.open("killed")
        #expect(try killed.notebookNames == ["Linux", "Swift"])
        #expect(try killed.verify().problems == [])
    }

    // MARK: Files without their journal

    @Test func aNodeThatIsOpenedWithoutItsJournalCanBeRead() throws {
        let one = try nodes.open("one")
        try one.saveNotebook("Swift")
        one.close()
        let alone = try nodes.openAlone("one")
        #expect(try alone.notebookNames == ["Swift"])
        let error = #expect(throws: StoreError.self) { try alone.saveNotebook("Linux") }
        #expect(error?.code == .journalRequired)
        #expect(try alone.notebookNames == ["Swift"])
    }

    @Test func aNodeOpensWhileItsJournalIsDown() throws {
        try nodes.open("one").close()
        journal.isDown = true
        let one = try nodes.open("one")
        #expect(try one.notebookNames == [])
        let error = #expect(throws: StoreError.self) { try nodes.open("new") }
        #expect(error?.code == .journalUnavailable)
        #expect(!FileManager.default.fileExists(atPath: nodes.path("new")))
    }

    @Test func aStoreThatWasNeverAttachedIsRefused() throws {
        _ = try nodes.open("one")
        let local = try nodes.openAlone("local")
        try local.saveNotebook("Swift")
        local.close()
        let error = #expect(throws: StoreError.self) { try nodes.open("local") }
        #expect(error?.code == .sharedJournal)
        #expect(try nodes.openAlone("local").notebookNames == ["Swift"])
    }

    // MARK: Journals that are not the node's own

    @Test func aJournalThatLostCommitsIsRefused() throws {
        let one = try nodes.open("one")
        for name in ["Swift", "Linux", "LMDB"] { try one.saveNotebook(name) }
        journal.lose(2)
        let error = #expect(throws: StoreError.self) { try one.saveNotebook("more") }
        #expect(error?.code == .journalDiverged)
        #expect(try one.notebookNames.count == 3)
        // A node that never had them goes on, and the first one is refused all the same.
        let other = try nodes.open("other")
        try other.saveNotebook("other")
        try other.saveNotebook("another")
        try other.saveNotebook("one more")
        #expect(throws: StoreError.self) { try one.saveNotebook("more") }
        one.close()
        #expect(
            #expect(throws: StoreError.self) { try nodes.open("one") }?.code == .journalDiverged)
        #expect(try nodes.openAlone("one").notebookNames.count == 3)
    }

    @Test func theJournalOfAnotherStoreIsRefused() throws {
        try nodes.open("one").close()
        let others = Nodes()
        _ = try others.open("one")
        let error = #expect(throws: StoreError.self) {
            try Store.open(
                at: nodes.path("one"), for: Notebook.self, Article.self, Tally.self,
                journal: others.journal)
        }
        #expect(error?.code == .journalDiverged)
    }

    // MARK: Turns

    /// The other node appends before each append of the first one, until that asks for its turn.
    @Test func aNodeThatIsOvertakenAgainAndAgainGetsATurn() throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let overtaker = Overtaker(journal: journal, store: other)
        overtaker.arm()
        try one.saveNotebook("one")
        #expect(overtaker.count == 3)
        #expect(overtaker.isEnded)
        #expect(try one.notebookNames == ["0", "1", "2", "one"])
        #expect(try one.verify().problems == [])
    }

    @Test func aNodeThatIsAskedForATurnSavesAfterwards() throws {
        let one = try nodes.open("one")
        journal.beforeNext(.append) { [journal] in _ = try? journal.fence() }
        try one.saveNotebook("one")
        #expect(try one.revision() == 1)
        #expect(journal.appendCount == 1)
    }

    // MARK: Made anew

    @Test func aDamagedNodeIsMadeAnew() throws {
        let one = try nodes.open("one")
        try one.saveNotebook("Swift")
        let other = try nodes.open("other")
        try other.saveNotebook("Linux")
        other.close()
        let path = nodes.path("other")
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.write(contentsOf: Data(repeating: 0xA5, count: 8_192))
        try file.close()
        let damaged = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(throws: StoreError.self) { try nodes.open("other") }
        try journal.remake(path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(path).former")) == damaged)
        let again = try nodes.open("other")
        #expect(try again.notebookNames == ["Linux", "Swift"])
        try again.saveNotebook("macOS")
        #expect(try again.verify().problems == [])
        #expect(try nodes.files.allSatisfy { !$0.contains("remade") })
    }

    @Test func aNodeThatCannotBeMadeAnewStaysAsItIs() throws {
        let one = try nodes.open("one")
        try one.saveNotebook("Swift")
        let busy = #expect(throws: StoreError.self) { try journal.remake(nodes.path("one")) }
        #expect(busy?.code == .storeBusy)
        one.close()
        let path = nodes.path("one")
        let unknown = #expect(throws: StoreError.self) { try MemoryJournal().remake(path) }
        #expect(unknown?.code == .notFound)
        journal.isDown = true
        let unreachable = #expect(throws: StoreError.self) { try journal.remake(path) }
        #expect(unreachable?.code == .journalUnavailable)
        journal.isDown = false
        try Data("former".utf8).write(to: URL(fileURLWithPath: "\(path).former"))
        let present = #expect(throws: StoreError.self) { try journal.remake(path) }
        #expect(present?.code == .alreadyExists)
        #expect(try nodes.open("one").notebookNames == ["Swift"])
        try journal.remake(nodes.path("new"))
        #expect(try nodes.open("new").notebookNames == ["Swift"])
    }
}

/// Saves to a store before each append to its journal by another one, until a node asks for a turn.
private final class Overtaker: Sendable {
    private let journal: MemoryJournal
    private let store: Store
    private let state = Mutex((count: 0, isEnded: false))

    init(journal: MemoryJournal, store: Store) {
        self.journal = journal
        self.store = store
    }

    var count: Int { state.withLock(\.count) }
    var isEnded: Bool { state.withLock(\.isEnded) }

    func arm() {
        journal.beforeNext(.fence) { [self] in state.withLock { $0.isEnded = true } }
        journal.beforeNext(.append) { [self] in
            guard !isEnded else { return }
            let number = state.withLock { state in
                defer { state.count += 1 }
                return state.count
            }
            _ = try? store.saveNotebook("\(number)")
            arm()
        }
    }
}

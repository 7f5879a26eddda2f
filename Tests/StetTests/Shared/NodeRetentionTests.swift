import Foundation
import Stet
import StetLMDB
@testable import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// A trim or a redaction at one node reaches the shared journal, and all other nodes when they
/// follow it.
struct NodeRetentionTests {
    private let nodes = Nodes(isSilent: true)
    private var journal: MemoryJournal { nodes.journal }

    /// Saves a notebook, then another name for it.
    private func saveRenamed(_ store: Store, _ name: String, to other: String) throws -> ObjectID {
        let id = try store.saveNotebook(name)
        try store.rename(id, to: other)
        return id
    }

    private func redact(_ id: ObjectID, at store: Store) throws {
        try store.requestRedaction(of: Notebook.self, id: id, \.name).confirm()
    }

    private func expectClean(_ stores: [Store]) throws {
        for store in stores { #expect(try store.verify().problems == []) }
    }

    /// Waits until a node has trimmed, or the time of the test is over.
    private func waitForTrim(_ store: Store) async throws {
        while try store.floor() == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    // MARK: Trimming

    @Test func aTrimReachesTheJournalAndAllNodes() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        for number in 1...5 { try one.saveNotebook("\(number)") }
        try await other.refresh()
        try one.requestTrim(before: 4).confirm()
        #expect(journal.entries.map(\.revision) == [4, 5, 6])
        #expect(try one.floor() == 3)
        #expect(try one.commit(6).cause == .trim)
        #expect(try other.floor() == 0)
        try await other.refresh()
        #expect(try other.floor() == 3)
        let new = try nodes.open("new")
        #expect(try new.floor() == 3)
        for store in [one, other, new] {
            #expect(try store.revision() == 6)
            #expect(try store.notebookNames == ["1", "2", "3", "4", "5"])
        }
        try expectClean([one, other, new])
    }

    @Test func aNodeThatWasAwayForATrimIsMadeAnew() throws {
        let one = try nodes.open("one")
        try nodes.open("away").close()
        for number in 1...5 { try one.saveNotebook("\(number)") }
        try one.requestTrim(before: 4).confirm()
        let error = #expect(throws: StoreError.self) { try nodes.open("away") }
        #expect(error?.code == .historyTrimmed)
        #expect(error?.advice.contains("remake the node") == true)
        try journal.remake(nodes.path("away"))
        let anew = try nodes.open("away")
        #expect(try anew.notebookNames == ["1", "2", "3", "4", "5"])
        try expectClean([anew])
    }

    @Test(.timeLimit(.minutes(10))) func aNodeThatWasKilledWhileItTrimmedGoesOn() async throws {
        let one = try nodes.open("one")
        for number in 1...3 { try one.saveNotebook("\(number)") }
        one.close()
        // The process was killed after it had applied a trim, and before it trimmed.
        let killed = try nodes.openAlone("one")
        try killed.file.environment.writeGrowing { try WantedFloor.raise(to: 2, in: $0) }
        killed.close()
        let again = try nodes.open("one")
        try await waitForTrim(again)
        #expect(try again.floor() == 2)
        try expectClean([again])
    }

    @Test func aNodeIsNotTrimmedAlone() throws {
        let one = try nodes.open("one")
        for number in 1...3 { try one.saveNotebook("\(number)") }
        let error = #expect(throws: StoreError.self) { try one.file.trim(through: 2) }
        #expect(error?.code == .sharedJournal)
        #expect(try one.floor() == 0)
        one.close()
        let alone = try nodes.openAlone("one")
        #expect(throws: StoreError.self) { try alone.requestTrim(before: 2).confirm() }
        #expect(try alone.floor() == 0)
    }

    @Test func aTrimWhoseCopyFailedIsCompletedByRepeatingIt() throws {
        let one = try nodes.open("one")
        for number in 1...3 { try one.saveNotebook("\(number)") }
        journal.failsToReplaceBase = true
        let error = #expect(throws: StoreError.self) {
            try one.requestTrim(before: 3).confirm()
        }
        #expect(error?.code == .journalUnavailable)
        #expect(try one.floor() == 2)
        #expect(journal.entries.count == 4)
        journal.failsToReplaceBase = false
        try one.requestTrim(before: 3).confirm()
        #expect(journal.entries.map(\.revision) == [3, 4])
        try expectClean([one, try nodes.open("new")])
    }

    @Test func anUnknownSaveIsNotSettledByATrimmedJournal() async throws {
        let one = try nodes.open("one", settleLimit: .milliseconds(1))
        let other = try nodes.open("other")
        try one.saveNotebook("1")
        try other.saveNotebook("2")
        try await one.refresh()
        let context = one.context()
        context.insert(Notebook(name: "3"))
        // The answer is lost, and another node trims the commit before this one asks.
        journal.failNext(.lostAnswer)
        journal.beforeNext(.fence) { [nodes] in
            guard let third = try? nodes.open("third") else { return }
            try? third.requestTrim(before: 4).confirm()
        }
        let unknown = #expect(throws: UnknownOutcomeError.self) { try context.save() }
        #expect(unknown?.cause.code == .historyTrimmed)
    }

    @Test(.timeLimit(.minutes(10))) func aNodeTrimsAsItsRetentionSays() async throws {
        let one = try nodes.open("one")
        for number in 1...5 { try one.saveNotebook("\(number)") }
        let keeper = try nodes.open("keeper", retention: .count(2))
        try await waitForTrim(keeper)
        #expect(try keeper.floor() == 3)
        try await one.refresh()
        #expect(try one.floor() == 3)
        try expectClean([one, keeper, try nodes.open("new")])
        #expect(try keeper.revision() == 6)
        #expect(StoreNode(keeper.file).followInBackground())
        #expect(try keeper.revision() == 6)
    }

    // MARK: Redaction

    @Test func aRedactionReachesTheJournalAndAllNodes() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let id = try saveRenamed(one, "a secret", to: "Swift")
        try await other.refresh()
        #expect(journal.contains("a secret"))
        try redact(id, at: one)
        #expect(!journal.contains("a secret"))
        #expect(try one.commit(3).cause == .redaction)
        #expect(try other.view(asOf: 1).fetch(Notebook.self).values(of: \.name) == ["a secret"])
        try await other.refresh()
        let new = try nodes.open("new")
        for store in [one, other, new] {
            #expect(try store.view(asOf: 1).fetch(Notebook.self).values(of: \.name) == [""])
            #expect(try store.notebookNames == ["Swift"])
            #expect(try store.commit(1).isRedacted)
            #expect(try store.revision() == 3)
        }
        try expectClean([one, other, new])
    }

    @Test(arguments: [false, true])
    func aNodeThatLagsAppliesRedactedCommits(isTrimmed: Bool) async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let id = try saveRenamed(one, "secret 1", to: "secret 2")
        try await other.refresh()
        if isTrimmed {
            try one.requestTrim(before: 2).confirm()
            try await other.refresh()
        }
        try one.rename(id, to: "secret 3")
        let gone = try saveRenamed(one, "secret 4", to: "secret 5")
        try one.delete(gone)
        try one.rename(id, to: "Swift")
        try redact(id, at: one)
        try redact(gone, at: one)
        #expect(!journal.contains("secret"))
        try await other.refresh()
        try expectClean([one, other, try nodes.open("new")])
        #expect(try other.revision() == one.revision())
        for store in [one, other] {
            let floor = try store.floor()
            let last = try store.revision()
            for number in floor.number + 1...last.number {
                let names = try store.view(asOf: Revision(number)).fetch(Notebook.self)
                    .values(of: \.name)
                #expect(!names.contains { $0.hasPrefix("secret") })
            }
        }
    }

    @Test func aRefusedRedactionChangesNothing() throws {
        let one = try nodes.open("one")
        let id = try saveRenamed(one, "Swift", to: "Linux")
        try one.rename(id, to: "Swift")
        #expect(throws: StoreError.self) {
            _ = try one.requestRedaction(of: Notebook.self, id: id, \.name)
        }
        // The value comes into use while the plan is looked at.
        try one.rename(id, to: "Stet")
        let late = try one.requestRedaction(of: Notebook.self, id: id, \.name)
        try one.rename(id, to: "Linux")
        var code: StoreError.Code?
        do {
            try late.confirm()
        } catch let error as StoreError {
            code = error.code
        }
        #expect(code == .valueInUse)
        #expect(journal.entries.count == 5)
        #expect(try one.revision() == 5)
        try expectClean([one])
    }

    @Test func aRedactionWhoseAnswerIsLostIsMadeOnce() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let id = try saveRenamed(one, "a secret", to: "Swift")
        journal.failNext(.lostAnswer)
        try redact(id, at: one)
        #expect(!journal.contains("a secret"))
        #expect(journal.entries.count == 3)
        try await other.refresh()
        try expectClean([one, other])
    }

    @Test func aRedactionThatTheJournalRefusesChangesNothing() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let id = try saveRenamed(one, "a secret", to: "Swift")
        journal.failNext(.unavailable)
        let error = #expect(throws: StoreError.self) { try redact(id, at: one) }
        #expect(error?.code == .journalUnavailable)
        #expect(try one.revision() == 2)
        #expect(journal.contains("a secret"))
        #expect(try one.view(asOf: 1).fetch(Notebook.self).values(of: \.name) == ["a secret"])
        try redact(id, at: one)
        #expect(!journal.contains("a secret"))
        try await other.refresh()
        try expectClean([one, other])
    }

    @Test func draftsOfAllNodesLoseRedactedValues() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let id = try saveRenamed(one, "Swift", to: "Linux")
        try await other.refresh()
        let context = other.context()
        try context.object(Notebook.self, id: id)?.name = "a drafted secret"
        try other.drafts.save(context, as: "draft")
        let directory = "\(nodes.path("other"))-drafts"
        func drafts() throws -> [Data] {
            try FileManager.default.contentsOfDirectory(atPath: directory).map {
                try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\($0)"))
            }
        }
        #expect(try drafts().contains { $0.range(of: Data("drafted secret".utf8)) != nil })
        try redact(id, at: one)
        try await other.refresh()
        #expect(try !drafts().contains { $0.range(of: Data("drafted secret".utf8)) != nil })
    }

    // MARK: Copies

    @Test func aNewNodeBeginsWithTheNewestCopy() async throws {
        let one = try nodes.open("one")
        for number in 1...3 { try one.saveNotebook("\(number)") }
        try await one.renewBase()
        #expect(journal.baseRevision == 3)
        #expect(journal.entries.count == 3)
        let new = try nodes.open("new")
        #expect(try new.revision() == 3)
        try expectClean([new])
        let alone = try Store.open(at: nodes.path("local"), for: Notebook.self)
        let error = await #expect(throws: StoreError.self) { try await alone.renewBase() }
        #expect(error?.code == .sharedJournal)
    }

    // MARK: All of it

    /// Saves, trims and redactions of three nodes in random order, with nodes that lag, are closed,
    /// and lose their files.
    @Test(arguments: 1...UInt64(repetitions(24)))
    func nodesAgree(seed: UInt64) async throws {
        var run = RandomRetention(nodes, seed: seed)
        for _ in 0..<60 { try await run.step() }
        try await run.end()
    }
}

extension Store {
    fileprivate func rename(_ id: ObjectID, to name: String) throws {
        let context = context(author: "lala")
        try #require(try context.object(Notebook.self, id: id)).name = name
        try context.save()
    }

    fileprivate func delete(_ id: ObjectID) throws {
        let context = context(author: "lala")
        context.delete(try #require(try context.object(Notebook.self, id: id)))
        try context.save()
    }
}

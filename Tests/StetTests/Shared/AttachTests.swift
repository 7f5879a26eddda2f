import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

/// A store's journal can be moved into a shared one, and back.
struct AttachTests {
    private let nodes = Nodes()

    private func local(_ names: String...) throws {
        let store = try nodes.openAlone("one")
        for name in names { try store.saveNotebook(name) }
        store.close()
    }

    @Test func aStoreContinuesInASharedJournalAndBack() async throws {
        try local("Swift", "Linux")
        try nodes.journal.attach(nodes.path("one"))
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        #expect(try other.notebookNames == ["Linux", "Swift"])
        try other.saveNotebook("LMDB")
        #expect(nodes.journal.entries.map(\.revision) == [3])
        try await one.refresh(atLeast: 3)
        // The history before the shared journal is there, too.
        try await other.undo(author: "lala")
        try await other.undo(author: "lala")
        #expect(try other.notebookNames == ["Swift"])
        one.close()

        try nodes.journal.detach(nodes.path("one"))
        let detached = try nodes.openAlone("one")
        #expect(try detached.revision() == 5)
        try detached.saveNotebook("SQLite")
        #expect(try detached.notebookNames == ["SQLite", "Swift"])
        #expect(try detached.verify().problems == [])
        let error = #expect(throws: StoreError.self) { try other.saveNotebook("more") }
        #expect(error?.code == .journalDiverged)
        #expect(try other.notebookNames == ["Swift"])
    }

    @Test func attachingLeavesNoFiles() throws {
        try local("Swift")
        try Data("left by a killed process".utf8)
            .write(to: URL(fileURLWithPath: nodes.path("one") + ".attaching"))
        try nodes.journal.attach(nodes.path("one"))
        #expect(try nodes.files == ["one.stet", "one.stet-lock"])
    }

    @Test func aStoreThatBeginsWithTheFileOfANodeIsNoNode() throws {
        try nodes.open("one").saveNotebook("Swift")
        let seeded = try Store.open(
            at: nodes.path("seeded"), for: Notebook.self, Article.self, Tally.self,
            seededFrom: nodes.path("one"))
        try seeded.saveNotebook("Linux")
        #expect(try seeded.notebookNames == ["Linux", "Swift"])
        #expect(nodes.journal.entries.count == 1)
    }

    @Test func aBackupContinuesByItselfWhenTheJournalIsLost() throws {
        let one = try nodes.open("one")
        try one.saveNotebook("Swift")
        try one.compact(to: nodes.path("backup"))
        let lost = MemoryJournal()
        try lost.detach(nodes.path("backup"))
        let alone = try nodes.openAlone("backup")
        try alone.saveNotebook("Linux")
        #expect(try alone.notebookNames == ["Linux", "Swift"])
    }

    @Test func aNodeThatIsCompactedStaysOne() throws {
        let one = try nodes.open("one")
        try one.saveNotebook("Swift")
        try one.compactInPlace()
        try one.saveNotebook("Linux")
        #expect(nodes.journal.entries.count == 2)
        one.close()
        #expect(throws: StoreError.self) { try nodes.openAlone("one").saveNotebook("more") }
        #expect(try nodes.open("one").notebookNames == ["Linux", "Swift"])
    }

    @Test func attachingAgainCompletesWhatFailed() throws {
        try local("Swift")
        nodes.journal.isDown = true
        let error = #expect(throws: StoreError.self) {
            try nodes.journal.attach(nodes.path("one"))
        }
        #expect(error?.code == .journalUnavailable)
        nodes.journal.isDown = false
        try nodes.journal.attach(nodes.path("one"))
        // As after a lost answer: it is there already.
        try nodes.journal.attach(nodes.path("one"))
        #expect(try nodes.open("one").notebookNames == ["Swift"])
    }

    @Test func aJournalOfAnotherStoreIsNotReplaced() throws {
        try nodes.open("other").close()
        try local("Swift")
        let error = #expect(throws: StoreError.self) {
            try nodes.journal.attach(nodes.path("one"))
        }
        #expect(error?.code == .alreadyExists)
        // The store goes on by itself.
        try local("Linux")
        #expect(try nodes.openAlone("one").notebookNames == ["Linux", "Swift"])
    }

    @Test func detachingAgainCompletesWhatFailed() throws {
        try nodes.open("one").close()
        let head = try #require(try nodes.journal.head())
        #expect(try nodes.journal.remove(at: head))
        try nodes.journal.detach(nodes.path("one"))
        try local("Swift")
        #expect(try nodes.openAlone("one").notebookNames == ["Swift"])
    }

    @Test func aNodeThatWasAwayIsDetachedWithEverything() throws {
        try nodes.open("away").close()
        try nodes.open("one").saveNotebook("Swift")
        try nodes.journal.detach(nodes.path("away"))
        #expect(try nodes.openAlone("away").notebookNames == ["Swift"])
    }
}

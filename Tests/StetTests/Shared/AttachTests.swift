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

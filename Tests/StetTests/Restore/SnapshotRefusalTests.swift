import Foundation
import Stet
import StetTestSupport
import Testing

/// Snapshots that were taken before a save that others made the writer refuse.
@Suite struct SnapshotRefusalTests {
    @Model final class Label {
        @Attribute(.unique) var code: String
        var text: String = ""
        var number: Int = 0
        init(code: String) { self.code = code }
    }

    /// Saves a label with the code of one that another context has just saved, in a context that
    /// has a snapshot; returns the text and the number of another label, which both contexts have
    /// changed.
    private func outcome(
        _ save: (ManagedContext) throws -> Void
    ) throws -> (text: String, number: Int) {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Label.self)
        let mine = store.context()
        let label = Label(code: "a")
        mine.insert(label)
        try mine.save()
        mine.mergePolicy = .mergeContextWins
        let theirs = store.context()
        let other = try #require(try theirs.object(Label.self, id: label.id))
        label.number = 1
        let snapshot = mine.snapshot()
        label.number = 0
        other.text = "theirs"
        theirs.insert(Label(code: "b"))
        try theirs.save()
        #expect(throws: ValidationError.self) { try save(mine) }
        #expect(!snapshot.isVoid)
        mine.restore(snapshot)
        #expect(label.number == 1)
        try mine.save()
        let found = try #require(try store.context().object(Label.self, id: label.id))
        return (found.text, found.number)
    }

    @Test func anEditThatIsRefusedLeavesThemAsTheyWere() throws {
        let outcome = try outcome { context in
            try context.edit { context.insert(Label(code: "b")) }
        }
        #expect(outcome == ("theirs", 1))
    }

    @Test func aSaveThatKeepsWhatIsPendingLeavesThemAsTheyWere() throws {
        let outcome = try outcome { context in
            let label = Label(code: "b")
            context.insert(label)
            defer { context.delete(label) }
            try context.save(onFailure: .keepPending)
        }
        #expect(outcome == ("theirs", 1))
    }
}

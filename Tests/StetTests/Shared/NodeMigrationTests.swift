import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

private enum First {
    @Model final class Note {
        var title: String = ""
        init(title: String) { self.title = title }
    }
}

private enum Second {
    @Model final class Note {
        @Attribute(.indexed) var title: String = ""
        var stars: Int = 1
        init(title: String) { self.title = title }
    }
}

private enum Derived {
    @Model final class Note {
        var title: String = ""
        @Derived var shout: String { title + "!" }
        init(title: String) { self.title = title }
    }
}

/// A migration is a commit that all nodes apply.
struct NodeMigrationTests {
    private let journal = MemoryJournal()
    private let directory = TemporaryDirectory()

    private func open(_ name: String, _ model: any Model.Type) throws -> Store {
        try Store.open(at: directory.file(name), for: model, journal: journal)
    }

    private func saved(at store: Store, _ object: some Model) throws {
        let context = store.context()
        context.insert(object)
        try context.save()
    }

    @Test func aNodeWithEarlierModelsStopsAndCanBeOpenedWithLaterOnes() async throws {
        let old = try open("old", First.Note.self)
        try saved(at: old, First.Note(title: "one"))
        let new = try open("new", Second.Note.self)
        try saved(at: new, Second.Note(title: "two"))
        #expect(try new.revision() == 3)

        let error = await #expect(throws: StoreError.self) { try await old.refresh(atLeast: 3) }
        #expect(error?.code == .modelMismatch)
        let saving = #expect(throws: StoreError.self) {
            try saved(at: old, First.Note(title: "three"))
        }
        #expect(saving?.code == .modelMismatch)
        #expect(try old.fetch(First.Note.self).values(of: \.title) == ["one"])
        old.close()
        #expect(
            #expect(throws: StoreError.self) { try open("old", First.Note.self) }?.code
                == .modelMismatch)

        let again = try open("old", Second.Note.self)
        #expect(try again.revision() == 3)
        #expect(
            try again.fetch(Second.Note.self).sorted(by: \.title).values(of: \.stars) == [1, 1])
        #expect(try again.verify().problems == [])
        // A node that is made anew goes through the migration as well.
        let late = try open("late", Second.Note.self)
        #expect(try late.fetch(Second.Note.self).filter { $0.title == "two" }.count() == 1)
        #expect(try late.verify().problems == [])
    }

    @Test func ofTwoNodesThatMigrateOneDoes() throws {
        let one = try open("one", First.Note.self)
        try saved(at: one, First.Note(title: "one"))
        one.close()
        try open("two", First.Note.self).close()
        // Another node migrates the store between the look at the journal and the append.
        let (journal, other) = (journal, directory.file("three"))
        journal.beforeNext(.append) {
            _ = try? Store.open(at: other, for: Second.Note.self, journal: journal)
        }
        let two = try open("two", Second.Note.self)
        #expect(try two.revision() == 2)
        #expect(journal.entries.count == 2)
        #expect(try two.verify().problems == [])
    }

    @Test func whatTheMigratingNodeDidNotComputeAnotherDoes() throws {
        let one = try open("one", First.Note.self)
        try saved(at: one, First.Note(title: "one"))
        one.close()
        let journal = journal
        journal.beforeNext(.append) { journal.goDown(after: .append) }
        let error = #expect(throws: StoreError.self) { try open("one", Derived.Note.self) }
        #expect(error?.code == .journalUnavailable)
        journal.isDown = false
        #expect(journal.entries.count == 2)
        let other = try open("other", Derived.Note.self)
        #expect(try other.fetch(Derived.Note.self).values(of: \.shout) == ["one!"])
        #expect(try other.verify().problems == [])
        let again = try open("one", Derived.Note.self)
        #expect(try again.fetch(Derived.Note.self).values(of: \.shout) == ["one!"])
    }

    @Test func aJournalThatIsDownPreventsAMigration() throws {
        let one = try open("one", First.Note.self)
        try saved(at: one, First.Note(title: "one"))
        one.close()
        journal.isDown = true
        let error = #expect(throws: StoreError.self) { try open("one", Second.Note.self) }
        #expect(error?.code == .journalUnavailable)
        let again = try open("one", First.Note.self)
        #expect(try again.fetch(First.Note.self).values(of: \.title) == ["one"])
    }

    @Test func aMigrationWithStepsIsSharedAsAWhole() throws {
        let one = try open("one", First.Note.self)
        try saved(at: one, First.Note(title: "one"))
        one.close()
        let plan = MigrationPlan(
            .version(First.Note.self),
            .version(Second.Note.self) { step in
                try step.forEach(First.Note.self, Second.Note.self) { _, new in new.stars = 5 }
            })
        var configuration = Store.Configuration()
        configuration.sharedJournal = journal
        let migrated = try Store.open(
            at: directory.file("one"), migrating: plan, configuration: configuration)
        #expect(try migrated.fetch(Second.Note.self).values(of: \.stars) == [5])
        let other = try open("other", Second.Note.self)
        #expect(try other.revision() == migrated.revision())
        #expect(try other.fetch(Second.Note.self).values(of: \.stars) == [5])
        #expect(try other.verify().problems == [])
    }
}

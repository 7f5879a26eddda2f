import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

private enum Former {
    @Model final class Note {
        var headline: String
        var colour: String
        var stars: Int16

        init(headline: String, colour: String, stars: Int16) {
            self.headline = headline
            self.colour = colour
            self.stars = stars
        }
    }

    @Model final class Stamp {
        var text: String

        init(text: String) { self.text = text }
    }
}

private enum Latter {
    @Model final class Note {
        @Attribute(originalName: "headline") var title: String
        var stars: Int
        var isDraft: Bool = true

        init(title: String) {
            self.title = title
            stars = 0
        }
    }
}

private enum First {
    @Model final class Letter {
        var headline: String
        var stamp: Stamp?

        init(headline: String, stamp: Stamp?) {
            self.headline = headline
            self.stamp = stamp
        }
    }

    @Model final class Stamp {
        var text: String

        init(text: String) { self.text = text }
    }
}

private enum Second {
    @Model final class Letter {
        @Attribute(originalName: "headline") var title: String = ""
        var stamp: Stamp?

        init() {}
    }

    @Model final class Stamp {
        var text: String = ""

        init() {}
    }
}

@Model(.protected) private final class Deed {
    var text: String

    init(text: String) { self.text = text }
}

/// Case 23 of the contract: commits of earlier models; and models that are protected.
struct UndoSchemaTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    /// Makes an author's commits with the former models: an insertion, a change, a deletion.
    private func former(_ body: (ManagedContext, Former.Note) throws -> Void) throws -> ObjectID {
        let store = try Store.open(at: path, for: Former.Note.self, Former.Stamp.self)
        defer { store.close() }
        let note = Former.Note(headline: "one", colour: "red", stars: 3)
        let base = store.context()
        base.insert(note)
        try base.save()
        let context = store.context(author: "a")
        try body(context, try #require(try context.object(Former.Note.self, id: note.id)))
        try context.save("edit")
        return note.id
    }

    private func latter() throws -> Store {
        var configuration = Store.Configuration()
        configuration.removedModels = ["Stamp"]
        return try Store.open(at: path, for: Latter.Note.self, configuration: configuration)
    }

    private func value(_ id: ObjectID, _ store: Store) throws -> Latter.Note.Snapshot? {
        let context = store.context()
        return try context.object(Latter.Note.self, id: id)?.snapshot
    }

    @Test("U23 A change of earlier models is taken back in the present ones")
    func aChangeOfEarlierModels() throws {
        let id = try former { _, note in
            note.headline = "two"
            note.colour = "blue"
            note.stars = 5
        }
        let store = try latter()
        let plan = try #require(try store.previewUndo(author: "a"))
        #expect(plan.isPossible)
        #expect(plan.changes.changes[0].properties.map(\.name) == ["title", "stars"])
        try #require(plan.skipped.kinds == ["schema"])
        #expect(plan.skipped[0].property == "colour")
        #expect(plan.skipped[0].before == .string("red"))
        let commit = try #require(try store.undo(author: "a"))
        #expect(commit.metadata["stet.skipped"] == "1; schema Note \(id).colour")
        #expect(try value(id, store)?.title == "one")
        #expect(try value(id, store)?.stars == 3)
        try store.redo(author: "a")
        #expect(try value(id, store)?.title == "two")
        #expect(try value(id, store)?.stars == 5)
        #expect(try store.verify().problems == [])
        store.close()
        let again = try latter()
        try again.undo(author: "a")
        #expect(try value(id, again)?.title == "one")
        #expect(try again.verify().problems == [])
    }

    @Test("U23 A deletion of earlier models comes back as an object of the present ones")
    func aDeletionOfEarlierModels() throws {
        let id = try former { context, note in context.delete(note) }
        let store = try latter()
        try store.undo(author: "a")
        let value = try #require(try value(id, store))
        #expect(value.title == "one")
        #expect(value.stars == 3)
        #expect(value.isDraft)
        try store.redo(author: "a")
        #expect(try self.value(id, store) == nil)
        #expect(try store.verify().problems == [])
    }

    @Test("U23 An object of a model that is gone is a conflict, or skipped")
    func anObjectOfARemovedModel() throws {
        let id = try former { context, note in
            note.headline = "two"
            context.insert(Former.Stamp(text: "gone"))
        }
        let store = try latter()
        for policy in [UndoPolicy.fail, .overwrite] {
            let error = #expect(throws: UndoConflictError.self) {
                try store.undo(author: "a", policy: policy)
            }
            #expect(error?.conflicts.kinds == ["schema"])
            #expect(error?.conflicts.first?.entity == "Stamp")
        }
        try store.undo(author: "a", policy: .skip)
        #expect(try value(id, store)?.title == "one")
        #expect(try store.verify().problems == [])
    }

    @Test(
        "U23 Across a migration with code a reference comes back, and a changed value conflicts",
        arguments: [true, false])
    func acrossAMigrationWithCode(overwrites: Bool) throws {
        let store = try Store.open(at: path, for: First.Letter.self, First.Stamp.self)
        let stamps = ["one", "two"].map { First.Stamp(text: $0) }
        let letter = First.Letter(headline: "one", stamp: stamps[0])
        let base = store.context()
        base.insert(letter)
        base.insert(stamps[1])
        try base.save()
        let context = store.context(author: "a")
        let edited = try #require(try context.object(First.Letter.self, id: letter.id))
        edited.headline = "two"
        edited.stamp = try context.object(First.Stamp.self, id: stamps[1].id)
        try context.save("edit")
        store.close()
        let plan = MigrationPlan(
            .version(First.Letter.self, First.Stamp.self),
            .version(Second.Letter.self, Second.Stamp.self) { step in
                try step.forEach(First.Letter.self, Second.Letter.self) { old, new in
                    new.title = old.headline.uppercased()
                }
            })
        let migrated = try Store.open(at: path, migrating: plan)
        let error = #expect(throws: UndoConflictError.self) { try migrated.undo(author: "a") }
        #expect(error?.conflicts.kinds == ["changed"])
        #expect(error?.conflicts.first?.property == "title")
        #expect(error?.conflicts.first?.current == .string("TWO"))
        try migrated.undo(author: "a", policy: overwrites ? .overwrite : .skip)
        let now = try #require(try migrated.object(Second.Letter.self, id: letter.id))
        #expect(now.title == (overwrites ? "one" : "TWO"))
        #expect(now.stamp == stamps[0].id)
        #expect(try migrated.verify().problems == [])
    }

    @Test("U14 An undo deletes no protected object")
    func aProtectedObjectStays() throws {
        let store = try Store.open(at: path, for: Deed.self)
        let context = store.context(author: "a")
        context.insert(Deed(text: "one"))
        try context.save()
        let error = #expect(throws: ValidationError.self) { try store.undo(author: "a") }
        #expect(error?.violations.count == 1)
        #expect(try store.context().fetch(Deed.self).count() == 1)
        #expect(try store.undoStack(author: "a").undo.count == 1)
    }
}

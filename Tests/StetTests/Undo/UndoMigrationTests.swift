import Foundation
import StetTestSupport
import Testing

@testable import Stet

private enum Before {
    @Model final class Item {
        var name: String
        var full: String = ""
        var secret: String = ""
        var file: Data = Data()
        var words: String = ""
        init(_ name: String) { self.name = name }
    }
}

private enum After {
    @Embedded struct Word: EmbeddedValue, Hashable {
        var text: String
    }
    @Model final class Item {
        var name: String
        @Derived var full: String { name + "!" }
        var secret: Sealed<String>?
        var file: LargeData?
        var words: [Word] = []
        init(_ name: String) { self.name = name }
    }
}

private enum Strict {
    @Model final class Item {
        var name: String
        @Derived var full: String { name + "!" }
        var secret: Sealed<String>
        init(_ name: String) {
            self.name = name
            secret = Sealed(name)
        }
    }
}

private enum Rich {
    @Embedded struct Word: EmbeddedValue, Hashable {
        var text: String
    }
    @Model final class Item {
        var name: String
        @Derived var full: String { name + "!" }
        var secret: Sealed<Data>?
        var file: LargeData?
        var words: [Word] = []
        init(_ name: String) { self.name = name }
    }
}

private enum Simple {
    @Model final class Item {
        var name: String
        var full: String
        var secret: Data?
        var file: Data?
        var words: [String] = []
        init(_ name: String) {
            self.name = name
            full = name
        }
    }
}

/// Undo and redo of commits that were made before an attribute became one of another kind.
@Suite struct UndoMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    private static let plan = MigrationPlan(
        .version(Before.Item.self),
        .version(After.Item.self) { step in
            try step.forEach(Before.Item.self, After.Item.self) { old, new in
                guard let store = new.context?.store else { return }
                new.secret = Sealed(old.secret)
                new.file = try LargeData(old.file, in: store)
                new.words = old.words.split(separator: " ").map { After.Word(text: String($0)) }
            }
        })

    private static let strictPlan = MigrationPlan(
        .version(Before.Item.self),
        .version(Strict.Item.self) { step in
            try step.forEach(Before.Item.self, Strict.Item.self) { old, new in
                new.secret = Sealed(old.secret)
            }
        })

    /// The values of an item after the migration.
    private struct Values: Hashable {
        var name: String
        var full: String
        var secret: String?
        var file: Data?
        var words: [String]
    }

    private func values(_ id: ObjectID, _ store: Store) throws -> Values? {
        try store.object(After.Item.self, id: id).map { item in
            Values(
                name: item.name, full: item.full, secret: try item.secret?.value,
                file: try item.file?.data(in: store), words: item.words.map(\.text))
        }
    }

    private func configuration() async throws -> Store.Configuration {
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        var configuration = Store.Configuration()
        configuration.keys = try await KeyFile.open(
            at: directory.file("keys"), provider: .file(key))
        return configuration
    }

    /// Makes a store with an item whose values are "one", and lets an author edit it.
    private func makeItem(_ edits: ((Before.Item) -> Void)...) throws -> ObjectID {
        let store = try Store.open(at: path, for: Before.Item.self)
        defer { store.close() }
        let item = Before.Item("one")
        item.full = "full one"
        item.secret = "secret one"
        item.file = Data("file one".utf8)
        item.words = "words one"
        let base = store.context()
        base.insert(item)
        try base.save()
        let context = store.context(author: "me")
        let edited = try #require(try context.object(Before.Item.self, id: item.id))
        for edit in edits {
            edit(edited)
            try context.save()
        }
        return item.id
    }

    private func migrated() async throws -> Store {
        try Store.open(
            at: path, migrating: Self.plan, configuration: try await configuration())
    }

    private static let edits: [(property: String?, edit: @Sendable (Before.Item) -> Void)] = [
        (nil, { $0.full = "full two" }), (nil, { $0.full = "one!" }),
        ("secret", { $0.secret = "secret two" }),
        ("file", { $0.file = Data("file two".utf8) }),
        ("words", { $0.words = "words two" }),
    ]

    @Test(arguments: edits.indices, ["fail", "skip", "overwrite"])
    func aChangeOfSuchAnAttributeStays(number: Int, name: String) async throws {
        let policy: UndoPolicy = name == "fail" ? .fail : name == "skip" ? .skip : .overwrite
        let (property, edit) = Self.edits[number]
        let id = try makeItem({ $0.name = "two" }, edit)
        let store = try await migrated()
        var expected = try #require(try values(id, store))
        let plan = try #require(try store.previewUndo(author: "me", policy: policy))
        #expect(plan.changes.changes.isEmpty)
        #expect(plan.skipped.map(\.property) == (property.map { [$0] } ?? []))
        #expect(plan.skipped.allSatisfy { $0.kind == .schema })
        // Nothing is left of the step, and the one before is next.
        #expect(try await store.undo(author: "me", policy: policy) == nil)
        #expect(try values(id, store) == expected)
        try await store.undo(author: "me", policy: policy)
        expected.name = "one"
        expected.full = "one!"
        #expect(try values(id, store) == expected)
        try await store.redo(author: "me", policy: policy)
        expected.name = "two"
        expected.full = "two!"
        #expect(try values(id, store) == expected)
        #expect(try store.verify().problems == [])
    }

    @Test func theRestOfTheCommitIsTakenBack() async throws {
        let id = try makeItem { item in
            for (_, edit) in Self.edits { edit(item) }
            item.name = "two"
        }
        let store = try await migrated()
        let before = Values(
            name: "two", full: "two!", secret: "secret two", file: Data("file two".utf8),
            words: ["words", "two"])
        #expect(try values(id, store) == before)
        let commit = try #require(try await store.undo(author: "me"))
        #expect(
            commit.metadata["stet.skipped"]
                == "3; "
                + ["secret", "file", "words"].map { "schema Item \(id).\($0)" }
                .joined(separator: "; "))
        var expected = before
        expected.name = "one"
        expected.full = "one!"
        #expect(try values(id, store) == expected)
        try await store.redo(author: "me")
        #expect(try values(id, store) == before)
        #expect(try store.verify().problems == [])
    }

    @Test func aDeletedObjectComesBackWithoutTheirValues() async throws {
        let id = try makeItem { $0.context?.delete($0) }
        let store = try await migrated()
        #expect(try values(id, store) == nil)
        let plan = try #require(try store.previewUndo(author: "me"))
        #expect(plan.skipped.map(\.property) == ["secret", "file", "words"])
        try await store.undo(author: "me")
        let expected = Values(name: "one", full: "one!", secret: nil, file: nil, words: [])
        #expect(try values(id, store) == expected)
        try await store.redo(author: "me")
        #expect(try values(id, store) == nil)
        #expect(try store.verify().problems == [])
    }

    @Test func anInsertedObjectIsInConflict() async throws {
        let first = try Store.open(at: path, for: Before.Item.self)
        let context = first.context(author: "me")
        let item = Before.Item("one")
        item.words = "words one"
        context.insert(item)
        try await context.save()
        first.close()
        let store = try await migrated()
        let error = await #expect(throws: UndoConflictError.self) {
            try await store.undo(author: "me")
        }
        #expect(error?.conflicts.kinds == ["modified"])
        #expect(try values(item.id, store)?.words == ["words", "one"])
        try await store.undo(author: "me", policy: .overwrite)
        #expect(try values(item.id, store) == nil)
        try await store.redo(author: "me")
        #expect(try values(item.id, store)?.words == ["words", "one"])
        #expect(try store.verify().problems == [])
    }

    /// The key of its owner can seal nothing without the program.
    @Test func anObjectThatNeedsASealedValueDoesNotComeBack() async throws {
        let id = try makeItem({ $0.name = "two" }, { $0.context?.delete($0) })
        let store = try Store.open(
            at: path, migrating: Self.strictPlan, configuration: try await configuration())
        let revision = try store.revision()
        #expect(try store.previewUndo(author: "me")?.isPossible == false)
        for policy in [UndoPolicy.fail, .skip, .overwrite] {
            let error = await #expect(throws: ValidationError.self) {
                try await store.undo(author: "me", policy: policy)
            }
            #expect(error?.violations.map(\.code) == [.unsealable])
            #expect(error?.violations.first?.property == "secret")
        }
        #expect(try store.revision() == revision)
        #expect(try store.object(Strict.Item.self, id: id) == nil)
        #expect(try store.verify().problems == [])
    }

    // MARK: The other way round

    private static let simplePlan = MigrationPlan(
        .version(Rich.Item.self),
        .version(Simple.Item.self) { step in
            try step.forEach(Rich.Item.self, Simple.Item.self) { old, new in
                guard let store = old.context?.store else { return }
                new.secret = try old.secret?.value
                new.file = try old.file?.data(in: store)
                new.words = old.words.map(\.text)
            }
        })

    /// Gives an item values.
    private static func fill(_ item: Rich.Item, _ name: String, _ store: Store) throws {
        item.name = name
        item.secret = Sealed(Data("secret \(name)".utf8))
        item.file = try LargeData(Data("file \(name)".utf8), in: store)
        item.words = [Rich.Word(text: name)]
    }

    /// Sealed bytes and digests are data, but not those of the attribute.
    @Test(arguments: ["fail", "skip", "overwrite"])
    func aChangeOfAValueThatIsSimplerByNowStays(name: String) async throws {
        let policy: UndoPolicy = name == "fail" ? .fail : name == "skip" ? .skip : .overwrite
        let configuration = try await configuration()
        let first = try Store.open(at: path, for: Rich.Item.self, configuration: configuration)
        let context = first.context(author: "me")
        let (item, other) = (Rich.Item("one"), Rich.Item("other"))
        for item in [item, other] {
            try Self.fill(item, "one", first)
            context.insert(item)
        }
        try await context.save()
        try Self.fill(item, "two", first)
        context.delete(other)
        try await context.save()
        first.close()
        let store = try Store.open(
            at: path, migrating: Self.simplePlan, configuration: configuration)
        func check(_ name: String, _ isThere: Bool) throws {
            let found = try #require(try store.object(Simple.Item.self, id: item.id))
            #expect(found.name == name)
            #expect(found.full == name + "!")
            #expect(found.secret == Data("secret two".utf8))
            #expect(found.file == Data("file two".utf8))
            #expect(found.words == ["two"])
            let restored = try store.object(Simple.Item.self, id: other.id)
            #expect((restored != nil) == isThere)
            #expect(restored?.full ?? "one!" == "one!")
            #expect(restored?.secret == nil)
            #expect(restored?.file == nil)
            #expect(restored?.words ?? [] == [])
            #expect(try store.verify().problems == [])
        }
        try check("two", false)
        try await store.undo(author: "me", policy: policy)
        try check("one", true)
        try await store.redo(author: "me", policy: policy)
        try check("two", false)
    }
}

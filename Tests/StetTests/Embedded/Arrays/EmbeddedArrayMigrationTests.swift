import Stet
import StetTestSupport
import Testing

private enum Version1 {
    @Embedded struct Line: EmbeddedValue {
        var article: String
        var count: Int16 = 1
        var color: String?
    }
    @Model final class Basket {
        var lines: [Line] = []
        var words: [String] = []
        init() {}
    }
}

private enum Version2 {
    @Embedded struct Item: EmbeddedValue, Identifiable {
        var id: Int = 7
        @Attribute(originalName: "count") var amount: Int32 = 0
        @Attribute(originalName: "article") var name: String
    }
    @Model final class Basket {
        @Attribute(originalName: "lines") var items: [Item] = []
        init() {}
    }
}

private enum Version3 {
    @Embedded struct Item: EmbeddedValue {
        var title: String = "?"
        @Attribute(originalName: "name") var text: String = ""
        var amount: Double = 0
    }
    @Model final class Basket {
        var items: [Item] = []
        init() {}
    }
}

private enum Narrowed {
    @Embedded struct Item: EmbeddedValue {
        var name: Int = 0
        var size: Int
    }
    @Model final class Basket {
        var items: [Item] = []
        init() {}
    }
}

private enum Split {
    @Model final class Basket {
        var items: [String] = []
        init() {}
    }
}

/// Members of an array's elements that are added, removed, renamed and widened.
@Suite struct EmbeddedArrayMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    private func makeFirst() throws {
        let store = try Store.open(at: path, for: Version1.Basket.self)
        let context = store.context(author: "ann")
        let basket = Version1.Basket()
        basket.lines = [
            Version1.Line(article: "nut", count: 3, color: "red"), Version1.Line(article: "saw"),
        ]
        context.insert(basket)
        try context.save("first")
        basket.lines[1].color = "blue"
        try context.save("second")
        basket.lines.removeFirst()
        try context.save("third")
        store.close()
    }

    @Test func membersMigrateLikeAttributes() throws {
        try makeFirst()
        let store = try Store.open(at: path, for: Version2.Basket.self)
        let context = store.context()
        let basket = try #require(try context.fetch(Version2.Basket.self).first())
        #expect(basket.items == [Version2.Item(id: 7, amount: 1, name: "saw")])
        #expect(try store.verify().problems == [])
        let past = try #require(
            try store.view(asOf: 1).object(Version2.Basket.self, id: basket.id))
        #expect(past.items.map(\.name) == ["nut", "saw"])
        #expect(past.items.map(\.amount) == [3, 1])
        // Undo restores an element that was written by the earlier models.
        try store.undo(author: "ann")
        try context.refresh()
        #expect(basket.items.map(\.name) == ["nut", "saw"])
        basket.items[0].amount = 5
        try context.save()
        let changes = try store.history(of: basket)
        #expect(changes.count == 5)
        store.close()
        try openThird()
    }

    private func openThird() throws {
        let store = try Store.open(at: path, for: Version3.Basket.self)
        let basket = try #require(try store.context().fetch(Version3.Basket.self).first())
        #expect(basket.items.map(\.text) == ["nut", "saw"])
        #expect(basket.items.map(\.title) == ["?", "?"])
        #expect(basket.items.map(\.amount) == [5, 1])
        let first = try #require(
            try store.view(asOf: 1).object(Version3.Basket.self, id: basket.id))
        #expect(first.items.map(\.text) == ["nut", "saw"])
        #expect(first.items.map(\.amount) == [3, 1])
        #expect(try store.verify().problems == [])
    }

    @Test func severalMigrationsAreOne() throws {
        try makeFirst()
        try Store.open(at: path, for: Version2.Basket.self).close()
        try openSecondAfterFirst()
    }

    private func openSecondAfterFirst() throws {
        let store = try Store.open(at: path, for: Version3.Basket.self)
        let basket = try #require(try store.context().fetch(Version3.Basket.self).first())
        #expect(basket.items == [Version3.Item(title: "?", text: "saw", amount: 1)])
        #expect(try store.verify().problems == [])
    }

    @Test func aMigrationSaysWhatItDoes() throws {
        try makeFirst()
        #expect(
            try Store.plan(at: path, for: Version2.Basket.self).steps.sorted()
                == [
                    "adds Basket.items.id, int, as 7",
                    "gives the properties of Basket.items another order",
                    "merges Basket.items by id",
                    "removes Basket.words with its values",
                    "removes Basket.items.color with its values",
                    "renames Basket.items.article to name", "renames Basket.items.count to amount",
                    "renames Basket.lines to items",
                    "widens Basket.items.amount from int16 to int32",
                ].sorted())
    }

    @Test func whatNeedsCodeIsRefused() throws {
        try makeFirst()
        try Store.open(at: path, for: Version2.Basket.self).close()
        let error = try #require(throws: StoreError.self) {
            try Store.open(at: path, for: Narrowed.Basket.self)
        }
        #expect(error.code == .modelMismatch)
        #expect(error.message.contains("Basket.items.name is string in the store and int"))
        #expect(error.message.contains("the model has Basket.items.size"))
        let other = try #require(throws: StoreError.self) {
            try Store.open(at: path, for: Split.Basket.self)
        }
        #expect(other.code == .modelMismatch)
        let store = try Store.open(at: path, for: Version2.Basket.self)
        #expect(try store.context().fetch(Version2.Basket.self).first()?.items.count == 1)
    }

    @Test func codeMakesElementsOfWords() throws {
        let first = try Store.open(at: path, for: Split.Basket.self)
        let context = first.context()
        let basket = Split.Basket()
        basket.items = ["a", "b"]
        context.insert(basket)
        try context.save()
        first.close()
        let plan = MigrationPlan(
            .version(Split.Basket.self),
            .version(Version3.Basket.self) { step in
                try step.forEach(Split.Basket.self, Version3.Basket.self) { old, new in
                    new.items = old.items.map { Version3.Item(text: $0) }
                }
            })
        let store = try Store.open(at: path, migrating: plan)
        let items = try store.context().fetch(Version3.Basket.self).first()?.items
        #expect(items?.map(\.text) == ["a", "b"])
        #expect(try store.verify().problems == [])
    }
}

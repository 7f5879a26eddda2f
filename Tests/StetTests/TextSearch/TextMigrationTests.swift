import StetStore
import StetTestSupport
import Testing

@testable import Stet

private enum First {
    @Model final class Sheet {
        var title: String = ""
        var text: String = ""
        init(_ title: String) { self.title = title }
    }
}

private enum Second {
    @Model final class Sheet {
        @Attribute(.searchable) var title: String = ""
        var text: String = ""
        init(_ title: String) { self.title = title }
    }
}

private enum Third {
    @Model final class Sheet {
        @Attribute(.searchable(weight: 2)) var title: String = ""
        @Attribute(.searchable) var text: String = ""
        init(_ title: String) { self.title = title }
    }
}

private enum Fourth {
    @Model final class Sheet {
        @Attribute(.searchable(weight: 9)) var title: String = ""
        @Attribute(.searchable) var text: String = ""
        init(_ title: String) { self.title = title }
    }
}

/// An attribute becomes searchable, and is so no more.
@Suite struct TextMigrationTests {
    private let directory = TemporaryDirectory()

    /// A store whose objects are so many that the index is built in steps.
    private func fill(_ count: Int) throws {
        let store = try Store.open(at: directory.file(), for: First.Sheet.self)
        defer { store.close() }
        let context = store.context()
        for number in 0..<count {
            let sheet = First.Sheet("sheet \(number % 100)")
            sheet.text = number == 5 ? "unique words" : ""
            context.insert(sheet)
        }
        try context.save()
    }

    @Test(arguments: [200, 10_300]) func theIndexIsBuiltWhenTheStoreIsOpened(count: Int) throws {
        try fill(count)
        let second = try Store.open(at: directory.file(), for: Second.Sheet.self)
        #expect(try second.verify().problems == [])
        #expect(try second.fetch(Second.Sheet.self).matching("sheet 7").count() == count / 100)
        #expect(try second.fetch(Second.Sheet.self).matching("unique").count() == 0)
        second.close()
        let third = try Store.open(at: directory.file(), for: Third.Sheet.self)
        #expect(try third.verify().problems == [])
        #expect(try third.fetch(Third.Sheet.self).matching("\"unique words\"").count() == 1)
    }

    @Test func anotherWeightIsNoMigration() throws {
        try fill(3)
        let third = try Store.open(at: directory.file(), for: Third.Sheet.self)
        let revision = third.file.schema.revision
        third.close()
        let fourth = try Store.open(at: directory.file(), for: Fourth.Sheet.self)
        #expect(fourth.file.schema.revision == revision)
        #expect(try fourth.verify().problems == [])
    }

    @Test func onlyTextIsSearchable() {
        #expect(throws: StoreError.self) {
            try Schema(entities: [
                Entity(
                    name: "Sheet", properties: [Property(name: "size", type: .int)],
                    indexes: [EntityIndex(words: [0])])
            ])
        }
    }
}

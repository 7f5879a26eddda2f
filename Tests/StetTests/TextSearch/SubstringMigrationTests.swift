import StetStore
import StetTestSupport
import Testing

@testable import Stet

private enum First {
    @Model final class Sheet {
        var title: String = ""
        @Attribute(.indexed) var text: String?
        init(_ title: String) { self.title = title }
    }
}

private enum Second {
    @Model final class Sheet {
        @Attribute(.indexed(.substring)) var title: String = ""
        @Attribute(.indexed) var text: String?
        init(_ title: String) { self.title = title }
    }
}

private enum Third {
    @Model final class Sheet {
        @Attribute(.indexed(.substring), originalName: "title") var name: String = ""
        @Attribute(.indexed, .indexed(.substring)) var text: String?
        init(_ title: String) { self.name = title }
    }
}

private enum Fourth {
    @Model final class Sheet {
        var title: String = ""
        @Attribute(.indexed) var text: String?
        var pageCount: Int = 0
        init(_ title: String) { self.title = title }
    }
}

/// An attribute gets an index of substrings, is renamed with it, and loses it.
@Suite struct SubstringMigrationTests {
    private let directory = TemporaryDirectory()

    /// A store whose objects are so many that the index is built in steps.
    private func fill(_ count: Int) throws {
        let store = try Store.open(at: directory.file(), for: First.Sheet.self)
        defer { store.close() }
        let context = store.context()
        for number in 0..<count {
            let sheet = First.Sheet("Sheet no. \(number % 100 + 100)")
            sheet.text = number == 5 ? "special text" : nil
            context.insert(sheet)
        }
        try context.save()
    }

    @Test(arguments: [400, 10_300]) func theIndexIsBuiltWhenTheStoreIsOpened(count: Int) throws {
        try fill(count)
        let second = try Store.open(at: directory.file(), for: Second.Sheet.self)
        #expect(try second.verify().problems == [])
        let sheets = second.fetch(Second.Sheet.self) { $0.title.contains("o. 107") }
        #expect(try sheets.count() == count / 100)
        #expect(
            try sheets.explain().hasPrefix("substrings (title): 4 trigrams of \"o. 107\": "))
        let number = second.file.schema.indexes[0].number
        second.close()
        let third = try Store.open(at: directory.file(), for: Third.Sheet.self)
        #expect(try third.verify().problems == [])
        // A renamed attribute keeps its entries.
        #expect(third.file.schema.indexes[0].number == number)
        #expect(
            try third.fetch(Third.Sheet.self) { $0.name.hasSuffix("107") }.count() == count / 100)
        let special = third.fetch(Third.Sheet.self) { $0.text.contains("special") }
        #expect(try special.count() == 1)
        #expect(
            try special.explain().hasPrefix(
                "substrings (text): 5 trigrams of \"special\": 1 of Sheet"))
    }

    @Test func anIndexThatIsRemovedLeavesNoEntries() throws {
        try fill(20)
        let second = try Store.open(at: directory.file(), for: Second.Sheet.self)
        #expect(try second.verify().indexEntryCount > 40)
        second.close()
        let fourth = try Store.open(at: directory.file(), for: Fourth.Sheet.self)
        let report = try fourth.verify()
        #expect(report.problems == [])
        #expect(report.indexEntryCount == 20)
        let sheets = fourth.fetch(Fourth.Sheet.self) { $0.title.contains("o. 107") }
        #expect(try sheets.count() == 1)
        #expect(try sheets.explain().hasPrefix("look at all 20 records of Sheet"))
    }
}

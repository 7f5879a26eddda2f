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

/// The languages of the next models, whose stemmer takes a letter off words; another version takes
/// another one.
private struct LetterStemmer: TextStemmer {
    let version: UInt32
    let letter: String

    func stem(_ word: String) -> String {
        word.count > 1 && word.hasSuffix(letter) ? String(word.dropLast()) : word
    }
}

extension TextLanguage {
    static var letters: TextLanguage {
        TextLanguage("letters", stemmer: LetterStemmer(version: 1, letter: "s"))
    }
    static var newerLetters: TextLanguage {
        TextLanguage("letters", stemmer: LetterStemmer(version: 2, letter: "n"))
    }
}

private enum Stemmed {
    @Model final class Sheet {
        @Attribute(.searchable(language: .letters)) var title: String = ""
        @Attribute(.searchable) var text: String = ""
        init(_ title: String) { self.title = title }
    }
}

private enum StemmedAnew {
    @Model final class Sheet {
        @Attribute(.searchable(language: .newerLetters)) var title: String = ""
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

    /// Opens the store with models, and returns how many sheets match a search.
    private func count<M: Model>(_ text: String, _ model: M.Type) throws -> Int {
        let store = try Store.open(at: directory.file(), for: model)
        defer { store.close() }
        let report = try store.verify()
        #expect(report.problems == [])
        #expect(report.uncheckedIndexes == [])
        return try store.fetch(model).matching(text).count()
    }

    @Test(arguments: [200, 10_300]) func aLanguageIsAddedChangedAndRemoved(count: Int) throws {
        try fill(count)
        #expect(try self.count("sheets", Third.Sheet.self) == 0)
        #expect(try self.count("sheets", Stemmed.Sheet.self) == count)
        #expect(try self.count("sheetn", Stemmed.Sheet.self) == 0)
        // The same language with other rules.
        #expect(try self.count("sheets", StemmedAnew.Sheet.self) == 0)
        #expect(try self.count("sheetn", StemmedAnew.Sheet.self) == count)
        // No language any more.
        #expect(try self.count("sheetn", Second.Sheet.self) == 0)
        #expect(try self.count("sheet", Second.Sheet.self) == count)
    }

    @Test func theSameLanguageIsNoMigration() throws {
        try fill(3)
        for _ in 0..<2 {
            let store = try Store.open(at: directory.file(), for: Stemmed.Sheet.self)
            #expect(store.file.schema.revision == 2)
            store.close()
        }
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

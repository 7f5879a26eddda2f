import StetLMDB
import StetTestSupport
import Testing

@testable import StetStore

private struct PluralStemmer: TextStemmer {
    let version: UInt32

    func stem(_ word: String) -> String { word.hasSuffix("s") ? String(word.dropLast()) : word }
}

/// Indexes of stems: their bytes in the schema, and processes that lack a stemmer.
struct StemmedIndexTests {
    private let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private static func schema(_ language: TextLanguage?) throws -> Schema {
        try Schema(entities: [
            Entity(
                name: "Page",
                properties: [
                    Property(name: "title", type: .string), Property(name: "text", type: .string),
                ],
                indexes: [
                    EntityIndex(words: [
                        EntityIndex.Part(slot: 1, language: language),
                        EntityIndex.Part(slot: 0, language: nil),
                    ])
                ])
        ])
    }

    private func values(_ title: String, _ text: String) -> [Value] {
        [.string(title), .string(text)]
    }

    private let key = ObjectKey(1, 1)

    private func found(_ text: String, in file: StoreFile) throws -> Int {
        let attributes = [TextMatch.Attribute(slot: 0), TextMatch.Attribute(slot: 1)]
        return try file.read { reader in
            var query = StoreQuery(entity: 1)
            query.condition = .matching(.root, TextMatch(TextQuery(text), in: attributes))
            let view = QueryState.View(
                WorkingState(file.schema, at: try reader.head().revision))
            return try QueryRun(QueryState(reader, view), query).rows().count
        }
    }

    @Test func theSchemaContainsLanguagesAndVersions() throws {
        let language = TextLanguage("bytes", stemmer: PluralStemmer(version: 0x0403_0201))
        let schema = try Self.schema(language)
        let bytes = schema.encoded()
        #expect(try bytes.withUnsafeBytes { try Schema(decoding: $0) } == schema)
        // Two parts: a slot, a folding, and a name; with it a version.
        let parts: [UInt8] =
            [2, 0, 0, 0, 0, 0, 1, 0, 0, 5, 0] + Array("bytes".utf8) + [1, 2, 3, 4]
        #expect(bytes.indices.contains { bytes[$0...].starts(with: parts) })
        let plain = try Self.schema(nil).encoded()
        // Without a language, the bytes are those of an index of words as it always was.
        #expect(bytes.count == plain.count + 2 * 2 + 5 + 4)
        #expect(try plain.withUnsafeBytes { try Schema(decoding: $0) } != schema)
        for count in bytes.indices {
            #expect(throws: (any Error).self) {
                try Array(bytes[..<count]).withUnsafeBytes { try Schema(decoding: $0) }
            }
        }
    }

    @Test func theGoldenStoreWithALanguageIsReadAndKept() throws {
        let language = TextLanguage("golden", stemmer: PluralStemmer(version: 1))
        let schema = try Self.schema(language)
        try GoldenFile.copy("languages", to: directory.file()) { path in
            let file = try StoreFile.open(at: path, schema: schema, .small(mapByteCount: 1 << 20))
            _ = try file.commit([
                Edit(key, from: nil, to: values("Dogs", "Cats and dogs")),
                Edit(ObjectKey(1, 2), from: nil, to: values("Cat", "Ém\u{e9}s")),
            ])
            file.close()
        }
        let file = try StoreFile.open(at: directory.file(), .small())
        #expect(file.schema.indexes[0].index.parts[1].language == language)
        #expect(try found("dog", in: file) == 1)
        #expect(try found("eme", in: file) == 1)
        #expect(try file.verify().problems == [])
        let edit = Edit(key, from: values("Dogs", "Cats and dogs"), to: nil, base: Revision(1))
        _ = try file.commit([edit])
        #expect(try found("cats", in: file) == 0)
        #expect(try found("cat", in: file) == 1)
        let report = try file.verify()
        #expect(report.problems == [])
        #expect(report.uncheckedIndexes == [])
    }

    /// Its lists name objects by whole ids, with the rules of version 1.
    @Test func theListsOfAnEarlierFormAreBuiltAgain() throws {
        try GoldenFile.copy(early: "lists-1", to: directory.file())
        let language = TextLanguage("golden", stemmer: PluralStemmer(version: 1))
        // Without the models everything else is read.
        let old = try StoreFile.open(at: directory.file(), .small())
        let error = #expect(throws: StoreError.self) { try found("dog", in: old) }
        #expect(error?.code == .textRulesMissing)
        let report = try old.verify()
        #expect(report.problems == [])
        #expect(report.uncheckedIndexes.count == 1)
        old.close()
        let file = try StoreFile.open(at: directory.file(), schema: Self.schema(language), .small())
        #expect(file.schema.revision == 2)
        #expect(try found("dog", in: file) == 1)
        #expect(try found("eme", in: file) == 1)
        let later = try file.verify()
        #expect(later.problems == [])
        #expect(later.uncheckedIndexes == [])
    }

    @Test func anotherLanguageOrVersionIsAnotherIndex() throws {
        let one = TextLanguage("one", stemmer: PluralStemmer(version: 1))
        let two = TextLanguage("one", stemmer: PluralStemmer(version: 2))
        func steps(_ old: TextLanguage?, _ new: TextLanguage?) throws -> [String] {
            try SchemaComparison(of: Self.schema(old), with: Self.schema(new)).steps
        }
        #expect(try steps(one, one) == [])
        let built = "builds the words (title, text in one) of Page"
        let dropped = "drops the words (title, text in one) of Page"
        #expect(try steps(one, two) == [built, dropped])
        #expect(try steps(nil, one) == [built, "drops the words (title, text) of Page"])
        #expect(try steps(one, nil) == ["builds the words (title, text) of Page", dropped])
    }

    @Test func modelsWithoutAStemmerAreRefusedBeforeAnythingIsChanged() throws {
        let schema = try Self.schema(TextLanguage(withoutStemmer: "volapük"))
        let path = directory.file()
        let error = #expect(throws: StoreError.self) {
            try StoreFile.open(at: path, schema: schema, .small())
        }
        #expect(error?.code == .textRulesMissing)
        #expect(error?.message.contains("Page.text is searchable in volapük") ?? false)
        #expect(try !StoreFile.exists(path))
        #expect(throws: StoreError.self) { try MemoryStore.make(schema) }
        // A store that exists keeps its schema.
        try StoreFile.open(at: path, schema: Self.schema(nil), .small()).close()
        #expect(throws: StoreError.self) {
            try StoreFile.open(at: path, schema: schema, .small())
        }
        let file = try StoreFile.open(at: path, .small())
        #expect(file.schema.revision == 1)
    }

    /// A program without the stemmer reads everything but searches, and changes what is not
    /// indexed.
    @Test func aProgramWithoutTheStemmerDoesNotTouchTheIndex() throws {
        let path = directory.file()
        let language = TextLanguage("lost", stemmer: PluralStemmer(version: 1))
        let file = try StoreFile.open(at: path, schema: try Self.schema(language), .small())
        _ = try file.commit([Edit(key, from: nil, to: values("one", "two dogs"))])
        #expect(try found("dog", in: file) == 1)
        file.close()
        // The process has another version now.
        _ = TextLanguage("lost", stemmer: PluralStemmer(version: 2))
        let other = try StoreFile.open(at: path, .small())
        let before = try #require(try other.dump()["indexes"])
        let edits = [
            Edit(key, from: values("one", "two dogs"), to: values("one", "two"), base: Revision(1)),
            Edit(key, from: values("one", "two dogs"), to: nil, base: Revision(1)),
        ]
        for edit in edits {
            let error = #expect(throws: StoreError.self) { try other.commit([edit]) }
            #expect(error?.code == .textRulesMissing)
        }
        let error = #expect(throws: StoreError.self) { try found("dog", in: other) }
        #expect(error?.code == .textRulesMissing)
        #expect(try other.dump()["indexes"] == before)
        let report = try other.verify()
        #expect(report.problems == [])
        #expect(
            report.uncheckedIndexes == [
                "the words (title, text in lost) of Page was made by another version of Unicode, "
                    + "Stet or a stemmer"
            ])
        #expect("\(report)".contains("\n  not checked: the words (title, text in lost)"))
        other.close()
        // Opening it with the models builds the index again.
        let again = try StoreFile.open(
            at: path,
            schema: try Self.schema(TextLanguage("lost", stemmer: PluralStemmer(version: 3))),
            .small())
        #expect(again.schema.revision == 2)
        #expect(try again.verify().uncheckedIndexes == [])
        #expect(try again.verify().problems == [])
        #expect(try found("dog", in: again) == 1)
    }

    @Test func verificationFindsAStemThatIsNotThatOfTheText() throws {
        let language = TextLanguage("verified", stemmer: PluralStemmer(version: 1))
        let file = try StoreFile.open(
            at: directory.file(), schema: try Self.schema(language), .small())
        _ = try file.commit([Edit(key, from: nil, to: values("dogs", "dogs"))])
        let stem = TextKey.list(1, Array("dog".utf8))
        let word = TextKey.list(1, Array("dogs".utf8))
        let entries = try #require(try file.dump()["indexes"])
        #expect(Set(entries.keys) == [TextKey.totals(1), stem, word])
        try file.tamper("indexes", stem, nil)
        #expect(
            try file.verify().problems
                == ["Page words (title, text in verified) misses words of \(key.id)."])
    }
}

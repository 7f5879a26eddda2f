import Stet
import StetStemming
import StetTestSupport
import Testing

/// The code of TextSearch.md.
@Suite struct TextSearchTests {
    @Model final class Essay {
        @Attribute(.searchable(weight: 3)) var title: String
        @Attribute(.searchable) var text: String

        init(title: String, text: String) {
            self.title = title
            self.text = text
        }
    }

    @Model final class Part {
        @Attribute(.searchable, .indexed(.substring)) var number: String

        init(number: String) { self.number = number }
    }

    @Model final class Abstract {
        @Attribute(.searchable(language: .english, weight: 3)) var title: String
        @Attribute(.searchable(language: .english)) var english: String
        @Attribute(.searchable(language: .german)) var german: String
        @Attribute(.searchable) var author: String

        init(title: String, english: String, german: String, author: String) {
            self.title = title
            self.english = english
            self.german = german
            self.author = author
        }
    }

    private let directory = TemporaryDirectory()
    private let context: ManagedContext

    init() throws {
        context = try Store.open(at: directory.file(), for: Essay.self, Part.self, Abstract.self)
            .context()
        let texts = [
            ("Undo", "An edit session and its journal"), ("SQLite", "Undo, edit session, journal"),
            ("Été", "Die Straße; undo"),
        ]
        for (title, text) in texts { context.insert(Essay(title: title, text: text)) }
        for number in ["6204-62RS", "6204-ZZ", "SKF 6205-62rs"] {
            context.insert(Part(number: number))
        }
        context.insert(
            Abstract(
                title: "Connected sessions", english: "Two connections for 3 sessions",
                german: "Zwei Häuser", author: "Connor Sessions"))
        try context.save()
    }

    @Test func stemsAreFound() throws {
        let abstracts = context.fetch(Abstract.self)
        for text in ["connecting", "session", "haus", "conn*", "connections*", "sessions"] {
            #expect(try abstracts.matching(text).exists(), "\(text)")
        }
        #expect(try !abstracts.matching("connectio*").exists())
        #expect(try !abstracts.matching("session", in: \.author).exists())
        let abstract = try #require(try abstracts.first())

        let found = TextQuery("connecting")
        let inAbstract = found.snippet(of: abstract.english, wordCount: 12, language: .english)

        #expect(inAbstract.ranges.map { inAbstract.text[$0] } == ["connections"])
    }

    @Test func partsOfWordsAreFound() throws {
        let bearings = try context.fetch(Part.self) {
            $0.number.folded(.caseInsensitive).contains("-62rs")
        }.all()

        #expect(bearings.map(\.number) == ["6204-62RS", "SKF 6205-62rs"])
    }

    @Test func wordsAreFound() throws {
        let hits = try context.fetch(Essay.self)
            .matching("undo jour* -sqlite \"edit session\"").limit(20).all()

        #expect(hits.map(\.title) == ["Undo"])

        let alphabetic = try context.fetch(Essay.self).matching("undo").sorted(by: \.title).all()

        #expect(alphabetic.map(\.title) == ["SQLite", "Undo", "Été"])
        let titled = try context.fetch(Essay.self).matching("undo", in: \.title).all()

        #expect(titled.map(\.title) == ["Undo"])
        for text in ["strasse", "ete", "\"edit sess*", "- undo été"] {
            #expect(try context.fetch(Essay.self).matching(text).exists(), "\(text)")
        }
        for text in ["sessions", "-sqlite", "", "edit-undo"] {
            #expect(try !context.fetch(Essay.self).matching(text).exists(), "\(text)")
        }
    }

    @Test func aSnippetShowsTheWords() throws {
        let essay = try #require(try context.fetch(Essay.self).matching("sqlite").first())

        let query = TextQuery("undo jour*")
        let snippet = query.snippet(of: essay.text, wordCount: 12)
        let emphasised = snippet.ranges.map { snippet.text[$0] }
        let inTitle = query.ranges(in: essay.title)

        #expect(snippet.text == essay.text)
        #expect(emphasised == ["Undo", "journal"])
        #expect(inTitle.isEmpty)
        #expect(try context.fetch(Essay.self).matching(query).count() == 2)
    }
}

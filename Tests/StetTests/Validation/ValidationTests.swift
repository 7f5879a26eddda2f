import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

@Model private final class Form {
    @Attribute(.required) var owner: String?
    @Attribute(.notEmpty) var text: String = "text"
    @Attribute(.length(2...3)) var code: String = "abc"
    @Attribute(.length(...2)) var blob: Data = Data()
    @Attribute(.range(0...5)) var score: Double = 0
    @Attribute(.range(Date(timeIntervalSinceReferenceDate: 0)...)) var day: Date = Date.now
    @Attribute(.required) var parent: Form?

    init() {}
}

@Suite struct ValidationTests {
    @Test func everyViolationIsReportedInTotalOrderWithItsCodeAndSentence() throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Form.self)
        let context = store.context()
        let form = Form()
        form.text = ""
        form.code = "a"
        form.blob = Data([1, 2, 3])
        form.score = .nan
        form.day = Date(timeIntervalSinceReferenceDate: -1)
        context.insert(form)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(
            error.description == """
                owner is required
                text can't be empty
                code must be at least 2 characters
                blob can't be longer than 2 bytes
                score must be at least 0.0
                day can't be before 2001-01-01T00:00:00Z
                parent is required
                """)
        #expect(error.violations.map(\.code.number) == [1570, 1670, 1670, 1660, 1620, 1640, 1570])
        #expect(
            error.violations.map(\.property) == [
                "owner", "text", "code", "blob", "score", "day", "parent",
            ])
        #expect(error.violations.allSatisfy { $0.object == form.id && $0.entity == "Form" })
        #expect(error.code.number == 1560)
        #expect(error.rejected.changes.map(\.kind) == [.insert])
        #expect(form.context == nil)
        #expect(try store.revision() == .zero)
    }

    @Test func boundsAreIncludedAndCharactersAreGraphemeClusters() throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Form.self)
        let context = store.context()
        let form = Form()
        form.owner = "me"
        form.parent = form
        for code in ["👨‍👩‍👧‍👦é", "ab", "e\u{301}e\u{301}e\u{301}", "a\r\n"] {
            form.code = code
            context.insert(form)
            #expect(throws: Never.self) { try context.validate() }
        }
        form.score = 5
        #expect(try context.save() != nil)
        form.score = 5.000001
        #expect(throws: ValidationError.self) { try context.save() }
    }

    @Test func violationsOfSeveralObjectsComeByEntityAndID() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let notebooks = [Notebook(name: ""), Notebook(name: String(repeating: "x", count: 26))]
        let article = Article(title: "")
        article.rating = 6
        notebooks.forEach { context.insert($0) }
        context.insert(article)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(
            error.violations.map(\.message) == [
                "title must be at least 1 character", "rating can't be greater than 5",
                "name must be at least 1 character", "name can't be longer than 25 characters",
            ])
    }

    @Test func aValidatorSeesOldAndNewAndIsSkippedWhenAnAttributeFailed() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        article.rating = 5
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.message) == ["an article rated 5 needs a body"])
        #expect(error.violations.first?.code == .custom)
        #expect(error.violations.first?.property == "rating")
        article.rating = 5
        article.title = ""
        let other = try #require(throws: ValidationError.self) { try context.save() }
        #expect(other.violations.map(\.message) == ["title must be at least 1 character"])
        article.rating = 5
        article.body = "body"
        #expect(try context.save() != nil)
    }

    @Test func validateChangesNothingAndWritesNothing() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        notebook.name = "  other  "
        article.rating = 9
        let changes = context.changes
        #expect(throws: ValidationError.self) { try context.validate() }
        #expect(notebook.name == "  other  ")
        #expect(context.changes == changes)
        article.rating = 1
        try context.validate()
        #expect(notebook.name == "  other  ")
        #expect(try scratch.store.revision() == 1)
    }

    @Test func theRejectedChangeSetSurvivesACodingRoundTrip() throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        notebook.name = ""
        let error = try #require(throws: ValidationError.self) { try context.save() }
        let data = try JSONEncoder().encode(error.rejected)
        #expect(try JSONDecoder().decode(ChangeSet.self, from: data) == error.rejected)
        #expect(error.rejected.changes.first?["name"]?.old == .string("Swift"))
        #expect(error.rejected.changes.first?["name"]?.new == .string(""))
    }
}

import Foundation
import Stet
import StetLMDB
import StetTestSupport
import Testing

// Document 002: notebooks and articles, edited in a form.

@Model private final class NoteBook {
    @Attribute(.trimmed, .length(1...25)) var title: String
    @Attribute(.stamped(.insert)) var dateCreated: Date
    @Attribute(.stamped(.update)) var dateUpdated: Date
    @Relationship(inverse: \NoteArticle.notebook) var articles: ToMany<NoteArticle>

    init(title: String) { self.title = title }
}

@Model private final class NoteArticle {
    @Attribute(.trimmed, .length(1...25)) var title: String = ""
    @Attribute(.trimmed, .length(...1)) var mark: String = ""
    var body: String = ""
    var notebook: NoteBook?
    @Attribute(.stamped(.insert)) var dateCreated: Date
    @Attribute(.stamped(.update)) var dateUpdated: Date

    init(in notebook: NoteBook?) { self.notebook = notebook }

    static var validators: Validators<NoteArticle> {
        Validators(
            .object(on: .insert, .update) { article in
                if let new = article.new, new.title == new.body {
                    article.report(\.body, "{property} says no more than the title")
                }
            })
    }
}

@Model private final class Unrelated {
    var name: String = ""

    init() {}
}

/// The screen of the document: what it does when "Done" is tapped.
private final class ArticleForm {
    var title = ""
    var body = ""
    private(set) var message: String?
    private(set) var isClosed = false

    func done(_ article: NoteArticle, _ context: ManagedContext) {
        do {
            try context.edit("edit article") {
                context.insert(article)
                article.title = title
                article.body = body
            }
            isClosed = true
        } catch {
            message = "\(error)"
        }
    }
}

@Suite struct NotesTests {
    private let directory = TemporaryDirectory()
    private let seconds = Monitor(1_000.0)
    private let store: Store
    private let context: ManagedContext

    init() throws {
        var configuration = Store.Configuration()
        configuration.clock = { [seconds] in
            // Each reading of the clock gives a new time.
            seconds.withLock { seconds in
                seconds += 1
                return Date(timeIntervalSinceReferenceDate: seconds)
            }
        }
        store = try Store.open(
            at: directory.file(), for: NoteBook.self, NoteArticle.self,
            configuration: configuration)
        context = store.context()
    }

    private func saved() throws -> (NoteBook, NoteArticle) {
        let notebook = NoteBook(title: "Swift")
        let article = NoteArticle(in: notebook)
        article.title = "Macros"
        context.insert(article)
        try context.save()
        return (notebook, article)
    }

    private func message(_ body: () throws -> Void) throws -> String {
        try #require(throws: ValidationError.self) { try body() }.description
    }

    @Test("C3 lengths are told as sentences, one per line, in each language")
    func c3Sentences() throws {
        let (_, article) = try saved()
        article.title = ""
        #expect(try message { try context.save() } == "title must be at least 1 character")
        article.title = String(repeating: "x", count: 26)
        #expect(try message { try context.save() } == "title can't be longer than 25 characters")
        article.title = ""
        article.mark = "ab"
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(
            error.description == """
                title must be at least 1 character
                mark can't be longer than 1 character
                """)
        var chinese = MessageTable.simplifiedChinese
        chinese.names["NoteArticle.title"] = "标题"
        #expect(
            error.description(in: chinese) == """
                标题至少需要 1 个字符
                mark不能超过 1 个字符
                """)
        article.title = "👨‍👩‍👧‍👦"
        #expect(try context.save() != nil)
        article.title = String(repeating: "é", count: 25)
        #expect(try context.save() != nil)
    }

    @Test("C4 after a failed save everything is as before, and the new object is gone")
    func c4TheFormOfTheDocument() throws {
        let (notebook, article) = try saved()
        let before = (notebook.snapshot, article.snapshot)
        let form = ArticleForm()
        form.title = "   "
        form.body = "text"
        form.done(article, context)
        #expect(form.message == "title must be at least 1 character")
        #expect(!form.isClosed)
        #expect(notebook.snapshot == before.0)
        #expect(article.snapshot == before.1)
        #expect(!context.hasChanges)
        let new = NoteArticle(in: notebook)
        form.done(new, context)
        #expect(new.context == nil)
        #expect(!form.isClosed)
        #expect(Array(notebook.articles) == [article])
        #expect(try context.fetch(NoteArticle.self).all() == [article])
        #expect(article.snapshot == before.1)
        #expect(notebook.snapshot == before.0)
        form.title = " Actors "
        form.done(new, context)
        #expect(form.isClosed)
        #expect(new.title == "Actors")
        #expect(new.notebook == notebook)
        #expect(Set(notebook.articles.map(\.id)) == [article.id, new.id])
        #expect(try context.fetch(NoteArticle.self).all() == [article, new])
        #expect(article.snapshot == before.1)
    }

    @Test("C5 input is trimmed before it is validated, once")
    func c5Trimming() throws {
        let (_, article) = try saved()
        article.title = "  \(String(repeating: "x", count: 25))\n"
        article.body = "  as it is "
        #expect(try context.save() != nil)
        #expect(article.title == String(repeating: "x", count: 25))
        #expect(article.body == "  as it is ")
        article.title = " \t "
        #expect(try message { try context.save() } == "title must be at least 1 character")
        article.title = " \(article.title) "
        // After trimming it equals the stored title.
        #expect(try context.save() == nil)
    }

    @Test("C6 a save returns a commit, or throws and everything is as before")
    func c6Outcome() throws {
        let (_, article) = try saved()
        article.title = "Actors"
        let commit = try #require(try context.save("rename"))
        #expect(
            commit.changes(of: NoteArticle.self).map(\.changedProperties) == [
                ["title", "dateUpdated"]
            ])
        #expect(commit.revision == 2)
        #expect(commit.label == "rename")
        let before = article.snapshot
        article.title = ""
        article.body = "new"
        var isClosed = false
        #expect(throws: ValidationError.self) {
            try context.save()
            isClosed = true
        }
        #expect(!isClosed)
        #expect(article.snapshot == before)
        #expect(!context.hasChanges)
        #expect(try store.revision() == 2)
    }

    @Test("C8 dates are stamped by the save, one time for all, and put back when it fails")
    func c8Stamps() throws {
        let (notebook, article) = try saved()
        let created = article.dateCreated
        #expect(notebook.dateCreated == created)
        #expect(notebook.dateUpdated == created)
        #expect(article.dateUpdated == created)
        article.body = "new"
        try context.save()
        let updated = article.dateUpdated
        #expect(updated > created)
        #expect(article.dateCreated == created)
        #expect(notebook.dateUpdated == created)
        article.title = ""
        #expect(throws: ValidationError.self) { try context.save() }
        #expect(article.dateUpdated == updated)
        #expect(article.dateCreated == created)
        article.body = "newer"
        notebook.title = "Swift 6"
        try context.save()
        #expect(article.dateUpdated == notebook.dateUpdated)
        #expect(article.dateUpdated > updated)
    }

    @Test("C9 opening, saving and fetching fail with a message and what to do, and end nothing")
    func c9Failures() throws {
        let (_, article) = try saved()
        let missing = try #require(throws: StoreError.self) {
            try Store.open(at: "\(directory.file())/nowhere/x", for: Unrelated.self)
        }
        #expect(!missing.message.isEmpty)
        #expect(!missing.advice.isEmpty)
        let other = try #require(throws: StoreError.self) {
            try Store.open(at: directory.file(), for: Unrelated.self)
        }
        #expect(other.code == .modelMismatch)
        #expect(other.message.contains("NoteArticle"))
        #expect(!other.advice.isEmpty)
        store.close()
        article.title = "after the end"
        let saving = try #require(throws: StoreError.self) { try context.save() }
        #expect(saving.code == .storeClosed)
        #expect(!saving.advice.isEmpty)
        let fetching = try #require(throws: StoreError.self) {
            try context.fetch(NoteArticle.self).all()
        }
        #expect(fetching.code == .storeClosed)
        #expect("\(fetching)".contains(fetching.advice))
        #expect(article.title == "Macros")
    }

    @Test("C11 a dry run finds what the save finds, and changes nothing")
    func c11DryRun() throws {
        let (notebook, article) = try saved()
        notebook.title = ""
        article.title = " Same "
        article.body = "Same"
        let pending = (notebook.snapshot, article.snapshot, context.changes)
        let dry = try #require(throws: ValidationError.self) { try context.validate() }
        #expect(
            dry.description == """
                body says no more than the title
                title must be at least 1 character
                """)
        #expect(notebook.snapshot == pending.0)
        #expect(article.snapshot == pending.1)
        #expect(context.changes == pending.2)
        #expect(try store.revision() == 1)
        let real = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(real.violations == dry.violations)
        notebook.title = "Swift"
        article.body = "more"
        try context.validate()
        #expect(try store.revision() == 1)
        #expect(article.title == " Same ")
        #expect(try context.save() != nil)
    }
}

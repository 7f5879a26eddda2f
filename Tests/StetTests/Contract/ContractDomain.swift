import Foundation
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// An object whose hook each test writes for itself.
@Model final class Subject {
    @Attribute(.trimmed, .length(1...40)) var title: String
    var count: Int = 0
    var ratio: Double = 0
    @Attribute(.stamped(.update)) var updated: Date?
    var partner: Subject?
    @Transient var onSave: ((Subject) throws -> Void)? = nil

    init(_ title: String) { self.title = title }

    func willSave() { try? onSave?(self) }
}

/// A store of subjects.
struct Subjects {
    private let directory = TemporaryDirectory()
    let store: Store

    init() throws { store = try Store.open(at: directory.file(), for: Subject.self) }

    /// Saved subjects in a context of their own.
    func saved(_ titles: String...) throws -> (ManagedContext, [Subject]) {
        let context = store.context(author: "lala")
        let subjects = titles.map { Subject($0) }
        for subject in subjects { context.insert(subject) }
        try context.save()
        return (context, subjects)
    }
}

/// The state of the test domain in a context, by every way to read it.
struct Shown: Equatable {
    private var notebooks: [Notebook.Snapshot] = []
    private var articles: [Article.Snapshot] = []
    /// The objects to which each article refers, as its accessors return them.
    private var notebookOfArticle: [ObjectID: Notebook.Snapshot] = [:]
    private var nextOfArticle: [ObjectID: Article.Snapshot] = [:]
    /// The objects with `ids` that are found one by one.
    private var found: [ObjectID: Article.Snapshot] = [:]

    init(_ context: ManagedContext, ids: [ObjectID] = []) throws {
        for id in ids { found[id] = try context.object(Article.self, id: id)?.snapshot }
        notebooks = try context.fetch(Notebook.self).all().map(\.snapshot)
        let fetched = try context.fetch(Article.self).all()
        articles = fetched.map(\.snapshot)
        for article in fetched {
            notebookOfArticle[article.id] = article.notebook?.snapshot
            nextOfArticle[article.id] = article.next?.snapshot
        }
    }

    var articleCount: Int { articles.count }
}

/// The text of a process that was expected to trap.
func lastWords(of process: ExitTest.Result?) -> String {
    String(decoding: process?.standardErrorContent ?? [], as: UTF8.self)
}

struct Stop: Error {}

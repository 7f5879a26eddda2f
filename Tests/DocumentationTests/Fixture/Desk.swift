import Stet
import StetTestSupport
import Testing

/// A store with a saved article in a notebook, as most pages begin.
struct Desk {
    private let directory = TemporaryDirectory()
    let store: Store
    let context: ManagedContext
    let notebook = Notebook(name: "Swift")
    let article: Article

    init() throws {
        store = try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, Tag.self)
        context = store.context(author: "lala")
        article = Article(title: "Macros", notebook: notebook)
        context.insert(article)
        try context.save("first article")
    }

    /// The article as another context saves it, which sees nothing of this one.
    func saveElsewhere(_ edit: (Article) -> Void) throws {
        let other = store.context(author: "other")
        edit(try #require(try other.object(Article.self, id: article.id)))
        try other.save("elsewhere")
    }

    /// The article as a fresh context reads it.
    func stored() throws -> Article.Snapshot {
        try #require(try store.context().object(Article.self, id: article.id)).snapshot
    }
}

/// A store with a saved page, which is counted.
struct PageDesk {
    private let directory = TemporaryDirectory()
    let store: Store
    let context: ManagedContext
    let page = Page(title: "Start")

    init() throws {
        store = try Store.open(at: directory.file(), for: Page.self)
        context = store.context(author: "lala")
        context.insert(page)
        try context.save("first page")
    }

    /// The number of views as a fresh context reads it.
    func views() throws -> Int? { try store.context().object(Page.self, id: page.id)?.views }
}

import Stet
import StetTestSupport
import Testing

/// The code of Relationships.md.
@Suite struct RelationshipsTests {
    @Model final class Notebook {
        @Attribute(.unique) var name: String
        @Relationship(deleteRule: .cascade, inverse: \Article.notebook)
        var articles: ToMany<Article>

        init(name: String) { self.name = name }
    }

    @Model final class Article {
        var title: String
        var notebook: Notebook?
        @Relationship(inverse: \Tag.articles) var tags: ToMany<Tag>
        var sources: OrderedToMany<Article>

        init(title: String) { self.title = title }
    }

    @Model final class Tag {
        var name: String
        var articles: ToMany<Article>

        init(name: String) { self.name = name }
    }

    @Test func bothEndsAreRightAtOnce() throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, Tag.self)
        let context = store.context()
        var lines: [String] = []
        func note(_ title: String, _ count: Int) { lines.append("\(title) \(count)") }

        let notebook = Notebook(name: "Swift")
        let article = Article(title: "Ownership")
        context.insert(notebook)
        notebook.articles.append(article)
        article.tags = [Tag(name: "memory"), Tag(name: "compiler")]
        try context.save("first article")

        #expect(article.notebook === notebook)
        #expect(article.tags.allSatisfy { $0.articles.contains(article) })

        for article in notebook.articles where article.title.hasPrefix("O") {
            note(article.title, article.tags.count)
        }
        let tags = try context.load(\Article.tags, of: notebook.articles)

        #expect(lines == ["Ownership 2"])
        #expect(tags.map(\.name).sorted() == ["compiler", "memory"])
    }
}

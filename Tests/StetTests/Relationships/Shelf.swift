import Stet
import StetTestSupport

/// The models of the relationship tests.
enum Shelf {
    @Model final class Notebook {
        var name: String
        @Relationship(deleteRule: .cascade, inverse: \Article.notebook) var articles:
            ToMany<Article>
        @Relationship(inverse: \Article.readingList) var readingList: OrderedToMany<Article>
        @Relationship(.orphanRemoval, inverse: \Note.notebook) var notes: ToMany<Note>
        @Relationship(.count(...3), deleteRule: .deny, inverse: \Cover.notebook) var covers:
            ToMany<Cover>

        init(name: String) { self.name = name }
    }

    @Model final class Article {
        @Attribute(.notEmpty) var title: String
        var notebook: Notebook?
        var readingList: Notebook?
        @Relationship(inverse: \Tag.articles) var tags: ToMany<Tag>
        var sources: OrderedToMany<Article>

        init(title: String) { self.title = title }
    }

    @Model final class Tag {
        var name: String
        @Attribute(.unique) var slug: String?
        var articles: ToMany<Article>

        init(name: String) { self.name = name }
    }

    @Model final class Note {
        var text: String
        var notebook: Notebook?

        init(text: String) { self.text = text }
    }

    @Model final class Cover {
        var colour: String
        @Relationship(.required) var notebook: Notebook?
        @Relationship(deleteRule: .deny) var artist: Tag?
        @Relationship(deleteRule: .cascade) var note: Note?

        init(colour: String) { self.colour = colour }
    }

    static let models: [any Model.Type] = [
        Notebook.self, Article.self, Tag.self, Note.self, Cover.self,
    ]

    static func store(in directory: TemporaryDirectory) throws -> Store {
        try Store.open(at: directory.file("shelf.stet"), for: models)
    }
}

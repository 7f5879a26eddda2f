import FoundationEssentials
import Stet

// The domain of the tests, with the properties and indexes that the design's figures assume.

@Model final class Notebook {
    @Attribute(.trimmed, .length(1...25)) var name: String
    @Relationship(inverse: \Article.notebook) var articles: ToMany<Article>

    init(name: String) { self.name = name }
}

@Model final class Article {
    @Attribute(.trimmed, .length(1...25), .indexed) var title: String
    var body: String
    @Attribute(.range(0...5), .indexed) var rating: Int
    var created: Date
    var notebook: Notebook?

    init(_ sample: Sample, in notebook: Notebook?) {
        title = sample.title
        body = sample.body
        rating = sample.rating
        created = sample.created
        self.notebook = notebook
    }
}

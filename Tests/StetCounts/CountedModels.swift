import Stet

@Model final class Notebook {
    @Attribute(.trimmed, .length(1...25)) var name: String
    @Relationship(inverse: \Article.notebook) var articles: ToMany<Article>

    init(name: String) { self.name = name }
}

@Model final class Article {
    @Attribute(.trimmed, .length(1...25), .indexed) var title: String
    var body: String
    @Attribute(.range(0...5), .indexed) var rating: Int
    var notebook: Notebook?

    init(_ number: Int, in notebook: Notebook) {
        title = "article \(number * 7_919 % 10_007)"
        body = String(repeating: "text ", count: 20 + number % 5)
        rating = number % 4
        self.notebook = notebook
    }
}

@Model final class Package {
    @Attribute(.indexed) var name: String
    @Relationship(inverse: \Package.users) var needs: ToMany<Package>
    var users: ToMany<Package>

    init(_ name: String) { self.name = name }
}

@Model final class Tag {
    @Attribute(.unique) var name: String
    var count: Int = 0

    init(_ name: String) { self.name = name }
}

@Model final class Club {
    var name: String

    init(name: String) { self.name = name }
}

@Model final class Member {
    @Attribute(.searchable, .indexed(.substring)) var note: String
    var club: Club?
    @Attribute(.indexed) @Derived var clubName: String? { club?.name }

    init(_ note: String, of club: Club) {
        self.note = note
        self.club = club
    }
}

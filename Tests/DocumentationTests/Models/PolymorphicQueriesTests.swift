import Stet
import Testing

@ModelProtocol protocol Titled: Model {
    var title: String { get }
    var rating: Int { get }
}

/// The code of Queries.md for several models.
@Suite struct PolymorphicQueriesTests {
    @Model final class Article: Titled {
        var text: String = ""
        @Attribute(.indexed) var title: String
        var rating: Int
        init(_ title: String, rating: Int) {
            self.title = title
            self.rating = rating
        }
    }

    @Model final class Bookmark: Titled {
        var rating: Int = 3
        var title: String
        init(_ title: String) { self.title = title }
    }

    @Test func severalModelsAreOneResult() throws {
        let store = try Store.inMemory(for: Article.self, Bookmark.self)
        let context = store.context()
        let objects: [any Titled] = [
            Article("Sendable", rating: 4), Article("Macros", rating: 2), Bookmark("Regions"),
            Bookmark("Actors"),
        ]
        for object in objects { context.insert(object) }
        try context.save()
        let query = context.fetch(any: TitledModels.self) { $0.rating >= 3 }.sorted(by: \.title)
        let firstTen = try query.limit(10).all()
        let number = try query.count()
        let (page, next) = try query.objects(2)
        #expect(firstTen.map(\.title) == ["Actors", "Regions", "Sendable"])
        #expect(number == 3)
        #expect(page.map(\.title) == ["Actors", "Regions"])
        let rest = try query.objects(2, after: next)
        #expect(rest.objects.map(\.title) == ["Sendable"])
        #expect(rest.next == nil)
    }
}

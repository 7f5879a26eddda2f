import Stet
import StetTestSupport
import Testing

/// The code of Queries.md.
@Suite struct QueriesTests {
    @Model final class Notebook {
        var name: String
        @Relationship(inverse: \Article.notebook) var articles: ToMany<Article>

        init(name: String) { self.name = name }
    }

    @Model final class Article {
        @Attribute(.indexed) var title: String
        var rating: Int
        var notebook: Notebook?

        init(_ title: String, rating: Int, _ notebook: Notebook?) {
            self.title = title
            self.rating = rating
            self.notebook = notebook
        }
    }

    @Model final class Job {
        #Index<Job>(\.due, where: { $0.state == "waiting" })
        #Unique<Job>(\.name, where: { !$0.isArchived })
        var name: String
        var due: Int
        var state: String = "waiting"
        var isArchived: Bool = false

        init(name: String, due: Int) {
            self.name = name
            self.due = due
        }
    }

    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext
    private let first: Commit

    init() throws {
        store = try Store.open(at: directory.file(), for: Notebook.self, Article.self, Job.self)
        context = store.context()
        let (swift, music) = (Notebook(name: "Swift"), Notebook(name: "Music"))
        let articles = [
            Article("Sendable", rating: 3, swift), Article("Macros", rating: 2, swift),
            Article("Scales", rating: 5, music), Article("Silence", rating: 1, nil),
            Article("Sound", rating: 4, music),
        ]
        for article in articles { context.insert(article) }
        first = try #require(try context.save())
    }

    @Test func anIndexContainsSomeObjects() throws {
        for due in [12, 9, 8] {
            let job = Job(name: "report", due: due)
            job.state = due == 8 ? "done" : "waiting"
            job.isArchived = due != 9
            context.insert(job)
        }
        try context.save()

        let next = try context.fetch(Job.self) { $0.state == "waiting" && $0.due < 10 }
            .sorted(by: \.due).first()

        #expect(next?.due == 9)
        let plan = try context.fetch(Job.self) { $0.state == "waiting" }.sorted(by: \.due).explain()
        #expect(plan.contains("walk index (due) where state == \"waiting\""))
        context.insert(Job(name: "report", due: 1))
        #expect(throws: ValidationError.self) { try context.save() }
    }

    @Test func objectsAreFoundByConditions() throws {
        let hits = try context.fetch(Article.self) {
            $0.rating >= 3 && $0.title.hasPrefix("S")
        }.sorted(by: \.title).limit(20).all()

        #expect(hits.map(\.title) == ["Scales", "Sendable", "Sound"])

        let wanted = ["Swift", "Actors"]
        let search: String? = "macro"
        let found = try context.fetch(Article.self) {
            wanted.contains($0.title) || (2...4).contains($0.rating)
            $0.notebook?.name == "Swift" || $0.notebook == nil
            if let search {
                $0.title.folded(.caseInsensitive).contains(search)
            }
        }.count()

        #expect(found == 1)

        let busy = try context.fetch(Notebook.self) { notebook in
            notebook.articles.any { $0.rating == 5 } && notebook.articles.count > 1
        }.all()

        #expect(busy.map(\.name) == ["Music"])

        let good = try context.fetch(Notebook.self) {
            $0.articles.average(\.rating, where: { $0.rating > 1 }) > 2
        }.sorted(by: { $0.articles.max(\.rating) }, .descending).all()

        #expect(good.map(\.name) == ["Music", "Swift"])
    }

    @Test func pagesFollowEachOther() throws {
        var pages: [[String]] = []

        var page = try context.fetch(Article.self).sorted(by: \.rating, .descending)
            .then(by: \.title).limit(2).all()
        while let last = page.last {
            pages.append(page.map(\.title))
            page = try context.fetch(Article.self).sorted(by: \.rating, .descending)
                .then(by: \.title).after(last).limit(2).all()
        }

        #expect(pages == [["Scales", "Sound"], ["Sendable", "Macros"], ["Silence"]])
    }

    @Test func sumsAndGroupsNeedNoObjects() throws {
        let best = try context.fetch(Article.self).max(\.rating)
        let average = try context.fetch(Article.self).average(\.rating)
        let ratings = try context.fetch(Article.self).distinct(\.rating)
        let pairs = try context.fetch(Article.self).values(of: \.title, \.rating)
        let perNotebook = try context.fetch(Article.self).grouped(by: \.notebook?.name) { group in
            (count: group.count, best: try group.max(\.rating))
        }

        #expect(best == 5)
        #expect(average == 3)
        #expect(ratings == [1, 2, 3, 4, 5])
        #expect(pairs.map { $0.1 }.max() == 5)
        #expect(perNotebook.map(\.key) == [nil, "Music", "Swift"])
        #expect(perNotebook.map(\.value.count) == [1, 2, 2])
        #expect(perNotebook.map(\.value.best) == [1, 5, 3])

        let explanation = try context.fetch(Article.self) { $0.title.contains("x") }.explain()

        #expect(explanation == "look at all 5 records of Article\ntest: title contains \"x\"")

        let ofTitles = try context.fetch(Article.self).explain(valuesOf: \.title)

        #expect(ofTitles.hasSuffix("the values are those of the records"))
    }

    @Test func aStoreAnswersWithoutAContext() async throws {
        var titles: [String] = []

        for try await article in store.fetch(Article.self).sorted(by: \.title).stream() {
            titles.append(article.title)
        }
        let before = try store.view(asOf: first.revision).fetch(Article.self).count()

        #expect(titles == ["Macros", "Scales", "Sendable", "Silence", "Sound"])
        #expect(before == 5)

        let raised = try await store.update(Article.self, "raise", author: "lala") {
            $0.rating == 2
        } set: {
            $0.rating = 3
        }

        #expect(raised == 1)
        #expect(try store.fetch(Article.self) { $0.rating == 3 }.count() == 2)
    }
}

import Stet
import StetTestSupport
import Testing

private enum Version1 {
    @Model final class Person {
        var first: String
        var last: String

        init(first: String, last: String) {
            self.first = first
            self.last = last
        }
    }
}

@Model private final class Person {
    var name: String = ""

    init(name: String) { self.name = name }
}

private enum Later {
    @Model(originalName: "Article") final class Post {
        @Attribute(.notEmpty, originalName: "title") var headline: String
        var isDraft: Bool = false
        var notebook: Notebook?

        init(headline: String) { self.headline = headline }
    }

    @Model final class Notebook {
        var name: String

        init(name: String) { self.name = name }
    }
}

/// The code of ChangingModels.md.
@Suite struct ChangingModelsTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    @Test func changesWithoutCodeAreMigratedWhenTheStoreIsOpened() throws {
        typealias Notebook = Later.Notebook
        typealias Post = Later.Post
        let desk = try Desk()
        let path = desk.store.path
        let title = desk.article.title
        desk.store.close()

        var configuration = Store.Configuration()
        configuration.removedModels = ["Tag"]
        let outline = try Store.plan(
            at: path, for: Notebook.self, Post.self, configuration: configuration)
        print(outline)  // a line for each step, and for each reason why it is not possible

        #expect(outline.isPossible, "\(outline)")
        let store = try Store.open(
            at: path, for: [Notebook.self, Post.self], configuration: configuration)
        let post = try #require(try store.context().fetch(Post.self).first())
        #expect(post.headline == title)
        #expect(!post.isDraft)
        #expect(post.notebook != nil)
        store.close()
    }

    @Test func aStepSeesObjectsInBothVersions() throws {
        let before = try Store.open(at: path, for: Version1.Person.self)
        let context = before.context()
        context.insert(Version1.Person(first: "Ada", last: "Lovelace"))
        try context.save()
        before.close()

        let plan = MigrationPlan(
            .version(Version1.Person.self),
            .version(Person.self) { step in
                try step.forEach(Version1.Person.self, Person.self) { old, new in
                    new.name = "\(old.first) \(old.last)"
                }
            })
        let store = try Store.open(at: path, migrating: plan)

        #expect(try store.context().fetch(Person.self).all().map(\.name) == ["Ada Lovelace"])
        store.close()
    }
}

import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

private enum Version1 {
    @Model final class Note {
        var headline: String
        var stars: Int16
        var shelf: Shelf?
        var tags: ToMany<Tag>

        init(headline: String, stars: Int16) {
            self.headline = headline
            self.stars = stars
        }
    }

    @Model final class Shelf {
        @Attribute(.unique) var name: String
        var notes: OrderedToMany<Note>

        init(name: String) { self.name = name }
    }

    @Model final class Tag {
        var name: String

        init(name: String) { self.name = name }
    }
}

private enum Version2 {
    enum Mood: Int, RawAttribute { case calm = 1, merry = 2 }

    @Model(originalName: "Note") final class Article {
        var mood: Mood = .merry
        @Attribute(.indexed, originalName: "headline") var title: String
        @Attribute(.range(0...5)) var stars: Int
        var body: String?
        var words: [String] = ["new"]
        @Relationship(originalName: "shelf") var notebook: Shelf?
        @Relationship(inverse: \Tag.articles) var tags: ToMany<Tag>

        init(title: String) {
            self.title = title
            stars = 0
        }
    }

    @Model final class Shelf {
        @Attribute(.unique) var name: String
        @Relationship(originalName: "notes") var articles: OrderedToMany<Article>

        init(name: String) { self.name = name }
    }

    @Model final class Tag {
        var name: String
        var articles: ToMany<Article>

        init(name: String) { self.name = name }
    }
}

@Suite struct MigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    /// A store of the first version; its commits.
    @discardableResult
    private func make() throws -> Revision {
        let store = try Store.open(
            at: path, for: Version1.Note.self, Version1.Shelf.self, Version1.Tag.self)
        defer { store.close() }
        let context = store.context(author: "lala")
        let shelf = Version1.Shelf(name: "A")
        let tags = ["red", "blue"].map(Version1.Tag.init)
        for number in 1...3 {
            let note = Version1.Note(headline: "note \(number)", stars: Int16(number))
            note.shelf = number == 3 ? nil : shelf
            context.insert(note)
            shelf.notes.insert(note, at: 0)
            if number < 3 { for tag in tags[..<number] { note.tags.append(tag) } }
        }
        try context.save("first")
        let note = try #require(try context.fetch(Version1.Note.self).all().first { $0.stars == 1 })
        note.headline = "changed"
        try context.save("second")
        return try store.revision()
    }

    private func open() throws -> Store {
        try Store.open(
            at: path, for: Version2.Article.self, Version2.Shelf.self, Version2.Tag.self)
    }

    @Test("C10 a changed model opens the store, and its values are there")
    func aChangedModelOpensTheStore() throws {
        let revision = try make()
        let store = try open()
        let context = store.context()
        let articles = try context.fetch(Version2.Article.self).all().sorted { $0.stars < $1.stars }
        #expect(articles.map(\.title) == ["changed", "note 2", "note 3"])
        #expect(articles.map(\.stars) == [1, 2, 3])
        #expect(articles.allSatisfy { $0.mood == .merry && $0.words == ["new"] && $0.body == nil })
        let shelf = try #require(try context.fetch(Version2.Shelf.self).first())
        #expect(shelf.articles.map(\.title) == ["note 3", "note 2", "changed"])
        #expect(articles[0].tags.map(\.name) == ["red"])
        let red = try #require(
            try context.fetch(Version2.Tag.self).all().first { $0.name == "red" })
        #expect(Set(red.articles.map(\.title)) == ["changed", "note 2"])
        articles[0].body = "text"
        articles[1].notebook = nil
        let commit = try #require(try context.save("third"))
        #expect(commit.revision.number == revision.number + 2)
        #expect(try store.verify().problems == [])
        let causes = try store.journal().map(\.cause)
        #expect(causes == [.edit, .edit, .migration, .edit])
    }

    @Test func whatWasBeforeAMigrationIsShownAsThePresentModelsHaveIt() throws {
        try make()
        let store = try open()
        let context = store.context()
        for article in try context.fetch(Version2.Article.self).all() { article.title += "!" }
        try context.save("third")
        let first = try store.view(asOf: 1)
        let articles = first.fetch(Version2.Article.self)
        #expect(
            try articles.sorted(by: \.stars).all().map(\.title)
                == ["note 1", "note 2", "note 3"])
        #expect(try articles.filter { $0.title.hasPrefix("note") }.count() == 3)
        #expect(try articles.filter { $0.title == "changed" }.exists() == false)
        #expect(try articles.filter { $0.notebook?.name == "A" }.count() == 2)
        #expect(try articles.filter { $0.tags.any { $0.name == "blue" } }.count() == 1)
        let shelf = try #require(try first.fetch(Version2.Shelf.self).first())
        #expect(
            try first.members(of: shelf.id, in: Version2.Shelf.self, \.articles).map(\.title)
                == ["note 3", "note 2", "note 1"])
        let second = try store.view(asOf: 2).fetch(Version2.Article.self)
        #expect(try second.filter { $0.title == "changed" }.all().map(\.stars) == [1])
        #expect(try store.fetch(Version2.Article.self) { $0.title == "changed!" }.count() == 1)
    }

    @Test func theJournalOfEarlierVersionsIsToldInBothLanguages() throws {
        try make()
        let store = try open()
        let commits = try store.journal()
        let changes = commits[1].changes(of: Version2.Article.self)
        try #require(changes.count == 1)
        #expect(changes[0].changedProperties == ["title"])
        #expect(changes[0].old[\.title] == "note 1")
        #expect(changes[0].new[\.title] == "changed")
        let inserted = commits[0].changes(of: Version2.Article.self).compactMap(\.new.snapshot)
        #expect(Set(inserted.map(\.title)) == ["note 1", "note 2", "note 3"])
        #expect(inserted.allSatisfy { $0.mood == .merry && $0.words == ["new"] })
        // The journal keeps the commit as it was written.
        #expect(commits[1].changeSet.changes.map(\.entity) == ["Note"])
        #expect(commits[1].changeSet.changes[0]["headline"]?.new == .string("changed"))
        #expect(commits[2].changes(of: Version2.Article.self) == [])
    }

    @Test func thePlanTellsWhatOpeningDoesAndDoesNothing() throws {
        try make()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let models: [any Model.Type] = [
            Version2.Article.self, Version2.Shelf.self, Version2.Tag.self,
        ]
        let plan = try Store.plan(at: path, for: models)
        #expect(
            plan.steps == [
                "renames the entity Note to Article",
                "adds Article.mood, int, as 2", "renames Article.headline to title",
                "widens Article.stars from int16 to int", "adds Article.body, string?, as nil",
                "adds Article.words, [string], as [\"new\"]",
                "renames Article.shelf to notebook",
                "renames the links Note.tags to Article.tags",
                "renames the links Shelf.notes to Shelf.articles",
                "builds the index (title) of Article",
            ])
        #expect(plan.isPossible)
        #expect(plan.description.split(separator: "\n").count == 10)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
        let store = try open()
        #expect(
            try store.plan(for: Version2.Article.self, Version2.Shelf.self, Version2.Tag.self)
                .description == "nothing to migrate")
        let back = try store.plan(
            for: Version1.Note.self, Version1.Shelf.self, Version1.Tag.self)
        #expect(!back.isPossible)
        #expect(back.problems.count == 1, "\(back)")
        let missing = try #require(throws: StoreError.self) {
            try Store.plan(at: directory.file("none"), for: models)
        }
        #expect(missing.code == .notFound)
    }

    @Test("C10 an earlier version is told that the store has been migrated")
    func anEarlierVersionIsRefused() throws {
        try make()
        try open().close()
        let error = try #require(throws: StoreError.self) { try make() }
        #expect(error.code == .modelMismatch)
        #expect(error.message.contains("was migrated from these models to later ones"))
    }

    // MARK: Other processes

    @Test func whoHasTheStoreOpenWithEarlierModelsFailsCleanly() async throws {
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        let (context, notebook) = try edited(store)
        var commits = store.commits.makeAsyncIterator()
        let child = try RunningChild(["migrate", path])
        try #require(child.lines() == ["migrating", "migrated 2"])
        do {
            _ = try await commits.next()
            Issue.record("the observer does not hear of it")
        } catch let error as StoreError {
            #expect(error.code == .modelMismatch)
        }
        for call in calls(store, context) {
            let error = #expect(throws: StoreError.self) { try call() }
            #expect(error?.code == .modelMismatch)
        }
        #expect(notebook.name == "early")
        store.close()
        #expect(try ChildProcess.run(["verify", path]).lines == ["ok schema 2 1 objects"])
    }

    /// A context with a saved notebook that is edited.
    private func edited(_ store: Store) throws -> (ManagedContext, Notebook) {
        let context = store.context()
        let notebook = Notebook(name: "early")
        context.insert(notebook)
        try context.save()
        notebook.name = "late"
        return (context, notebook)
    }

    /// Returns the calls that read or write the store.
    private func calls(_ store: Store, _ context: ManagedContext) -> [() throws -> Void] {
        [
            { _ = try context.fetch(Article.self).all() }, { try context.save() },
            { try context.refresh() }, { _ = try store.revision() }, { _ = try store.journal() },
            { _ = try store.verify() },
        ]
    }

    @Test func ofTwoProcessesThatMigrateOneWinsAndBothOpenTheStore() throws {
        for _ in 0..<5 {
            let directory = TemporaryDirectory()
            let path = directory.file()
            #expect(try ChildProcess.run(["write", path, "200"]).lines.count == 200)
            let children = try (0..<3).map { _ in try RunningChild(["migrate", path]) }
            for child in children {
                #expect(child.lines() == ["migrating", "migrated 2"])
                #expect(child.status() == 0)
            }
            let lines = try ChildProcess.run(["verify", path]).lines
            try #require(lines.count == 1)
            #expect(lines[0].hasPrefix("ok schema 2 "))
        }
    }

    @Test func aKillOrAPowerCutAnywhereLeavesTheOldOrTheNewStore() throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let log = directory.file("trace")
        #expect(try ChildProcess.run(["write", path, "300"]).status == 0)
        let objects = try #require(try ChildProcess.run(["verify", path]).lines.first)
            .split(separator: " ").suffix(2).joined(separator: " ")
        let initial = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let outcome = try ChildProcess.run(
            ["migrate", path],
            environment: [
                "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
                "STET_RECORD_FILE": path, "STET_RECORD_LOG": log,
            ])
        #expect(outcome.lines == ["migrating", "migrated 2"])
        let trace = try WriteTrace(contentsOf: log)
        let count = repetitions(200)
        let images = PowerCutImages(trace, seed: 3, count: count, initial: initial)
        var results: [String: Int] = [:]
        for index in 0..<count {
            let image = directory.file("image-\(index)")
            let acknowledged = try images.write(index, to: image).acknowledged
            let lines = try ChildProcess.run(["verify", image]).lines
            #expect(lines.count == 1)
            results[lines[0], default: 0] += 1
            if acknowledged.contains(where: { $0.hasPrefix("migrated") }) {
                #expect(lines == ["ok schema 2 \(objects)"])
            }
            // The new version opens the image in either case.
            if index % 20 == 0 {
                #expect(
                    try ChildProcess.run(["migrate", image]).lines == ["migrating", "migrated 2"])
            }
            for suffix in ["", "-lock"] {
                try? FileManager.default.removeItem(atPath: image + suffix)
            }
        }
        #expect(
            Set(results.keys) == ["ok schema 1 \(objects)", "ok schema 2 \(objects)"],
            "\(results)")
    }
}

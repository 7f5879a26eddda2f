import Stet
import StetTestModels
import Testing

/// Snapshots of objects that other contexts change before they are restored.
@MainActor @Suite struct SnapshotMergeTests {
    /// Objects of two models, edited in turn, so that a capture has many parts.
    @MainActor private struct Library {
        let desk: Desk
        let context: ManagedContext
        let other: ManagedContext
        let articles: [Article]
        let notebooks: [Notebook]

        init() throws {
            desk = try Desk()
            context = desk.context
            context.mergePolicy = .mergeStoreWins
            notebooks = (0..<40).map { Notebook(name: "notebook \($0)") }
            articles = (0..<120).map { [notebooks] in
                Article(title: "article \($0)", notebook: notebooks[$0 % 40])
            }
            for article in articles { context.insert(article) }
            try context.save()
            other = desk.store.context(author: "theirs")
        }

        func editMine() {
            for article in articles[..<70] { article.body = "mine \(article.title)" }
            for number in 0..<40 {
                notebooks[number].name = "mine \(number)"
                articles[70 + number].body = "mine \(articles[70 + number].title)"
            }
        }

        /// Saves another rating of each third article.
        func saveTheirs(rating: Int) throws {
            try other.refresh()
            for number in stride(from: 0, to: 120, by: 3) {
                let article = try #require(
                    try other.object(Article.self, id: articles[number].id))
                article.rating = rating
            }
            try other.save()
        }

        var shown: [String] {
            articles.map { "\($0.title) \($0.body ?? "-") \($0.rating) \($0.hasChanges)" }
                + notebooks.map { "\($0.name) \($0.hasChanges)" }
        }

        /// The state of all objects once both sides are saved.
        func merged(rating: Int, edited: Int = 110) -> [String] {
            let articles = (0..<120).map { number in
                let body = number < edited ? "mine article \(number)" : "-"
                return "article \(number) \(body) \(number % 3 == 0 ? rating : 0) false"
            }
            return articles + (0..<40).map { "mine \($0) false" }
        }
    }

    @Test func aRestoredSnapshotMergesWithWhatOthersHaveSaved() throws {
        let library = try Library()
        library.editMine()
        let snapshot = library.context.snapshot()
        let shown = library.shown
        try library.saveTheirs(rating: 4)
        for article in library.articles { article.body = "later" }
        for notebook in library.notebooks { notebook.name = "later" }
        library.context.restore(snapshot)
        #expect(library.shown == shown)
        try library.context.save()
        #expect(library.shown == library.merged(rating: 4))
        #expect(try library.desk.store.verify().problems == [])
    }

    /// The save moves the context before it is refused: what they rated 5 needs a body.
    @Test func aRefusedSaveThatHasMergedRestoresEachObjectAndMergesAgain() throws {
        let library = try Library()
        for article in library.articles { article.body = "first" }
        try library.context.save()
        library.editMine()
        for article in library.articles[110...] { article.body = "mine \(article.title)" }
        let needed = library.articles[99]
        needed.body = nil
        let shown = library.shown
        for _ in 0..<2 {
            try library.saveTheirs(rating: 4)
            try library.saveTheirs(rating: 5)
            #expect(throws: ValidationError.self) {
                try library.context.save(onFailure: .keepPending)
            }
            #expect(library.shown == shown)
        }
        needed.body = "mine article 99"
        try library.context.save()
        #expect(library.shown == library.merged(rating: 5, edited: 120))
        #expect(try library.desk.store.verify().problems == [])
    }

    /// The objects get the revision of the save's commit after the snapshot was taken.
    @Test func aSnapshotTakenDuringASaveMergesWithWhatOthersHaveSaved() async throws {
        let library = try Library()
        library.editMine()
        library.desk.hold()
        let save = await library.desk.send()
        for number in 0..<40 {
            library.notebooks[number].name += "!"
            library.articles[80 + number].body = "mine article \(80 + number)"
        }
        let snapshot = library.context.snapshot()
        library.desk.releaseNow()
        #expect(try await save.value?.changeCount == 150)
        let count = library.context.changes.changes.count
        for article in library.articles { article.body = "later" }
        library.context.restore(snapshot)
        #expect(library.context.changes.changes.count == count)
        #expect(library.articles.filter { $0.body == "later" }.isEmpty)
        try library.saveTheirs(rating: 4)
        try library.desk.saveNow(nil, library.context)
        #expect(library.articles.filter { $0.rating == 4 }.count == 40)
        for number in 0..<40 {
            #expect(library.notebooks[number].name == "mine \(number)!")
        }
        for article in library.articles { #expect(article.body == "mine \(article.title)") }
        #expect(try library.desk.store.verify().problems == [])
    }
}

package import Stet
import StetTestSupport

/// Makes random commits on objects that other savers change as well: inserts, updates and deletes
/// of a dozen shared notebooks, and of articles that refer to them.
package struct RandomSaver {
    private let store: Store
    private var generator: SeededGenerator
    private let author: String
    /// The articles that it has inserted most recently.
    private var articles: [ObjectID] = []

    /// Creates a saver, which does the same for the same seed and the same store.
    package init(_ store: Store, seed: UInt64) {
        self.store = store
        generator = SeededGenerator(seed: seed)
        author = "saver \(seed)"
    }

    /// Saves until `count` commits are made, and repeats saves that conflict with others.
    package mutating func save(_ count: Int) throws {
        var made = 0
        while made < count {
            let context = store.context(author: author)
            let notebooks = try context.fetch(Notebook.self).all()
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                try edit(context, notebooks)
            }
            do {
                if try context.save("edit \(made)") != nil { made += 1 }
            } catch is ConflictError {
                continue
            }
        }
    }

    private mutating func edit(_ context: ManagedContext, _ notebooks: [Notebook]) throws {
        let notebook = notebooks.randomElement(using: &generator).flatMap {
            $0.isDeleted ? nil : $0
        }
        let article = try articles.randomElement(using: &generator)
            .flatMap { try context.object(Article.self, id: $0) }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0 where notebooks.count < 12: context.insert(Notebook(name: word()))
        case 0...4:
            let article = Article(title: word(), notebook: notebook)
            context.insert(article)
            articles = articles.suffix(20) + [article.id]
        case 5: article.map { context.delete($0) }
        case 6 where Int.random(in: 0..<20, using: &generator) == 0:
            notebook.map { context.delete($0) }
        case 6, 7: notebook?.name = word()
        case 8:
            article?.notebook = notebook
            article?.rating = Int.random(in: 0...4, using: &generator)
        default:
            let length = Int.random(in: 0...400, using: &generator)
            article?.body = length < 40 ? nil : String(repeating: word(), count: length / 8)
        }
    }

    private mutating func word() -> String {
        let letters = "abcdefghijklmnop\u{e9}\u{1F600}"
        return String((0..<6).map { _ in letters.randomElement(using: &generator) ?? "a" })
    }
}

import Stet
import StetTestSupport

/// Random edits of a few objects by a few authors.
final class RandomLedger {
    typealias Notebook = Ledger.Notebook
    typealias Article = Ledger.Article
    typealias Tag = Ledger.Tag

    let desk: LedgerDesk
    var random: SeededGenerator

    init(_ seed: UInt64) throws {
        desk = try LedgerDesk()
        random = SeededGenerator(seed: 0x57e7_4500, stream: Int(seed))
        try edits("x", 12)
    }

    func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private func any<M: Model>(_ type: M.Type, _ context: ManagedContext) throws -> M? {
        try context.fetch(type).all().sorted { $0.id < $1.id }.randomElement(using: &random)
    }

    /// One commit; nil when it came to nothing, or was refused.
    @discardableResult
    func edit(
        _ author: String?, scope: String? = nil, group: UndoGroup? = nil, steps: Int = 3
    ) throws -> Commit? {
        let context = desk.store.context(author: author, scope: scope)
        context.undoGroup = group
        for _ in 0...number(steps) { try step(context) }
        do {
            return try context.save("\(author ?? "nobody") \(number(1_000))")
        } catch is ValidationError {
            return nil
        }
    }

    func edits(_ author: String?, _ count: Int) throws {
        for _ in 0..<count { try edit(author) }
    }

    private func step(_ context: ManagedContext) throws {
        let article = try any(Article.self, context)
        let notebook = try any(Notebook.self, context)
        switch number(12) {
        case 0: context.insert(Notebook(name: "n\(number(8))"))
        case 1, 2: context.insert(Article(title: "t\(number(9))", notebook: notebook))
        case 3: article?.title = "t\(number(9))"
        case 4: article?.rating = number(6)
        case 5: article?.notebook = notebook
        case 6: article?.next = try any(Article.self, context)
        case 7: notebook?.colour = number(2) == 0 ? nil : "c\(number(3))"
        case 8:
            guard let article, let notebook else { return }
            let count = notebook.shelf.count - (notebook.shelf.contains(article) ? 1 : 0)
            notebook.shelf.insert(article, at: number(count + 1))
        case 9:
            guard let notebook, notebook.shelf.count > 1 else { return }
            let count = notebook.shelf.count
            notebook.shelf.move(from: number(count), to: number(count))
        case 10:
            guard let article else { return }
            if let tag = article.tags.first {
                article.tags.remove(tag)
            } else {
                article.tags.append(try any(Tag.self, context) ?? Tag(name: "tag"))
            }
        default:
            if number(4) == 0, let notebook {
                context.delete(notebook)
            } else if let article {
                context.delete(article)
            }
        }
    }
}

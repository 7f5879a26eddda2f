import Foundation
import Stet

@Model final class Notebook {
    @Attribute(.trimmed, .length(1...25)) var name: String
    init(name: String) { self.name = name }
}

@Model final class Article {
    @Attribute(.trimmed, .length(1...25)) var title: String
    @Attribute(.range(0...5)) var rating: Int = 0
    var notebook: Notebook?
    init(title: String, notebook: Notebook? = nil) {
        self.title = title
        self.notebook = notebook
    }
}

let store = try Store.open(at: "notes.stet", for: Notebook.self, Article.self)
let context = store.context(author: "lala")
let article = Article(title: "Macros", notebook: Notebook(name: "  Swift "))
context.insert(article)  // and the notebook, to which it refers
try context.save("first article")

article.rating = 4
try context.save("rate")
let best = try context.fetch(Article.self) { $0.rating >= 3 }.sorted(by: \.title).all()
print(best.map(\.title), article.notebook?.name ?? "none")  // the name is trimmed

try store.undo(author: "lala")  // undoes the last save, even one made by an earlier process
try context.refresh()
print(article.rating)

do {
    try context.edit("spoil") {
        article.rating = 9
        article.notebook?.name = ""
        article.notebook = nil
    }
} catch let error as ValidationError {
    print(error)  // everything that is wrong, one line each
}
print(article.rating, article.notebook?.name ?? "none")  // nothing to restore by hand

article.rating = 5
if let commit = try context.save("rate again") {
    for change in commit.changes(of: Article.self) {
        print("rating:", change.old[\.rating] ?? 0, "→", change.new[\.rating] ?? 0)
    }
}
for commit in try store.journal() { print(commit) }
print(try store.verify())

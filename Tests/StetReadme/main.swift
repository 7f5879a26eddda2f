import Foundation
import Stet

@Model final class Notebook {
    @Attribute(.trimmed, .length(1...25)) var name: String
    @Attribute(.stamped(.insert)) var created: Date
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

let notebook = Notebook(name: "  Swift ")
let article = Article(title: "Macros", notebook: notebook)
context.insert(article)  // and the notebook, which it refers to
try context.save("first article")
print(notebook.name)  // trimmed

do {
    try context.edit("spoil") {
        article.rating = 9
        article.notebook = nil
        notebook.name = ""
    }
} catch let error as ValidationError {
    print(error)  // everything that is wrong, one line each
}
print(article.rating, article.notebook?.name ?? "none")  // nothing to put back by hand

article.rating = 4
if let commit = try context.save("rate") {
    for change in commit.changes(of: Article.self) {
        print("rating:", change.old[\.rating] ?? 0, "→", change.new[\.rating] ?? 0)
    }
}
for commit in try store.journal() { print(commit) }
print(try store.verify())

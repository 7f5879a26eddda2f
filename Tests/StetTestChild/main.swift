import Stet
import StetTestSupport

let store = try Store.open(at: "/tmp/smoke.stet", for: Notebook.self, Article.self)
let context = store.context(author: "lala")
let note = Notebook(name: "  Swift ")
context.insert(note)
let article = Article(title: "one", notebook: note)
context.insert(article)
let commit = try context.save("add notebook")
print(commit as Any, note.name, note.created, article.notebook === note)
do { try context.edit("rename") { note.name = ""; article.rating = 9; article.notebook = nil } } catch { print(error) }
print(note.name, article.notebook === note, context.hasChanges)
context.delete(note)
print(try context.save("delete") as Any, article.notebook as Any)
for commit in try store.journal() { print(commit); for c in commit.changeSet.changes { print("  ", c) } }
print(try store.verify())

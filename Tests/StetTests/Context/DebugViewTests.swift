import Stet
import StetTestModels
import Testing

@Suite struct DebugViewTests {
    @Test func theTrackedGraphIsReadable() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let new = Article(title: "new")
        context.insert(new)
        article.title = "edited"
        context.delete(notebook)
        #expect(
            context.debugView.short == """
                revision 1, 3 live, 3 with changes
                Article \(article.id) edited
                Article \(new.id) inserted
                Notebook \(notebook.id) deleted, not saved
                """)
        #expect(
            context.debugView.long.hasPrefix(
                """
                revision 1, 3 live, 3 with changes
                Article \(article.id) edited
                  title: "edited" (was "Macros")
                  body: nil
                  rating: 0
                  notebook: \(notebook.id)
                  next: nil
                Article \(new.id) inserted
                  title: "new"
                """))
        #expect("\(String(reflecting: context))" == context.debugView.long)
        try context.save()
        article.title = "refused"
        notebook.name = "dead"
        #expect(
            context.debugView.short == """
                revision 2, 3 live, 1 with changes
                refused: Notebook was edited after it had been deleted
                Article \(article.id) edited
                Article \(new.id) unchanged
                Notebook \(notebook.id) deleted
                """)
    }
}

import FoundationEssentials
import Stet

extension Store {
    static func open(_ path: String, _ durability: Durability = .synced) throws -> Store {
        var configuration = Store.Configuration()
        configuration.durability = durability
        return try Store.open(
            at: path, for: Notebook.self, Article.self, configuration: configuration)
    }

    func commitNotebooks() throws {
        let context = context()
        for _ in 0..<Samples.notebookCount { context.insert(Notebook(name: "Notebook")) }
        try context.save()
    }

    /// A context, and all notebooks in it.
    func contextWithNotebooks() throws -> (context: ManagedContext, notebooks: [Notebook]) {
        let context = context()
        return (context, try context.fetch(Notebook.self).all())
    }

    func totals() throws -> Totals {
        var totals = Totals()
        for article in try context().fetch(Article.self).all() {
            totals.add(article)
        }
        return totals
    }
}

extension ManagedContext {
    func insert(_ samples: ArraySlice<Sample>, into notebooks: [Notebook]) {
        for sample in samples { insert(Article(sample, in: notebooks[sample.notebook])) }
    }
}

package import FoundationEssentials
package import Stet

// The domain of all tests and examples.

@Model package final class Notebook {
    @Attribute(.trimmed, .length(1...25)) package var name: String
    @Attribute(.stamped(.insert)) package var created: Date
    @Attribute(.stamped(.update)) package var updated: Date?

    package init(name: String) { self.name = name }
}

@Model package final class Tally {
    package var title: String = ""
    @Attribute(.counter, .range(-1_000_000...1_000_000), .indexed) package var count: Int = 0
    @Attribute(.counter) package var level: Int8 = 0
    @Attribute(.stamped(.update)) package var updated: Date?

    package init() {}
}

extension ManagedContext {
    /// Saves the pending increments of counters, however often the store moves.
    package func saveIncrements() throws {
        while hasChanges {
            do {
                try save(onFailure: .keepPending)
            } catch let error as ConflictError where error.reason == .contention {}
        }
    }
}

@Model package final class Article {
    @Attribute(.trimmed, .length(1...25)) package var title: String
    package var body: String?
    @Attribute(.range(0...5)) package var rating: Int = 0
    package var notebook: Notebook?
    package var next: Article?

    package init(title: String, notebook: Notebook? = nil) {
        self.title = title
        self.notebook = notebook
    }

    package static var validators: Validators<Article> {
        Validators { validation in
            guard let new = validation.new, new.rating == 5, new.body == nil else { return }
            validation.report(\.rating, "an article rated 5 needs a body")
        }
    }
}

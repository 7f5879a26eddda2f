public import FoundationEssentials
public import Stet

// The one domain of all tests and examples.

@Model public final class Notebook {
    @Attribute(.trimmed, .length(1...25)) public var name: String
    @Attribute(.stamped(.insert)) public var created: Date
    @Attribute(.stamped(.update)) public var updated: Date?

    public init(name: String) { self.name = name }
}

@Model public final class Article {
    @Attribute(.trimmed, .length(1...25)) public var title: String
    public var body: String?
    @Attribute(.range(0...5)) public var rating: Int = 0
    public var notebook: Notebook?
    public var next: Article?

    public init(title: String, notebook: Notebook? = nil) {
        self.title = title
        self.notebook = notebook
    }

    public static var validators: Validators<Article> {
        Validators { validation in
            guard let new = validation.new, new.rating == 5, new.body == nil else { return }
            validation.report(\.rating, "an article rated 5 needs a body")
        }
    }
}

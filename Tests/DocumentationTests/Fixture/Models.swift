import Foundation
import Stet

// The models of the documentation; the pages show these lines, and SourceTests compares them.

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

extension Article {
    static var validators: Validators<Article> {
        Validators { validation in
            guard let new = validation.new, new.rating == 5, new.notebook == nil else { return }
            validation.report(\.rating, "an article rated 5 needs a notebook")
        }
    }
}

enum Visibility: String, RawAttribute { case everyone, team }

struct Source: CodableAttribute {
    var site: String
    var pages: [Int] = []
}

@Model(.observable) final class Tag {
    var name: String
    var slug: String = ""
    var visibility: Visibility = .everyone
    var source: Source?
    init(name: String) { self.name = name }
}

@Model final class Page {
    var title: String
    @Attribute(.counter, .range(0...)) var views: Int = 0
    init(title: String) { self.title = title }
}

extension Tag {
    func willSave() {
        let expected = name.lowercased()
        if slug != expected { slug = expected }
    }
}

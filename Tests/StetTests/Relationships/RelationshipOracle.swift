/// The expected relationships of the shelf: plain values, in which objects are numbers.
///
/// It does not use links, ends or indexes. Each rule is written as its sentence says it.
struct RelationshipOracle: Equatable {
    struct Notebook: Equatable {
        var readingList: [Int] = []
    }

    struct Article: Equatable {
        var title: String
        var notebook: Int?
        var tags: Set<Int> = []
        var sources: [Int] = []
    }

    struct Note: Equatable {
        var notebook: Int?
        /// When it was saved last.
        var savedNotebook: Int?
        var isSaved = false
    }

    struct Cover: Equatable {
        var notebook: Int?
        var artist: Int?
    }

    /// The existing objects, without deleted ones.
    var notebooks: [Int: Notebook] = [:]
    var articles: [Int: Article] = [:]
    var tags: Set<Int> = []
    /// The slugs of tags, no two of which are equal.
    var slugs: [Int: String] = [:]
    var savedSlugs: [Int: String] = [:]
    var notes: [Int: Note] = [:]
    var covers: [Int: Cover] = [:]
    /// Objects that are deleted and not saved yet, as they were.
    var deletedNotebooks: [Int: Notebook] = [:]
    var deletedTags: Set<Int> = []

    /// The reason why a save is refused.
    enum Refusal: Hashable {
        case emptyTitle(Int)
        case deniedNotebook(Int)
        case tooManyCovers(Int)
        case coverWithoutNotebook(Int)
        case takenSlug(Int)
    }

    func readers(of notebook: Int) -> [Int] { notebooks[notebook]?.readingList ?? [] }

    mutating func remove(article: Int) {
        articles[article] = nil
        for label in notebooks.keys { notebooks[label]?.readingList.removeAll { $0 == article } }
        for label in articles.keys { articles[label]?.sources.removeAll { $0 == article } }
    }

    /// Saves, and returns the reasons of a refusal; empty when the save succeeds.
    mutating func save() -> Set<Refusal> {
        var next = self
        for notebook in deletedNotebooks.keys {
            // cascade
            for (label, article) in articles where article.notebook == notebook {
                next.remove(article: label)
            }
            // nullify, which leaves orphans
            for (label, note) in notes where note.notebook == notebook {
                next.notes[label]?.notebook = nil
            }
        }
        for (label, note) in next.notes
        where note.notebook == nil && note.savedNotebook != nil && note.isSaved {
            next.notes[label] = nil
        }
        for tag in deletedTags {
            next.slugs[tag] = nil
            for label in next.articles.keys { next.articles[label]?.tags.remove(tag) }
            for (label, cover) in next.covers where cover.artist == tag {
                next.covers[label]?.artist = nil
            }
        }
        next.deletedNotebooks = [:]
        next.deletedTags = []
        var refusals: Set<Refusal> = []
        for (label, article) in next.articles where article.title.isEmpty {
            refusals.insert(.emptyTitle(label))
        }
        for (label, cover) in next.covers {
            if let notebook = cover.notebook {
                if deletedNotebooks[notebook] != nil { refusals.insert(.deniedNotebook(notebook)) }
            } else {
                refusals.insert(.coverWithoutNotebook(label))
            }
        }
        for (tag, slug) in next.slugs where slug != savedSlugs[tag] {
            if next.slugs.contains(where: { $0.key != tag && $0.value == slug }) {
                refusals.insert(.takenSlug(tag))
            }
        }
        for label in next.notebooks.keys
        where next.covers.values.count(where: { $0.notebook == label }) > 3 {
            refusals.insert(.tooManyCovers(label))
        }
        guard refusals.isEmpty else { return refusals }
        for label in next.notes.keys {
            let owner = next.notes[label]?.notebook
            next.notes[label]?.isSaved = true
            next.notes[label]?.savedNotebook = owner
        }
        next.savedSlugs = next.slugs
        self = next
        return []
    }
}

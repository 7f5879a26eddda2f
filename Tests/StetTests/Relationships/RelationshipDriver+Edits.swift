import Stet
import StetTestSupport

// The random edits of the driver, to the objects and to the oracle.

extension RelationshipDriver {
    mutating func edit() {
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1: editTags()
        case 2, 3: editSources()
        case 4, 5: editReadingList()
        case 6: editArticles()
        case 7: editNotes()
        default: editCover()
        }
    }

    private mutating func editTags() {
        guard let label = pick(oracle.articles.keys), let article = objects.articles[label],
            let other = pick(oracle.tags), let tag = objects.tags[other]
        else { return }
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            article.tags.append(tag)
            oracle.articles[label]?.tags.insert(other)
        case 1:
            tag.articles.append(article)
            oracle.articles[label]?.tags.insert(other)
        case 2:
            article.tags.remove(tag)
            oracle.articles[label]?.tags.remove(other)
        case 3:
            tag.articles.removeAll()
            for label in oracle.articles.keys { oracle.articles[label]?.tags.remove(other) }
        default:
            let chosen = oracle.tags.filter { _ in Bool.random(using: &random) }.sorted()
            article.tags = ToMany(chosen.compactMap { objects.tags[$0] })
            oracle.articles[label]?.tags = Set(chosen)
        }
    }

    private mutating func editSources() {
        guard let label = pick(oracle.articles.keys), let article = objects.articles[label],
            let other = pick(oracle.articles.keys), let source = objects.articles[other],
            var list = oracle.articles[label]?.sources
        else { return }
        change(&list, article.sources, other, source)
        if Int.random(in: 0..<5, using: &random) == 0 {
            list.shuffle(using: &random)
            article.sources = OrderedToMany(list.compactMap { objects.articles[$0] })
        }
        oracle.articles[label]?.sources = list
    }

    private mutating func editReadingList() {
        guard let label = pick(oracle.notebooks.keys), let notebook = objects.notebooks[label],
            let other = pick(oracle.articles.keys), let article = objects.articles[other]
        else { return }
        if Int.random(in: 0..<6, using: &random) == 0 {
            article.readingList = nil
            for label in oracle.notebooks.keys {
                oracle.notebooks[label]?.readingList.removeAll { $0 == other }
            }
            return
        }
        var list = oracle.readers(of: label)
        change(&list, notebook.readingList, other, article)
        if list.contains(other) {
            for label in oracle.notebooks.keys {
                oracle.notebooks[label]?.readingList.removeAll { $0 == other }
            }
        }
        oracle.notebooks[label]?.readingList = list
    }

    /// Changes an ordered relationship as it changes an array.
    private mutating func change(
        _ list: inout [Int], _ members: OrderedToMany<Shelf.Article>, _ label: Int,
        _ object: Shelf.Article
    ) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            members.append(object)
            if !list.contains(label) { list.append(label) }
        case 1:
            list.removeAll { $0 == label }
            let index = Int.random(in: 0...list.count, using: &random)
            members.insert(object, at: index)
            list.insert(label, at: index)
        case 2:
            members.remove(object)
            list.removeAll { $0 == label }
        default:
            guard list.count > 1 else { return }
            let index = Int.random(in: 0..<list.count, using: &random)
            let newIndex = Int.random(in: 0..<list.count, using: &random)
            members.move(from: index, to: newIndex)
            list.insert(list.remove(at: index), at: newIndex)
        }
    }

    private mutating func editArticles() {
        guard let label = pick(oracle.articles.keys), let article = objects.articles[label] else {
            return
        }
        let owner = pick(oracle.notebooks.keys)
        switch (Int.random(in: 0..<3, using: &random), owner.flatMap { objects.notebooks[$0] }) {
        case (0, let notebook?):
            notebook.articles.append(article)
            oracle.articles[label]?.notebook = owner
        case (1, let notebook):
            article.notebook = notebook
            oracle.articles[label]?.notebook = owner
        case (_, let notebook?):
            notebook.articles.remove(article)
            if oracle.articles[label]?.notebook == owner { oracle.articles[label]?.notebook = nil }
        default: break
        }
    }

    private mutating func editNotes() {
        guard let label = pick(oracle.notes.keys), let note = objects.notes[label] else { return }
        let owner = Int.random(in: 0..<3, using: &random) == 0 ? nil : pick(oracle.notebooks.keys)
        note.notebook = owner.flatMap { objects.notebooks[$0] }
        oracle.notes[label]?.notebook = owner
    }

    private mutating func editCover() {
        guard let label = pick(oracle.covers.keys), let cover = objects.covers[label] else {
            return
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            let owner =
                Int.random(in: 0..<6, using: &random) == 0 ? nil : pick(oracle.notebooks.keys)
            cover.notebook = owner.flatMap { objects.notebooks[$0] }
            oracle.covers[label]?.notebook = owner
        } else {
            let artist = pick(oracle.tags)
            cover.artist = artist.flatMap { objects.tags[$0] }
            oracle.covers[label]?.artist = artist
        }
    }

    mutating func editSlug() {
        guard let label = pick(oracle.tags), let tag = objects.tags[label] else { return }
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            tag.slug = nil
            oracle.slugs[label] = nil
        case 1:
            // Two objects may exchange their unique values in one save.
            guard let other = pick(oracle.tags), other != label,
                let second = objects.tags[other]
            else { return }
            swap(&tag.slug, &second.slug)
            (oracle.slugs[label], oracle.slugs[other]) =
                (oracle.slugs[other], oracle.slugs[label])
        default:
            let slug = "slug \(Int.random(in: 0..<8, using: &random))"
            tag.slug = slug
            oracle.slugs[label] = slug
        }
    }

    mutating func editTitle() {
        guard let label = pick(oracle.articles.keys) else { return }
        let title = Int.random(in: 0..<3, using: &random) == 0 ? "" : "title of \(label)"
        objects.articles[label]?.title = title
        oracle.articles[label]?.title = title
    }

    /// Deletes what the oracle can follow before the save: members see it at once.
    mutating func delete() {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            guard let label = pick(oracle.notebooks.keys), let notebook = objects.notebooks[label]
            else { return }
            // References to a deleted notebook show it until the save, and are not compared.
            oracle.deletedNotebooks[label] = oracle.notebooks.removeValue(forKey: label)
            context.delete(notebook)
        case 1:
            guard let label = pick(oracle.tags), let tag = objects.tags[label] else { return }
            oracle.tags.remove(label)
            oracle.deletedTags.insert(label)
            context.delete(tag)
        case 2:
            guard let label = pick(oracle.covers.keys), let cover = objects.covers[label],
                oracle.covers[label]?.artist == nil
            else { return }
            oracle.covers[label] = nil
            context.delete(cover)
        default:
            guard let label = pick(oracle.articles.keys), let article = objects.articles[label]
            else { return }
            oracle.remove(article: label)
            context.delete(article)
        }
    }
}

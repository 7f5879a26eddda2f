import Stet
import StetTestSupport
import Testing

@Model private final class Album {
    @Relationship(.orphanRemoval, inverse: \Photo.album) var photos: ToMany<Photo>
    init() {}
}

@Model private final class Photo {
    var album: Album?
    var title: String = ""
    init(_ album: Album) { self.album = album }

    func willSave() {}
}

/// Objects with a hook that the deletion of their owner makes orphans.
struct OrphansOfDeletedOwnersTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: [false, true]) func theyAreRemoved(isEdited: Bool) throws {
        let store = try Store.open(at: directory.file(), for: Album.self, Photo.self)
        let context = store.context()
        let album = Album()
        let photo = Photo(album)
        context.insert(photo)
        try context.save()
        if isEdited { photo.title = "edited" }
        context.delete(album)
        let commit = try #require(try context.save())
        #expect(photo.isDeleted)
        #expect(commit.changeSet.changes.map(\.kind) == [.delete, .delete])
    }
}

@Model private final class Author {
    var book: Book?
    var name: String = ""
    init() {}

    func willSave() { book?.title = " by \(name) " }
}

@Model private final class Book {
    @Attribute(.trimmed) var title: String = ""
    init() {}

    func willSave() {}
}

/// Edits that the hook of one object makes to another one that is pending and has a hook, too.
struct EditsOfOtherHooksTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: [false, true]) func theyAreNormalized(isAuthorFirst: Bool) throws {
        let store = try Store.open(at: directory.file(), for: Author.self, Book.self)
        let context = store.context()
        let (author, book) = (Author(), Book())
        if isAuthorFirst { context.insert(author) }
        context.insert(book)
        context.insert(author)
        author.book = book
        author.name = "Ann"
        try context.save()
        #expect(book.title == "by Ann")
    }
}

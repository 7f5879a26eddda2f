import Foundation
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

@Embedded struct SharedPlace: EmbeddedValue {
    @Attribute(.indexed) var city: String = ""
    var zip: String = ""
}

@Model final class SharedAuthor {
    var name: String = ""
    init(_ name: String) { self.name = name }
}

@Model final class SharedPage {
    @Attribute(.searchable, .indexed(.substring)) var title: String = ""
    var place: SharedPlace = SharedPlace()
    var origin: SharedPlace?
    var author: SharedAuthor?
    @Attribute(.indexed) @Derived var shout: String { title + "!" }
    @Attribute(.indexed) @Derived var authorName: String? { author?.name }

    init(_ title: String) { self.title = title }
}

/// Derived attributes, and indexes of members, words and substrings, at the nodes of a shared
/// journal.
struct SharedValueTests {
    private let journal = MemoryJournal()
    private let directory = TemporaryDirectory()
    private let one: Store
    private let other: Store
    private let page: ObjectID
    private let author: ObjectID

    init() async throws {
        let (directory, journal) = (directory, journal)
        func open(_ name: String) throws -> Store {
            try Store.open(
                at: directory.file("\(name).stet"), for: SharedPage.self, SharedAuthor.self,
                journal: journal)
        }
        one = try open("one")
        other = try open("other")
        let context = one.context(author: "ann")
        let page = SharedPage("undo the journal")
        let author = SharedAuthor("Ann")
        page.place.city = "Bern"
        page.author = author
        context.insert(page)
        try await context.save()
        self.page = page.id
        self.author = author.id
        try await other.refresh(atLeast: 1)
    }

    private func check(_ store: Store, titled word: String, in city: String, by name: String) throws
    {
        #expect(try store.fetch(SharedPage.self).matching(word).count() == 1)
        let part = String(word.dropFirst())
        #expect(try store.fetch(SharedPage.self, where: { $0.title.contains(part) }).count() == 1)
        #expect(try store.fetch(SharedPage.self, where: { $0.place.city == city }).count() == 1)
        #expect(try store.fetch(SharedPage.self, where: { $0.authorName == name }).count() == 1)
        #expect(try store.fetch(SharedPage.self, where: { $0.shout.hasSuffix("!") }).count() == 1)
        #expect(try store.verify().problems == [])
    }

    @Test func anEditOfOneNodeIsFoundAtTheOther() async throws {
        for store in [one, other] {
            try check(store, titled: "journal", in: "Bern", by: "Ann")
        }
        let context = one.context()
        let edited = try #require(try context.object(SharedPage.self, id: page))
        edited.title = "a replicated text"
        edited.place.city = "Genf"
        edited.origin = SharedPlace(city: "Uri", zip: "6460")
        try await context.save()
        // The other node changes what a derived attribute of the page reads.
        try await other.edit { context in
            try #require(try context.object(SharedAuthor.self, id: author)).name = "Eva"
        }
        for store in [one, other] {
            try await store.refresh(atLeast: 3)
            try check(store, titled: "replicated", in: "Genf", by: "Eva")
            #expect(try store.fetch(SharedPage.self).matching("journal").count() == 0)
            #expect(
                try store.fetch(SharedPage.self, where: { $0.title.contains("ournal") }).count()
                    == 0)
            #expect(
                try store.fetch(SharedPage.self, where: { $0.place.city == "Bern" }).count() == 0)
            #expect(
                try store.fetch(SharedPage.self, where: { $0.authorName == "Ann" }).count() == 0)
            #expect(
                try store.fetch(SharedPage.self, where: { $0.origin?.city == "Uri" }).count() == 1)
            #expect(try store.object(SharedPage.self, id: page)?.shout == "a replicated text!")
        }
        #expect(try one.commit(3) == other.commit(3))
    }

    @Test func editsOfDifferentMembersAtTwoNodesBothStay() async throws {
        let (mine, theirs) = (one.context(), other.context())
        theirs.mergePolicy = .mergeContextWins
        let first = try #require(try mine.object(SharedPage.self, id: page))
        let second = try #require(try theirs.object(SharedPage.self, id: page))
        first.place.city = "Genf"
        second.place.zip = "1200"
        second.title = "written elsewhere"
        try await mine.save()
        try await theirs.save()
        for store in [one, other] {
            try await store.refresh(atLeast: 3)
            let found = try #require(try store.object(SharedPage.self, id: page))
            #expect(found.place.city == "Genf")
            #expect(found.place.zip == "1200")
            try check(store, titled: "elsewhere", in: "Genf", by: "Ann")
        }
    }

    @Test func anotherNodeUndoesAnEditOfMembers() async throws {
        try await one.edit(author: "ann") { context in
            let edited = try #require(try context.object(SharedPage.self, id: page))
            edited.place.city = "Genf"
            edited.title = "another text"
        }
        try await other.refresh(atLeast: 2)
        try await other.undo(author: "ann")
        for store in [one, other] {
            try await store.refresh(atLeast: 3)
            try check(store, titled: "journal", in: "Bern", by: "Ann")
            #expect(try store.fetch(SharedPage.self).matching("another").count() == 0)
        }
    }
}

import Stet
import Testing

@Model final class Publisher {
    var name: String
    init(name: String) { self.name = name }
}

@Model final class Author {
    var first: String
    var last: String
    var penName: String?
    var publisher: Publisher?
    @Attribute(.indexed(.caseInsensitive)) @Derived var fullName: String { first + " " + last }
    @Derived var shownName: String { penName ?? fullName }
    @Attribute(.indexed) @Derived var publisherName: String? { publisher?.name }
    init(first: String, last: String, publisher: Publisher? = nil) {
        self.first = first
        self.last = last
        self.publisher = publisher
    }
}

/// The code of DerivedAttributes.md.
@Suite struct DerivedAttributesTests {
    @Test func aSaveComputesThem() throws {
        let store = try Store.inMemory(for: Author.self, Publisher.self)
        let context = store.context()
        let orbit = Publisher(name: "Orbit")
        let ann = Author(first: "Ann", last: "Leckie", publisher: orbit)
        context.insert(ann)
        try context.save()
        orbit.name = "Orbit Books"
        let commit = try context.save()  // changes the publisher and its author
        let found = try context.fetch(Author.self) { $0.publisherName == "Orbit Books" }.all()
        #expect(commit?.changeSet.changes.count == 2)
        #expect(found.map(\.shownName) == ["Ann Leckie"])
        let named = context.fetch(Author.self) {
            $0.fullName.folded(.caseInsensitive) == "ann leckie"
        }
        #expect(try named.count() == 1)
        #expect(try store.verify().problems == [])
    }
}

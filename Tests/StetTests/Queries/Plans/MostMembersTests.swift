import Stet
import Testing

@Model private final class Person {
    var name: String
    @Relationship(inverse: \Book.readers) var read: ToMany<Book>
    @Relationship(inverse: \Book.owner) var owned: ToMany<Book>

    init(_ name: String) { self.name = name }
}

@Model private final class Book {
    var owner: Person?
    var readers: ToMany<Person>

    init() {}
}

/// The objects with the most members are found by one walk over the numbers of all lists.
@Suite struct MostMembersTests {
    private let store: Store
    /// The numbers of books, by the names of the people.
    private let counts: [(name: String, count: Int)]

    /// 2,500 people, of whom later ones have read and own more books, up to 9, with exceptions.
    init() throws {
        store = try Store.inMemory(for: Person.self, Book.self)
        counts = (0..<2_500).map { number in
            let isExceptional = number % 301 == 7
            return ("person \(number)", isExceptional ? number % 29 : number / 250)
        }
        let context = store.context()
        for (name, count) in counts {
            let person = Person(name)
            context.insert(person)
            for _ in 0..<count {
                let book = Book()
                context.insert(book)
                book.owner = person
                person.read.append(book)
            }
        }
        try context.save()
    }

    @Test(arguments: [1, 9, 10, 700, 1_500, 2_240, 2_260, 3_000])
    func thoseWithTheMostMembersAreFound(limit: Int) throws {
        let expected = counts.sorted { ($1.count, $0.name) < ($0.count, $1.name) }.map(\.name)
        for offset in [0, 3] {
            let page = expected.dropFirst(offset).prefix(limit)
            let most = store.fetch(Person.self).limit(limit).offset(offset)
            let readers = most.sorted(by: { $0.read.count }, .descending).then(by: \.name)
            #expect(try readers.values(of: \.name) == Array(page))
            let owners = most.sorted(by: { $0.owned.count }, .descending).then(by: \.name)
            #expect(try owners.values(of: \.name) == Array(page))
        }
    }
}

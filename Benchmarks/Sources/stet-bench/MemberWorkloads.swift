import Stet

// Small objects, because a million of them become members.

@Model final class Shelf {
    var name: String
    /// Members that refer to their owner.
    @Relationship(inverse: \Book.shelf) var books: ToMany<Book>
    /// Members with a link each.
    var favourites: ToMany<Book>

    init(name: String) { self.name = name }
}

@Model final class Book {
    var number: Int
    var shelf: Shelf?

    init(number: Int) { self.number = number }
}

/// The cost of adding a member to a relationship with few members or with very many.
struct MemberWorkloads {
    private enum Kind: String, CaseIterable { case referring, linked }

    /// A store with one shelf, which has so many members of both kinds.
    private struct FilledStore {
        let memberCount: Int
        let store: Store
        let shelf: ObjectID
    }

    private let stores: [FilledStore]
    private let addedMembers: Int

    init(_ options: Options, directory: String) throws {
        addedMembers = options.addedMembers
        stores = try options.memberCounts.map { count in
            try Self.makeStore(count, "\(directory)/members-\(count).stet")
        }
    }

    private static func makeStore(_ count: Int, _ path: String) throws -> FilledStore {
        let store = try Store.open(at: path, for: Shelf.self, Book.self)
        let context = store.context()
        let shelf = Shelf(name: "all")
        context.insert(shelf)
        let step = 10_000
        for start in stride(from: 0, to: count, by: step) {
            for number in start..<min(start + step, count) {
                let book = Book(number: number)
                shelf.books.append(book)
                shelf.favourites.append(book)
            }
            try context.save()
        }
        return FilledStore(memberCount: count, store: store, shelf: shelf.id)
    }

    /// One round over all sizes, by turns.
    func run(round: Int, _ measurements: inout Measurements) throws {
        for kind in Kind.allCases {
            var additions: [Double] = []
            for filled in stores {
                let (adding, saving) = try add(kind, to: filled)
                let name = "members: \(kind.rawValue), \(filled.memberCount)"
                measurements.add(adding, .microseconds, name, .stet)
                measurements.add(saving, .microseconds, "\(name), saved", .stet)
                additions.append(saving)
            }
            measurements.add(
                additions[additions.count - 1] / additions[0], .timesSmallest,
                "members: growth, \(kind.rawValue)", .stet)
        }
    }

    func close() { for filled in stores { filled.store.close() } }

    /// The microseconds that adding a member to a fresh context's shelf takes, and those with the
    /// durable save: medians.
    private func add(
        _ kind: Kind, to filled: FilledStore
    ) throws -> (adding: Double, saving: Double) {
        var adding: [Double] = []
        var saving: [Double] = []
        for number in 0..<addedMembers {
            let context = filled.store.context()
            guard let shelf = try context.object(Shelf.self, id: filled.shelf) else {
                throw Failure("the shelf is missing")
            }
            let book = Book(number: -number)
            let start = ContinuousClock.now
            switch kind {
            case .referring: shelf.books.append(book)
            case .linked: shelf.favourites.append(book)
            }
            let added = ContinuousClock.now
            try context.save()
            saving.append(start.duration(to: .now) / .microseconds(1))
            adding.append(start.duration(to: added) / .microseconds(1))
        }
        return (Measurements.median(adding.sorted()), Measurements.median(saving.sorted()))
    }
}

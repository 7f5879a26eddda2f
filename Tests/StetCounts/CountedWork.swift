import Foundation
import Stet

/// Small forms of the benchmark's workloads, which are repeated a number of times.
enum CountedWork: String, CaseIterable {
    case insert = "W1"
    case readByID = "W3"
    case readInNewContext = "W3'"
    case sort = "W4"
    case update = "W6"
    case delete = "W7"
    case undo = "W8"
    case fetchObjects = "W11"
    case fetchSnapshots = "W11 snapshots"
    case refuse = "W13"
    case snapshotAndRestore = "W14"
    case twoHops = "W24"
    /// Each beside those before it, which a look at all of them would make grow with their number.
    case upsert = "upsert"
    /// Finds objects by unique values in a context that others have overtaken.
    case lookUpBehind = "behind"
    case insertTexts = "texts"
    case derive = "derived"
    case search = "matching"

    /// The number of objects, or of repetitions, that is counted.
    var size: Int {
        switch self {
        case .insert, .update, .delete, .undo, .refuse, .snapshotAndRestore, .insertTexts, .derive:
            500
        case .readByID, .readInNewContext, .upsert, .lookUpBehind: 1_000
        case .sort, .fetchObjects, .fetchSnapshots: 10
        case .twoHops, .search: 20
        }
    }

    /// The unit of the figure.
    var unit: String {
        switch self {
        case .sort, .fetchObjects, .fetchSnapshots: "query of \(Self.storedCount) objects"
        case .twoHops, .search: "query"
        case .lookUpBehind: "look-up"
        default: "object"
        }
    }

    /// The number of objects that a store has at the beginning.
    static let storedCount = 1_000

    /// Carries out the work, so many times, in a new store in a directory.
    func run(_ count: Int, in directory: String) throws {
        let store = try Self.open(directory)
        defer { store.close() }
        switch self {
        case .insert: try insert(count, store)
        case .twoHops: try findOverTwoHops(count, store)
        case .upsert: try upsert(count, store)
        case .lookUpBehind: try lookUpBehind(count, store)
        case .insertTexts: _ = try insertMembers(count, store)
        case .derive: try derive(count, store)
        case .search: try search(count, store)
        default:
            try insert(Self.storedCount, store)
            try run(count, store)
        }
    }

    static func open(_ directory: String) throws -> Store {
        var configuration = Store.Configuration()
        configuration.mapByteCount = 256 << 20
        return try Store.open(
            at: directory + "/counts.stet", for: Notebook.self, Article.self, Package.self,
            Tag.self, Club.self, Member.self, configuration: configuration)
    }

    private func insert(_ count: Int, _ store: Store) throws {
        let context = store.context(author: "lala")
        let notebooks = (0..<10).map { Notebook(name: "notebook \($0)") }
        for notebook in notebooks { context.insert(notebook) }
        for number in 0..<count {
            context.insert(Article(number, in: notebooks[number % notebooks.count]))
        }
        try context.save()
    }

    private func run(_ count: Int, _ store: Store) throws {
        let context = store.context(author: "lala")
        let ids = try context.fetch(Article.self).ids()
        var sum = 0
        switch self {
        case .readByID:
            sum = try store.read { context in
                try (0..<count).reduce(0) { sum, number in
                    let id = ids[number % ids.count]
                    return sum + (try context.object(Article.self, id: id)?.rating ?? 0)
                }
            }
        case .readInNewContext:
            for number in 0..<count {
                let id = ids[number % ids.count]
                sum += try store.context().object(Article.self, id: id)?.rating ?? 0
            }
        case .sort:
            for _ in 0..<count {
                let found = try store.context().fetch(Article.self) { $0.rating < 6 }
                    .sorted(by: \.title).all()
                sum += found.reduce(0) { $0 + $1.rating }
            }
        case .fetchObjects:
            for _ in 0..<count {
                let found = try store.context().fetch(Article.self).all()
                sum += found.reduce(0) { $0 + $1.rating + $1.title.utf8.count }
            }
        case .fetchSnapshots:
            for _ in 0..<count {
                let found = try store.fetch(Article.self).all()
                sum += found.reduce(0) { $0 + $1.rating + $1.title.utf8.count }
            }
        default: try edit(count, context)
        }
        guard sum >= 0 else { throw CountFailure("no rating is negative") }
    }

    private func edit(_ count: Int, _ context: ManagedContext) throws {
        let articles = try context.fetch(Article.self).limit(count).all()
        func rate(_ rating: Int) { for article in articles { article.rating = rating } }
        switch self {
        case .delete: for article in articles { context.delete(article) }
        case .snapshotAndRestore:
            rate(4)
            let snapshot = context.snapshot()
            rate(3)
            context.restore(snapshot)
            return
        case .refuse:
            rate(4)
            articles.last?.rating = 9
            do {
                try context.save()
                throw CountFailure("an invalid rating was saved")
            } catch is ValidationError {}
            return
        default: rate(4)
        }
        try context.save()
        if self == .undo { try context.store.undo(author: "lala") }
    }

    private func upsert(_ count: Int, _ store: Store) throws {
        let context = store.context()
        for number in 0..<count {
            let name = "tag \(number - number % 4)"
            try context.upsert(Tag.self, where: \.name, is: name, inserting: Tag(name)).count += 1
        }
        try context.save()
        guard try store.fetch(Tag.self).count() == (count + 3) / 4 else {
            throw CountFailure("each name has one tag")
        }
    }

    private func lookUpBehind(_ count: Int, _ store: Store) throws {
        let tags = (0..<100).map { Tag("tag \($0)") }
        let early = store.context()
        for tag in tags { early.insert(tag) }
        try early.save()
        for (number, tag) in tags.enumerated() {
            let other = store.context()
            try other.object(Tag.self, id: tag.id)?.name = "other \(number)"
            try other.save()
        }
        for number in 0..<count {
            let tag = tags[number % tags.count]
            guard try early.object(Tag.self, where: \.name, is: tag.name) === tag else {
                throw CountFailure("\(tag.name) is not found")
            }
        }
    }

    private func findOverTwoHops(_ count: Int, _ store: Store) throws {
        let context = store.context()
        let packages = (0..<Self.storedCount).map { Package("package \($0)") }
        for package in packages { context.insert(package) }
        for (number, package) in packages.enumerated() {
            for other in [number / 2, number / 3, (number * 7 + 1) % packages.count] {
                package.needs.append(packages[other])
            }
        }
        try context.save()
        for number in 0..<count {
            let name = "package \(number + 10)"
            let found = try store.fetch(Package.self) {
                $0.needs.any { $0.needs.any { $0.name == name } }
            }.ids()
            guard !found.isEmpty else { throw CountFailure("nothing is two hops from \(name)") }
        }
    }
}

/// A failure of a counted program.
struct CountFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

import StetTestSupport
import Testing

@testable import Stet

@Model private final class Point {
    @Attribute(.trimmed) var name: String
    var x: Int = 0
    var y: Int = 0
    init(_ x: Int) { self.x = x; name = "n" }
}

/// Saves with deletions that no delete rule follows, which others overtake.
struct OvertakenDeletionTests {
    private let directory = TemporaryDirectory()

    private func text(_ context: ManagedContext) throws -> [String] {
        try context.fetch(Point.self).all().map { "\($0.x) \($0.y) \($0.name)" }.sorted()
    }

    @Test(arguments: ["fail", "store", "context"], [10, 1_500])
    func theyAreMadeOrRefused(policy: String, count: Int) throws {
        let store = try Store.open(at: directory.file(), for: Point.self)
        let context = store.context(author: "me")
        context.mergePolicy =
            policy == "fail" ? .fail : policy == "store" ? .mergeStoreWins : .mergeContextWins
        let points = (0..<count * 2).map { Point($0) }
        for point in points { context.insert(point) }
        try context.save()
        let other = store.context()
        for index in [1, count + 1] {
            try #require(try other.object(Point.self, id: points[index].id)).y = 7
        }
        let mine = try #require(try other.object(Point.self, id: points[2].id))
        other.delete(mine)
        try other.save()
        for point in points[..<count] { context.delete(point) }
        for index in count..<count + 3 { points[index].name = "  changed \(index) " }
        let new = Point(-1)
        context.insert(new)
        let before = try text(context)
        do {
            let commit = try context.save(onFailure: .keepPending)
            #expect(policy != "fail")
            let kinds = try #require(commit).changeSet.changes.map(\.kind)
            let deletions = kinds.filter { $0 == .delete }.count
            #expect(deletions == (policy == "store" ? count - 2 : count - 1))
            #expect(points[1].isDeleted == (policy == "context"))
        } catch let error as ConflictError {
            #expect(policy == "fail")
            #expect(error.conflicts.count == 3)
            #expect(try text(context) == before)
            #expect(points[0].isDeleted)
            context.mergePolicy = .mergeContextWins
            try context.save()
        }
        #expect(try text(store.context()) == text(context))
        #expect(try store.verify().problems == [])
    }
}

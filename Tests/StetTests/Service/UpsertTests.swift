import Foundation
import Stet
import StetTestSupport
import Testing

@Model private final class Topic {
    @Attribute(.trimmed, .unique(.caseInsensitive)) var slug: String
    var count: Int = 0

    init(_ slug: String) { self.slug = slug }
}

private func quoted(_ text: String) -> String { "<\(text)>" }

/// A name with a normaliser that changes its own results.
@Model private final class Quote {
    @Attribute(.normalized(by: quoted), .unique) var text: String
    var count: Int = 0

    init(_ text: String) { self.text = text }
}

/// Insert, or update what has the same unique value.
@Suite struct UpsertTests {
    private let store: Store

    init() throws {
        var configuration = Store.Configuration()
        configuration.mapByteCount = 1 << 30
        store = try Store.inMemory(for: Topic.self, configuration: configuration)
    }

    @Test func anUpsertInsertsOnceAndUpdatesThen() throws {
        for slug in ["Swift", "swift", "SWIFT"] {
            try store.edit { context in
                let topic = try context.upsert(
                    Topic.self, where: \.slug, is: slug, inserting: Topic(slug))
                topic.count += 1
            }
        }
        #expect(try store.fetch(Topic.self).all().map(\.slug) == ["Swift"])
        #expect(try store.fetch(Topic.self).all().map(\.count) == [3])
    }

    @Test func aValueIsNormalisedBeforeItIsLookedFor() throws {
        let context = store.context()
        let first = try context.upsert(
            Topic.self, where: \.slug, is: " a ", inserting: Topic(" a "))
        #expect(try context.object(Topic.self, where: \.slug, is: "A") === first)
        try context.save()
        #expect(first.slug == "a")
        let second = try context.upsert(
            Topic.self, where: \.slug, is: "\ta", inserting: Topic("\ta"))
        #expect(second === first)
        #expect(try context.object(Topic.self, where: \.slug, is: " b") == nil)
        first.slug = " b"
        #expect(try context.object(Topic.self, where: \.slug, is: "b ") === first)
        #expect(try context.save()?.changeCount == 1)
    }

    @Test func aNormaliserRunsOnceOnWhatIsLookedFor() throws {
        let store = try Store.inMemory(for: Quote.self)
        let context = store.context()
        let first = try context.upsert(Quote.self, where: \.text, is: "a", inserting: Quote("a"))
        #expect(try context.object(Quote.self, where: \.text, is: "a") === first)
        try context.save()
        #expect(first.text == "<a>")
        first.count = 1
        #expect(try context.object(Quote.self, where: \.text, is: "a") === first)
        // The stored value is found, too.
        #expect(try context.object(Quote.self, where: \.text, is: "<a>") === first)
        #expect(try context.object(Quote.self, where: \.text, is: "b") == nil)
        first.text = "b"
        #expect(try context.object(Quote.self, where: \.text, is: "b") === first)
        #expect(try context.object(Quote.self, where: \.text, is: "a") == nil)
        let again = try context.upsert(Quote.self, where: \.text, is: "b", inserting: Quote("b"))
        #expect(again === first)
        #expect(try context.save()?.changeCount == 1)
        #expect(first.text == "<b>")
    }

    @Test func anUpsertSeesWhatIsPending() throws {
        let context = store.context()
        let first = try context.upsert(
            Topic.self, where: \.slug, is: "a", inserting: Topic("a"))
        let second = try context.upsert(
            Topic.self, where: \.slug, is: "A", inserting: Topic("A"))
        #expect(first === second)
        context.delete(first)
        let third = try context.upsert(
            Topic.self, where: \.slug, is: "a", inserting: Topic("a"))
        #expect(third !== first)
        #expect(try context.save()?.changeCount == 1)
    }

    @Test func whatTheClosureThrowsInsertsNothing() throws {
        struct Failure: Error {}
        func make() throws -> Topic { throw Failure() }
        let context = store.context()
        #expect(throws: Failure.self) {
            try context.upsert(Topic.self, where: \.slug, is: "a", inserting: make())
        }
        #expect(!context.hasChanges)
    }

    @Test func upsertsAtOnceMakeOneObject() async throws {
        let store = store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await store.edit { context in
                        let topic = try context.upsert(
                            Topic.self, where: \.slug, is: "a", inserting: Topic("a"))
                        topic.count += 1
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.fetch(Topic.self).all().map(\.count) == [8])
    }

    @Test func anObjectWithAnotherValueTraps() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = try UpsertTests().store.context().upsert(
                Topic.self, where: \.slug, is: "a", inserting: Topic("b"))
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("has inserted a Topic with another value"))
    }
}

import Foundation
import Stet
import StetLMDB
import StetTestModels
import StetTestSupport
import StetTesting
import Testing

/// The product StetTesting: helpers for the tests of applications.
@Suite struct StetTestingTests {
    private func store() throws -> Store { try Store.inMemory(for: Notebook.self, Article.self) }

    /// The text of the one issue that a closure records.
    private func issue(_ body: () async throws -> Void) async throws -> String {
        let text = SharedText()
        try await withKnownIssue("the issue that the closure records is what is tested") {
            try await body()
        } matching: { issue in
            text.append(issue.comments.map(\.rawValue).joined(separator: "\n"))
            return true
        }
        return text.value
    }

    // MARK: Clock and ids

    @Test func aClockStandsUntilItIsMoved() async throws {
        let clock = TestClock(Date(timeIntervalSinceReferenceDate: 100))
        let store = try Store.inMemory(
            for: Notebook.self, configuration: Store.Configuration(clock: clock))
        func insert() async throws -> Date? {
            try await store.edit { $0.insert(Notebook(name: "a")) }
            return try store.journal().last?.time
        }
        #expect(try await insert() == Date(timeIntervalSinceReferenceDate: 100))
        clock.advance(by: .milliseconds(1_500))
        #expect(try await insert() == Date(timeIntervalSinceReferenceDate: 101.5))
        clock.now = Date(timeIntervalSinceReferenceDate: 200)
        #expect(try await insert() == clock.now)
    }

    @Test(.sequentialIDs, arguments: [1, 2]) func idsBeginWith1InEachCase(_: Int) async throws {
        let store = try store()
        let snapshots = try await store.edit { context in
            let notebooks = ["a", "b"].map { Notebook(name: $0) }
            for notebook in notebooks { context.insert(notebook) }
            return notebooks
        }.snapshots
        #expect(snapshots.map(\.id.description.last) == ["1", "2"])
        let inherited = await Task { ObjectID().description.last }.value
        #expect(inherited == "3")
        let detached = await Task.detached { ObjectID() }.value
        #expect(detached.description > "01")
        #expect(try store.verify().problems == [])
    }

    @Test func idsOfOtherTestsAreAsUsual() {
        #expect(ObjectID().description > "01")
    }

    // MARK: Expectations

    @Test func expectedChangesAreNoIssueAndGiveTheCommits() async throws {
        let store = try store()
        let commits = try await expectChanges(
            in: store, ["insert Article", "insert Notebook", "update Article (notebook)"]
        ) {
            let id = try await store.edit("new") { context in
                let article = Article(title: "Macros", notebook: Notebook(name: "Swift"))
                context.insert(article)
                return article
            }.snapshot.id
            try await store.edit { try $0.object(Article.self, id: id)?.notebook = nil }
        }
        try #require(commits.map(\.revision) == [1, 2])
        #expect(commits[0].label == "new")
        let none = try await expectChanges(in: store, []) {}
        #expect(none.isEmpty)
    }

    @Test func otherChangesAreAnIssueThatShowsBoth() async throws {
        let store = try store()
        let text = try await issue {
            try await expectChanges(in: store, ["insert Article"]) {
                try await store.edit { $0.insert(Notebook(name: "Swift")) }
            }
        }
        #expect(text.hasPrefix("expected:\n  insert Article\nfound:\n  insert Notebook\n"))
        #expect(text.contains("name: nil → \"Swift\""), "\(text)")
        let nothing = try await issue {
            try await expectChanges(in: store, ["delete Article"]) {}
        }
        #expect(nothing == "expected:\n  delete Article\nfound:\n  nothing")
    }

    @Test func whatTheClosureThrowsIsThrown() async throws {
        struct Failure: Error {}
        let store = try store()
        await #expect(throws: Failure.self) {
            try await expectChanges(in: store, []) { throw Failure() }
        }
    }

    @Test func anExpectedRefusalIsNoIssueAndGivesTheError() async throws {
        let store = try store()
        let error = await expectRefused([.tooShort]) {
            try await store.edit { $0.insert(Article(title: "")) }
        }
        #expect(error?.violations.map(\.property) == ["title"])
    }

    @Test func anotherRefusalIsAnIssueThatNamesEachViolation() async throws {
        let store = try store()
        let text = try await issue {
            await expectRefused([.tooLong]) {
                try await store.edit { $0.insert(Article(title: "")) }
            }
        }
        #expect(
            text == """
                expected:
                  tooLong
                found:
                  tooShort Article.title: title must be at least 1 character
                """)
        let none = try await issue { await expectRefused([.tooLong]) {} }
        #expect(none == "expected:\n  tooLong\nfound: nothing was refused")
        let other = try await issue {
            await expectRefused([Violation.Code(domain: "Desk", number: 4)]) {
                throw CancellationError()
            }
        }
        #expect(other == "expected:\n  Desk 4\nfound: CancellationError()")
    }
}

/// Text that a closure collects.
private final class SharedText: Sendable {
    private let text = Monitor("")
    var value: String { text.withLock { $0 } }
    func append(_ part: String) { text.withLock { $0 += part } }
}

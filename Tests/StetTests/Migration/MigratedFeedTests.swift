import Foundation
import Stet
import StetTestSupport
import Testing

private enum Version1 {
    @Model final class Note {
        var headline: String
        var stars: Int16
        var remark: String?

        init(_ headline: String, _ stars: Int16) {
            self.headline = headline
            self.stars = stars
        }
    }
}

private enum Version2 {
    @Model(originalName: "Note") final class Article {
        @Attribute(originalName: "headline") var title: String
        var stars: Int
        var state: String = "new"

        init(_ title: String) {
            self.title = title
            stars = 0
        }
    }

    @Model final class Mail {
        var text: String

        init(_ text: String) { self.text = text }
    }
}

/// Feeds and subscriptions that begin before a migration and continue after it.
@Suite struct MigratedFeedTests {
    private let directory = TemporaryDirectory()

    /// One step of the history, as the present models describe it.
    private struct Seen: Equatable {
        let revision: Revision
        let old: String?
        let new: String?
        var stars: Int?

        init(_ revision: Revision, _ old: String?, _ new: String?, stars: Int? = nil) {
            self.revision = revision
            self.old = old
            self.new = new
            self.stars = stars
        }
    }

    /// Makes four commits of the first version; `body` runs after the second.
    private func makeFirstVersion(_ body: (Store) async throws -> Void = { _ in }) async throws {
        let store = try Store.open(at: directory.file(), for: Version1.Note.self)
        defer { store.close() }
        let context = store.context()
        let note = Version1.Note("one", 1)
        context.insert(note)
        try await context.save()
        note.headline = "two"
        note.remark = "about"
        try await context.save()
        try await body(store)
        note.remark = nil
        try await context.save()
        note.stars = 4
        try await context.save()
    }

    /// Opens the store with the second version, which is revision 5, and makes two more commits.
    private func openSecondVersion() async throws -> Store {
        let store = try Store.open(
            at: directory.file(), for: Version2.Article.self, Version2.Mail.self)
        let context = store.context()
        let article = try #require(try context.fetch(Version2.Article.self).first())
        article.title = "three"
        try await context.save()
        context.delete(article)
        try await context.save()
        return store
    }

    private func seen(
        _ count: Int, of changes: Changes<Version2.Article>
    ) async throws -> [Seen] {
        var seen: [Seen] = []
        for try await event in changes {
            for change in event.changes {
                seen.append(
                    Seen(
                        event.revision, change.old[\.title] ?? nil, change.new[\.title] ?? nil,
                        stars: (change.new.snapshot?.stars)))
            }
            if seen.count >= count { break }
        }
        return seen
    }

    @Test("A7 a feed from the beginning shows commits before a migration as the models are now")
    func aFeedCrossesAMigration() async throws {
        try await makeFirstVersion()
        let store = try await openSecondVersion()
        defer { store.close() }
        let all = store.changes(of: Version2.Article.self, after: .beginning).withSnapshots()
        let titles = all.properties(\.title)
        #expect(
            try await seen(4, of: titles) == [
                Seen(1, nil, "one", stars: 1), Seen(2, "one", "two", stars: 1),
                Seen(6, "two", "three", stars: 4), Seen(7, "three", nil),
            ])
        let many = store.changes(of: Version2.Article.self, after: .beginning, when: .entering) {
            $0.stars > 3 && $0.title != "nobody"
        }
        #expect(try await seen(1, of: many).map(\.revision) == [4])
        let leaving = store.changes(of: Version2.Article.self, after: .beginning, when: .leaving) {
            $0.title == "two" && $0.state == "new"
        }
        #expect(try await seen(1, of: leaving).map(\.revision) == [6])
    }

    @Test("A7 a subscription goes on after a migration where it was, and skips nothing")
    func aSubscriptionCrossesAMigration() async throws {
        try await makeFirstVersion { store in
            let feed = store.changes(of: Version1.Note.self, after: .beginning)
            let mailer = try store.subscribe("mailer", to: feed)
            for try await delivery in mailer.deliveries {
                #expect(delivery.revision == 1)
                try await delivery.acknowledge()
                break
            }
        }
        let store = try await openSecondVersion()
        defer { store.close() }
        #expect(try store.subscription(named: "mailer").state()?.position == 1)
        let mailer = try store.subscribe("mailer", to: store.changes(of: Version2.Article.self))
        let task = Task {
            try await mailer.run { event, context in
                for change in event.changes {
                    let title = (change.new[\.title] ?? change.old[\.title]) ?? "?"
                    context.insert(Version2.Mail("\(event.revision) \(title)"))
                }
            }
        }
        func mails() throws -> [String] {
            try store.fetch(Version2.Mail.self).sorted(by: \.text).values(of: \.text)
        }
        while try mails().last != "7 three" { await Task.yield() }
        task.cancel()
        try await task.value
        // Revision 3 has changed what the models do not have any more.
        let delivered = try mails()
        #expect(delivered == ["2 two", "3 ?", "4 ?", "6 three", "7 three"])
        #expect(try store.verify().problems == [])
    }
}

import Foundation
import Stet
import StetTestSupport
import Testing

/// The code of KeepingHistoryShort.md.
@Suite struct KeepingHistoryShortTests {
    @Test func aStoreIsToldWhatItKeeps() throws {
        var configuration = Store.Configuration()
        configuration.retention = .count(10_000)

        let directory = TemporaryDirectory()
        let store = try Store.open(
            at: directory.file(), for: Tag.self, configuration: configuration)
        #expect(try store.floor() == 0)
    }

    @Test func aTrimIsConfirmed() throws {
        let desk = try Desk()
        let store = desk.store
        for rating in 1...4 { try desk.saveElsewhere { $0.rating = rating } }

        let action = try store.requestTrim(before: 3)
        let loss = action.plan.history  // commits, bytes, steps of undo by author
        try action.confirm()

        #expect(loss?.commitCount == 2)
        #expect(loss?.floor == 2)

        let kept = try store.journal(from: .earliest)

        #expect(kept.map(\.revision) == [3, 4, 5])
        #expect(throws: StoreError.self) { try store.journal(from: 2) }
        #expect(try store.verify().isClean)
    }

    @Test func aValueIsRedactedAndItsBytesRemoved() throws {
        let desk = try Desk()
        let (store, context, article) = (desk.store, desk.context, desk.article)

        article.title = "Withdrawn"
        try context.save("withdraw")
        try store.requestRedaction(of: Article.self, id: article.id, \.title).confirm()

        let change = try store.history(of: article).first?.change["title"]
        #expect(change?.redacted.old == true)
        #expect(change?.new == .string("Withdrawn"))
        let directory = TemporaryDirectory()
        let copy = directory.file()

        try store.compact(to: copy)

        let bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
        #expect(bytes.range(of: Data("Macros".utf8)) == nil)
        #expect(bytes.range(of: Data("Withdrawn".utf8)) != nil)

        try store.compactInPlace()

        let own = try Data(contentsOf: URL(fileURLWithPath: store.path))
        #expect(own.range(of: Data("Macros".utf8)) == nil)
        #expect(try store.object(Article.self, id: article.id)?.title == "Withdrawn")
    }
}

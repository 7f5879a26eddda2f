import Foundation
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// A context that is many commits behind.
extension ContextContractTests {
    /// So many commits the test makes; `STET_LAG` sets another number.
    private static let lag =
        ProcessInfo.processInfo.environment["STET_LAG"].flatMap { Int($0) } ?? 10_000

    @Test("A context many commits behind shows its revision, then moves with all that is live")
    func aContextManyCommitsBehind() async throws {
        let scratch = try Scratch()
        let store = scratch.store
        let writers = 64
        let desk = store.context()
        let hub = Notebook(name: "hub")
        for number in 0..<writers { desk.insert(Article(title: "\(number)", notebook: hub)) }
        try await desk.save()
        // A context without objects, one with all of them, and one with pending changes.
        let (none, all, editor) = (store.context(), store.context(), store.context())
        let held = try all.fetch(Article.self).all()
        let mine = try #require(try editor.fetch(Notebook.self).first())
        mine.name = "mine"
        let ids = held.map(\.id)
        let before = try Shown(none, ids: ids)
        try await commit(Self.lag, by: writers, ids, in: store)
        #expect(try store.revision() == Revision(UInt64(Self.lag / writers * writers + 1)))
        #expect(try [Shown(none, ids: ids), Shown(all, ids: ids)] == [before, before])
        #expect(try editor.fetch(Article.self).all().map(\.id) == ids)
        let fresh = try Shown(store.context(), ids: ids)
        #expect(fresh != before)
        for context in [none, all] {
            try context.refresh()
            #expect(try Shown(context, ids: ids) == fresh)
        }
        #expect(held.filter(\.isDeleted).count == writers / 8)
        // A save also moves the context. Its own change conflicts with none of the others.
        #expect(try await editor.save()?.changeCount == 1)
        #expect(try Shown(editor, ids: ids) == Shown(store.context(), ids: ids))
        #expect(editor.revision.number == UInt64(Self.lag / writers * writers + 2))
    }

    /// Each writer edits its article, inserts and deletes others; some delete it in the end.
    private func commit(
        _ count: Int, by writers: Int, _ ids: [ObjectID], in store: Store
    ) async throws {
        try await withThrowingTaskGroup { group in
            for (number, id) in ids.enumerated() {
                group.addTask {
                    let context = store.context(author: "\(number)")
                    let article = try #require(try context.object(Article.self, id: id))
                    let last = count / writers
                    var added: Article?
                    for step in 1...last {
                        article.rating = step % 4
                        article.body = "\(step)"
                        if step % 64 == 1 {
                            added = Article(title: "\(step)", notebook: article.notebook)
                            article.next = added
                        } else if step % 64 == 40, let added {
                            context.delete(added)
                        }
                        if step == last, number % 8 == 0 { context.delete(article) }
                        try await context.save()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("Whatever is live, a context at any revision follows to the last one")
    func aContextAtAnyRevisionFollows() throws {
        let scratch = try Scratch()
        var saver = RandomSaver(scratch.store, seed: 11)
        var contexts: [(context: ManagedContext, held: [Article], shown: Shown)] = []
        for round in 0..<40 {
            try saver.save(10)
            let context = scratch.store.context()
            let held = try context.fetch(Article.self).all().enumerated()
                .filter { round % 2 == 0 && $0.offset % 3 != round % 3 }.map(\.element)
            contexts.append((context, held, try Shown(context)))
        }
        let fresh = try Shown(scratch.store.context())
        for (context, held, shown) in contexts {
            #expect(try Shown(context) == shown)
            try context.refresh()
            #expect(try Shown(context) == fresh)
            #expect(held.allSatisfy { $0.context === context })
        }
    }
}

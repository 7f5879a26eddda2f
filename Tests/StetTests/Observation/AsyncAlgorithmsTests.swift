import AsyncAlgorithms
import Stet
import StetStore
import Testing

/// Feeds and live queries are sequences like others: the operators of swift-async-algorithms work
/// with them.
@Suite struct AsyncAlgorithmsTests {
    private typealias Article = Ledger.Article

    private let desk: LedgerDesk
    private var store: Store { desk.store }

    init() throws { desk = try LedgerDesk() }

    private func insert(_ title: String, by author: String = "a") throws {
        try desk.edit(author) { $0.insert(Article(title: title)) }
    }

    @Test func aBurstOfSignalsIsDebounced() async throws {
        let last = Revision(20)
        let signals = store.signals.debounce(for: .milliseconds(5))
        let task = Task {
            var seen: [Revision] = []
            for try await revision in signals {
                seen.append(revision)
                if revision == last { break }
            }
            return seen
        }
        try await store.untilObserversWait(1)
        for number in 1...20 { try insert("\(number)") }
        let seen = try await task.value
        #expect(seen.last == last)
        #expect(seen.count <= 20)
        #expect(seen == seen.sorted())
        try await store.untilNobodyObserves()
    }

    @Test func feedsAreMerged() async throws {
        let changes = store.changes(of: Article.self, after: .beginning)
        let merged = merge(changes.authors("a"), changes.authors("b"))
        for (number, author) in ["a", "b", "b", "a", "c"].enumerated() {
            try insert("\(number)", by: author)
        }
        var seen: Set<Revision> = []
        for try await event in merged {
            seen.insert(event.revision)
            if seen.count == 4 { break }
        }
        #expect(seen == [1, 2, 3, 4])
        try await store.untilNobodyObserves()
    }

    @Test func liveValuesAreCombined() async throws {
        let count = store.observe(store.fetch(Article.self)).count
        let good = store.observe(store.fetch(Article.self) { $0.title == "good" }).count
        let task = Task {
            for try await (all, some) in combineLatest(count, good) where some.value == 1 {
                return [all.value, some.value]
            }
            return []
        }
        try await store.untilObserversWait(2)
        try insert("good")
        let last = try await task.value
        #expect(last == [0, 1] || last == [1, 1])
        try await store.untilNobodyObserves()
    }

    @Test func cancellationEndsAChainOfOperators() async throws {
        let titles = store.observe(store.fetch(Article.self)).removeDuplicates {
            $0.result.ids == $1.result.ids
        }
        let task = Task {
            var counts: [Int] = []
            for try await update in titles { counts.append(update.result.count) }
            return counts
        }
        try await store.untilObserversWait(1)
        task.cancel()
        #expect(try await task.value == [0])
        try await store.untilNobodyObserves()
    }
}

extension Store {
    /// Waits until no observer is left.
    fileprivate func untilNobodyObserves() async throws {
        while file.feed.observerCount > 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

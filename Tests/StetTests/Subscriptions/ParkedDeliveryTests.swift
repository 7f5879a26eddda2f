import Foundation
import StetStore
import StetTestModels
import Testing

@testable import Stet

/// Deliveries that are set aside, with those that must wait behind them.
@Suite struct ParkedDeliveryTests {
    private let scratch: Scratch
    private var store: Store { scratch.store }
    private let first: ObjectID
    private let second: ObjectID

    init() throws {
        scratch = try Scratch()
        let context = scratch.store.context()
        let articles = [Article(title: "first"), Article(title: "second")]
        for article in articles { context.insert(article) }
        try context.save()
        (first, second) = (articles[0].id, articles[1].id)
    }

    private static let policy: SubscriptionPolicy = {
        var policy = SubscriptionPolicy()
        policy.attempts = 1
        policy.whenExhausted = .park
        return policy
    }()

    private func subscription() throws -> Subscription<ChangeEvent<Article>> {
        try store.subscribe(
            "mail", to: store.changes(of: Article.self), policy: Self.policy)
    }

    private func rate(_ id: ObjectID, _ rating: Int) throws {
        try store.edit { try $0.object(Article.self, id: id)?.rating = rating }
    }

    /// Takes so many deliveries, failing those of some revisions.
    private func take(
        _ count: Int, failing failed: Set<Revision> = [],
        _ iterator: inout Subscription<ChangeEvent<Article>>.Deliveries.Iterator
    ) async throws -> [Revision] {
        var revisions: [Revision] = []
        while revisions.count < count, let delivery = try await iterator.next() {
            revisions.append(delivery.revision)
            if failed.contains(delivery.revision) {
                try delivery.fail(Failure())
            } else {
                try await delivery.acknowledge()
            }
        }
        return revisions
    }

    @Test("A7 what fails is parked, what concerns its objects waits behind it, all else goes on")
    func whatFailsIsParkedInOrder() async throws {
        let subscription = try subscription()
        try rate(first, 1)  // 2
        try rate(second, 1)  // 3
        try rate(first, 2)  // 4
        try rate(second, 2)  // 5
        var iterator = subscription.deliveries.makeAsyncIterator()
        #expect(try await take(3, failing: [2], &iterator) == [2, 3, 5])
        let control = subscription.control
        let parked = try control.parkedDeliveries()
        #expect(parked.map(\.revision) == [2, 4])
        #expect(parked.map(\.isDue) == [false, true])
        #expect(parked.map(\.objects) == [[first], [first]])
        #expect(parked[0].failure?.count == 1)
        #expect(parked[0].failure?.message == "Failure()")
        #expect(parked[1].failure == nil)

        // A waiting delivery is not retried before the one that blocks it, which fails again.
        try control.retryParked(4)
        try rate(second, 3)  // 6
        #expect(try await take(1, &iterator) == [6])
        try control.retryParked()
        try rate(second, 4)  // 7
        #expect(try await take(2, failing: [2], &iterator) == [2, 7])
        #expect(try control.parkedDeliveries().first?.failure?.count == 2)

        try control.retryParked(2)
        #expect(try await take(2, &iterator) == [2, 4])
        _ = try rate(first, 3)  // 8
        #expect(try await take(1, &iterator) == [8])
        #expect(try control.parkedDeliveries() == [])
    }

    @Test func whatIsDroppedSetsThoseBehindItFree() async throws {
        let subscription = try subscription()
        try rate(first, 1)
        try rate(first, 2)
        try rate(second, 1)
        var iterator = subscription.deliveries.makeAsyncIterator()
        #expect(try await take(2, failing: [2], &iterator) == [2, 4])
        try subscription.control.dropParked(2)
        #expect(try await take(1, &iterator) == [3])
        #expect(try subscription.control.state()?.parkedCount == 0)
    }

    @Test func whatIsParkedStaysInTheJournal() async throws {
        let subscription = try subscription()
        try rate(first, 1)
        try rate(second, 1)
        var iterator = subscription.deliveries.makeAsyncIterator()
        #expect(try await take(2, failing: [2], &iterator) == [2, 3])
        try store.requestTrim(before: 4).confirm()
        #expect(try store.floor() == 1)
        try subscription.control.retryParked()
        #expect(try await take(1, &iterator) == [2])
        try rate(second, 2)
        #expect(try await take(1, &iterator) == [4])
        try store.requestTrim(before: 4).confirm()
        #expect(try store.floor() == 3)
    }

    @Test func aRewindDeliversParkedCommitsInTheirPlace() async throws {
        let subscription = try subscription()
        for rating in 1...3 { try rate(first, rating) }
        try rate(second, 1)
        var iterator = subscription.deliveries.makeAsyncIterator()
        #expect(try await take(2, failing: [2], &iterator) == [2, 5])
        try subscription.control.rewind(to: 2)
        #expect(try subscription.control.parkedDeliveries().map(\.revision) == [2])
        // Deliveries after the parked one wait again.
        #expect(try await take(1, &iterator) == [5])
        #expect(try subscription.control.parkedDeliveries().map(\.revision) == [2, 3, 4])
    }

    @Test func theEffectOfAParkedDeliveryIsSavedOnce() async throws {
        let subscription = try subscription()
        try rate(first, 1)
        let store = store
        let fails = Task {
            try await subscription.run { _, _ in throw Failure() }
        }
        while try subscription.control.state()?.parkedCount == 0 { await Task.yield() }
        fails.cancel()
        try await fails.value
        try subscription.control.retryParked()
        let works = Task {
            try await subscription.run { event, context in
                context.insert(Notebook(name: "\(event.revision)"))
            }
        }
        while try subscription.control.state()?.parkedCount == 1 { await Task.yield() }
        works.cancel()
        try await works.value
        #expect(try store.context().fetch(Notebook.self).all().map(\.name) == ["2"])
        #expect(try store.journal().last?.subscription == "mail")
    }

    @Test func theDelayDoublesUpToTheLongestAndVariesByHalf() {
        var policy = SubscriptionPolicy()
        policy.initialDelay = .milliseconds(100)
        policy.maximumDelay = .seconds(1)
        let whole = (1...6).map { policy.delay(afterFailures: $0, random: 1) }
        #expect(whole == [100, 200, 400, 800, 1_000, 1_000].map { .milliseconds($0) })
        #expect(policy.delay(afterFailures: 1, random: 0) == .milliseconds(50))
        #expect(policy.delay(afterFailures: 500, random: 0) == .milliseconds(500))
    }
}

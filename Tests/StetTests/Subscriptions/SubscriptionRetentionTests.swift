import Stet
import StetStore
import StetTestModels
import Testing

/// The journal keeps what durable subscriptions have not dealt with.
@Suite struct SubscriptionRetentionTests {
    private let scratch: Scratch
    private var store: Store { scratch.store }

    init() throws { scratch = try Scratch() }

    private func insert(_ titles: String...) throws -> [ObjectID] {
        let context = store.context(author: "lala")
        var ids: [ObjectID] = []
        for title in titles {
            let article = Article(title: title)
            context.insert(article)
            ids.append(article.id)
            try context.save(title)
        }
        return ids
    }

    /// Acknowledges so many deliveries; the numbers of their commits.
    @discardableResult
    private func deal<Element>(
        with subscription: Subscription<Element>, _ count: Int
    ) async throws -> [Revision] {
        var revisions: [Revision] = []
        for try await delivery in subscription.deliveries {
            revisions.append(delivery.revision)
            try await delivery.acknowledge()
            if revisions.count == count { break }
        }
        return revisions
    }

    @Test("A7 a trim leaves what a subscription has not dealt with")
    func aTrimLeavesWhatIsNotDealtWith() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        _ = try insert("a", "b", "c", "d")
        try await deal(with: subscription, 2)
        let action = try store.requestTrim(before: 5)
        #expect(action.plan.history?.floor == 2)
        #expect(action.plan.history?.heldBy == ["mail"])
        try action.confirm()
        #expect(try store.floor() == 2)
        // Nor does a trim that was planned before the subscription was made.
        try store.file.trim(through: 4)
        #expect(try store.floor() == 2)
        #expect(try await deal(with: subscription, 2) == [3, 4])
        let rest = try store.requestTrim(before: 5)
        #expect(rest.plan.history?.heldBy == [])
        try rest.confirm()
        #expect(try store.floor() == 4)
        #expect(try store.verify().problems == [])
        #expect { try subscription.control.rewind(to: 3) } throws: { error in
            (error as? StoreError)?.code == .historyTrimmed
        }
    }

    @Test func aSubscriptionThatHoldsNothingIsToldOfATrim() async throws {
        var policy = SubscriptionPolicy()
        policy.holdsHistory = false
        let subscription = try store.subscribe("mail", to: store.commits, policy: policy)
        _ = try insert("a", "b", "c")
        try store.requestTrim(before: 3).confirm()
        await #expect {
            try await deal(with: subscription, 1)
        } throws: { error in
            (error as? StoreError)?.code == .historyTrimmed
        }
        try subscription.control.rewind(to: try store.floor())
        #expect(try await deal(with: subscription, 1) == [3])
    }

    @Test func thePositionFollowsCommitsThatDoNotConcernIt() async throws {
        let subscription = try store.subscribe(
            "rare", to: store.changes(of: Notebook.self))
        for number in 0..<1_100 {
            try await store.edit { $0.insert(Article(title: "\(number)")) }
        }
        let task = Task { try await subscription.run { _, _ in } }
        while try subscription.control.state()?.lag ?? 1_100 >= 1_024 { await Task.yield() }
        task.cancel()
        try await task.value
        #expect(try subscription.control.state()?.lag ?? 0 < 1_100)
    }
}

import Stet
import StetStore
import StetTestModels
import Testing

/// The journal keeps what durable subscriptions have not dealt with.
@Suite struct SubscriptionRetentionTests {
    private let scene: SubscriptionScene
    private var store: Store { scene.store }

    init() throws { scene = try SubscriptionScene() }

    @Test("A7 a trim leaves what a subscription has not dealt with")
    func aTrimLeavesWhatIsNotDealtWith() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        try scene.insert("a", "b", "c", "d")
        try await scene.deal(with: subscription, 2)
        let action = try store.requestTrim(before: 5)
        #expect(action.plan.history?.floor == 2)
        #expect(action.plan.history?.heldBy == ["mail"])
        try action.confirm()
        #expect(try store.floor() == 2)
        // A trim planned before the subscription was made keeps its commits, too.
        try store.file.trim(through: 4)
        #expect(try store.floor() == 2)
        #expect(try await scene.deal(with: subscription, 2) == [3, 4])
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
        try scene.insert("a", "b", "c")
        try store.requestTrim(before: 3).confirm()
        await #expect {
            try await scene.deal(with: subscription, 1)
        } throws: { error in
            (error as? StoreError)?.code == .historyTrimmed
        }
        try subscription.control.rewind(to: try store.floor())
        #expect(try await scene.deal(with: subscription, 1) == [3])
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

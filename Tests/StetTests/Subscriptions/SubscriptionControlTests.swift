import Foundation
import Stet
import StetStore
import StetTestModels
import Synchronization
import Testing

/// Subscriptions that are paused, resumed, rewound and removed while somebody owns them.
@Suite struct SubscriptionControlTests {
    private let scene: SubscriptionScene
    private var store: Store { scene.store }

    init() throws { scene = try SubscriptionScene() }

    @Test func pauseResumeRewindAndRemove() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        let control = store.subscription(named: "mail")
        try scene.insert("a", "b", "c")
        #expect(try await scene.deal(with: subscription, 2) == [1, 2])
        try control.pause()
        #expect(try control.state()?.status == .paused)
        let paused = Task { try await scene.deal(with: subscription, 1) }
        while try control.state()?.isOwned == false { await Task.yield() }
        try control.resume()
        #expect(try await paused.value == [3])
        try control.rewind(to: 1)
        #expect(try await scene.deal(with: subscription, 2) == [2, 3])
        #expect { try control.rewind(to: 4) } throws: { error in
            (error as? StoreError)?.code == .noSuchRevision
        }
        #expect(try store.subscriptions().map(\.name) == ["mail"])
        try control.remove()
        #expect(try control.state() == nil)
        let error = SubscriptionError.notFound(name: "mail")
        #expect(throws: error) { try control.pause() }
        await #expect(throws: error) { try await scene.deal(with: subscription, 1) }
    }

    @Test func anOwnerFollowsARewind() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        try scene.insert("a", "b")
        var iterator = subscription.deliveries.makeAsyncIterator()
        for _ in 0..<2 { try await iterator.next()?.acknowledge() }
        try subscription.control.rewind(to: 0)
        let next = try await iterator.next()
        #expect(next?.revision == 1)
        // Rewinds while a delivery is open.
        try subscription.control.rewind(to: 1)
        await #expect(throws: SubscriptionError.lost(name: "mail")) {
            try await next?.acknowledge()
        }
        #expect(try await iterator.next()?.revision == 2)
    }

    @Test(arguments: ["", "a\u{0}b", String(repeating: "a", count: 256)])
    func aNameThatCannotBeStoredIsRefused(name: String) throws {
        #expect(throws: SubscriptionError.invalidName(name)) {
            try store.subscribe(name, to: store.commits)
        }
        #expect(try store.subscriptions() == [])
    }

    @Test func subscriptionsAreInCopiesAndSurviveAClose() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        try scene.insert("a", "b")
        try await scene.deal(with: subscription, 1)
        let path = scene.scratch.path + "-copy"
        try store.compact(to: path)
        store.close()
        let copy = try Store.open(at: path, for: Notebook.self, Article.self)
        #expect(try copy.subscriptions().map(\.position) == [1])
        #expect(try copy.subscriptions().map(\.lag) == [1])
        copy.close()
        try FileManager.default.removeItem(atPath: path)
    }

    @Test func theStoreThatIsClosedEndsTheConsumer() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        let task = Task { try await subscription.run { _, _ in } }
        while store.file.feed.waiterCount == 0 { await Task.yield() }
        store.close()
        try await task.value
    }

    @Test func anOwnerThatNotesAFailureFollowsAPause() async throws {
        let subscription = try store.subscribe(
            "mail", to: store.commits, policy: SubscriptionScene.patient)
        try scene.insert("a")
        let store = store
        let isDelivered = Mutex(false)
        let owner = Task {
            var deliveries = subscription.deliveries.makeAsyncIterator()
            let first = try await deliveries.next()
            try store.subscription(named: "mail").pause()
            try first?.fail(Failure())
            let second = try await deliveries.next()
            isDelivered.withLock { $0 = true }
            return [first?.attempt, second?.attempt]
        }
        while try subscription.control.state()?.failure == nil { await Task.yield() }
        // A paused owner waits for a change of the subscription.
        while store.file.feed.waiterCount == 0, !isDelivered.withLock({ $0 }) { await Task.yield() }
        #expect(!isDelivered.withLock { $0 })
        try subscription.control.resume()
        #expect(try await owner.value == [1, 1])
    }

    @Test func anOwnerThatNotesAFailureFollowsARetryOfParkedDeliveries() async throws {
        var policy = SubscriptionScene.patient
        policy.attempts = 1
        policy.whenExhausted = .park
        let subscription = try store.subscribe(
            "mail", to: store.changes(of: Article.self), policy: policy)
        try scene.insert("a", "b")
        var deliveries = subscription.deliveries.makeAsyncIterator()
        try await deliveries.next()?.fail(Failure())
        let second = try await deliveries.next()
        try subscription.control.retryParked()
        try second?.fail(Failure())
        #expect(try await deliveries.next()?.revision == 1)
    }

    @Test func aCancelledConsumerNotesNoFailure() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        try scene.insert("a")
        let owner = Task {
            var deliveries = subscription.deliveries.makeAsyncIterator()
            _ = try await deliveries.next()
            withUnsafeCurrentTask { $0?.cancel() }
            return try await deliveries.next() == nil
        }
        #expect(try await owner.value)
        #expect(try subscription.control.state()?.failure == nil)
    }
}

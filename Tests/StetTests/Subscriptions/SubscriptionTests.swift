import Foundation
import Stet
import StetStore
import StetTestModels
import Synchronization
import Testing

/// Durable subscriptions: named positions that survive whoever consumes them.
@Suite struct SubscriptionTests {
    private let scene: SubscriptionScene
    private var store: Store { scene.store }

    init() throws { scene = try SubscriptionScene() }

    private func titles() throws -> [String] {
        try store.context().fetch(Notebook.self).all().map(\.name).sorted()
    }

    /// Copies the titles of articles into names of notebooks, until it has seen the last one.
    private func copy(
        _ subscription: Subscription<ChangeEvent<Article>>, until last: String
    ) async throws {
        let task = Task {
            try await subscription.run { event, context in
                for change in event.changes {
                    guard let title = change.new[\.title] else { continue }
                    context.insert(Notebook(name: title))
                }
            }
        }
        while try !titles().contains(last) { await Task.yield() }
        task.cancel()
        try await task.value
    }

    // MARK: Transactional

    @Test("A7 the effect of a delivery and the position are one commit, whoever goes on")
    func effectAndPositionAreOneCommit() async throws {
        try scene.insert("before")
        let first = try store.subscribe("copy", to: store.changes(of: Article.self))
        try scene.insert("a", "b")
        try await copy(first, until: "b")
        try scene.insert("c", "d")
        // The start of the feed applies to a new subscription only.
        let second = try store.subscribe(
            "copy", to: store.changes(of: Article.self, after: .beginning))
        try await copy(second, until: "d")
        #expect(try titles() == ["a", "b", "c", "d"])
        var effects: [String: Revision] = [:]
        for commit in try store.journal() where commit.subscription != nil {
            #expect(commit.subscription == "copy")
            #expect(commit.label == "copy")
            let name = commit.changeSet.changes.first?["name"]?.new
            if case .string(let name)? = name { effects[name] = commit.revision }
        }
        #expect(effects.keys.sorted() == ["a", "b", "c", "d"])
        let state = try #require(try store.subscription(named: "copy").state())
        #expect(state.status == .active)
        #expect(state.parkedCount == 0)
        #expect(!state.isOwned)
        #expect(state.position == 7)
        #expect(try store.verify().problems == [])
    }

    @Test func aHandlerThatThrowsSavesNothingAndIsAskedAgain() async throws {
        let subscription = try store.subscribe(
            "copy", to: store.commits, policy: SubscriptionScene.patient)
        try scene.insert("a")
        var attempts = 0
        let task = Task {
            var attempts = 0
            try await subscription.run(author: "copier") { commit, context in
                attempts += 1
                context.insert(Notebook(name: "attempt \(attempts)"))
                if attempts < 3 { throw Failure() }
            }
            return attempts
        }
        while try titles().isEmpty { await Task.yield() }
        task.cancel()
        attempts = try await task.value
        #expect(attempts == 3)
        #expect(try titles() == ["attempt 3"])
        #expect(try store.journal().last?.author == "copier")
        #expect(try store.subscription(named: "copy").state()?.failure == nil)
    }

    @Test func theLastFailureStopsUntilItIsResumed() async throws {
        let subscription = try store.subscribe(
            "copy", to: store.commits, policy: SubscriptionScene.patient)
        try scene.insert("a", "b")
        let error = await #expect(throws: SubscriptionError.self) {
            try await subscription.run { _, _ in throw Failure() }
        }
        let failure = try #require(error?.failure)
        #expect(error?.code == .stopped)
        #expect(error?.name == "copy")
        #expect(failure.revision == 1)
        #expect(failure.count == 3)
        #expect(failure.message == "Failure()")
        #expect(failure.time == scene.scratch.now)
        let control = subscription.control
        #expect(try control.state()?.status == .stopped)
        #expect(try control.state()?.position == 0)
        #expect(try control.state()?.failure == failure)
        // Another run throws the same error, and calls no handler.
        let again = await #expect(throws: SubscriptionError.self) {
            try await subscription.run { _, _ in Issue.record("was called") }
        }
        #expect(again == error)
        try control.resume()
        try await scene.deal(with: subscription, 2)
        #expect(try control.state()?.position == 2)
        #expect(try control.state()?.failure == nil)
    }

    @Test func aHandlerWithoutEditsMovesThePositionAlone() async throws {
        let subscription = try store.subscribe("audit", to: store.commits)
        try scene.insert("a", "b", "c")
        let seen = Mutex<[Revision]>([])
        let task = Task {
            try await subscription.run { commit, _ in seen.withLock { $0.append(commit.revision) } }
        }
        while try subscription.control.state()?.position != 3 { await Task.yield() }
        task.cancel()
        try await task.value
        #expect(seen.withLock { $0 } == [1, 2, 3])
        #expect(try store.revision() == 3)
    }

    @Test func anEffectThatOthersOvertakeIsMadeAgain() async throws {
        let id = try scene.insert("a")[0]
        let subscription = try store.subscribe("rate", to: store.commits(after: .beginning))
        let store = store
        let attempts = Mutex(0)
        let task = Task {
            try await subscription.run { commit, context in
                guard commit.revision == 1 else { return }
                let attempt = attempts.withLock { count in
                    count += 1
                    return count
                }
                let article = try #require(try context.object(Article.self, id: id))
                article.rating += 1
                if attempt == 1 {
                    try store.edit { try $0.object(Article.self, id: id)?.rating = 2 }
                }
            }
        }
        while try store.subscription(named: "rate").state()?.position != 2 { await Task.yield() }
        task.cancel()
        try await task.value
        #expect(try store.context().object(Article.self, id: id)?.rating == 3)
        #expect(attempts.withLock { $0 } == 2)
    }

    // MARK: At least once

    @Test func whatIsNotAcknowledgedComesAgain() async throws {
        let subscription = try store.subscribe(
            "mail", to: store.commits, policy: SubscriptionScene.patient)
        try scene.insert("a", "b")
        var seen: [(Revision, Int)] = []
        for try await delivery in subscription.deliveries {
            seen.append((delivery.revision, delivery.attempt))
            switch seen.count {
            case 1: break
            case 2: try delivery.fail(Failure())
            default: try await delivery.acknowledge()
            }
            if seen.count == 3 { break }
        }
        // The next iterator starts after the acknowledged delivery.
        for try await delivery in subscription.deliveries {
            seen.append((delivery.revision, delivery.attempt))
            break
        }
        for try await delivery in subscription.deliveries {
            seen.append((delivery.revision, delivery.attempt))
            break
        }
        #expect(seen.map(\.0) == [1, 1, 1, 2, 2])
        #expect(seen.map(\.1) == [1, 2, 3, 1, 1])
    }

    @Test func aDeliveryIsDecidedOnce() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        try scene.insert("a")
        var iterator = subscription.deliveries.makeAsyncIterator()
        let delivery = try #require(try await iterator.next())
        try await delivery.acknowledge()
        let error = SubscriptionError.alreadyDecided(name: "mail", 1)
        await #expect(throws: error) { try await delivery.acknowledge() }
        #expect(throws: error) { try delivery.fail(Failure()) }
    }

    @Test func thereIsOneOwnerAndTheNextOneWaits() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        try scene.insert("a", "b")
        var owner: Subscription<Commit>.Deliveries.Iterator? = subscription.deliveries
            .makeAsyncIterator()
        let first = try #require(try await owner?.next())
        #expect(try subscription.control.state()?.isOwned == true)
        let isDelivered = Mutex(false)
        let other = Task {
            for try await delivery in subscription.deliveries {
                isDelivered.withLock { $0 = true }
                return delivery.revision
            }
            return 0
        }
        // The other owner waits for the lease.
        while store.file.feed.waiterCount == 0, !isDelivered.withLock({ $0 }) { await Task.yield() }
        #expect(!isDelivered.withLock { $0 })
        try await first.acknowledge()
        _ = try await owner?.next()
        owner = nil
        #expect(try await other.value == 2)
    }

    @Test func aLateOwnerMovesNothing() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        try scene.insert("a", "b")
        var owner: Subscription<Commit>.Deliveries.Iterator? = subscription.deliveries
            .makeAsyncIterator()
        let late = try #require(try await owner?.next())
        owner = nil
        #expect(try await scene.deal(with: subscription, 1) == [1])
        let error = SubscriptionError.lost(name: "mail")
        await #expect(throws: error) { try await late.acknowledge() }
        #expect(try subscription.control.state()?.position == 1)
        #expect(try await scene.deal(with: subscription, 1) == [2])
    }

    @Test func anOwnerThatWasTakenOverWithAnOpenDeliveryMovesNothing() async throws {
        let subscription = try store.subscribe("mail", to: store.commits)
        try scene.insert("a")
        var owner: Subscription<Commit>.Deliveries.Iterator? = subscription.deliveries
            .makeAsyncIterator()
        let late = try #require(try await owner?.next())
        owner = nil
        var next = subscription.deliveries.makeAsyncIterator()
        let delivery = try #require(try await next.next())
        await #expect(throws: SubscriptionError.lost(name: "mail")) {
            try await late.acknowledge()
        }
        #expect(try subscription.control.state()?.position == 0)
        try await delivery.acknowledge()
        #expect(try subscription.control.state()?.position == 1)
    }
}

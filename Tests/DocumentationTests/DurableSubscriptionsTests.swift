import Stet
import StetTestSupport
import Synchronization
import Testing

/// The code of DurableSubscriptions.md.
@Suite struct DurableSubscriptionsTests {
    @Test func anEffectInTheStoreIsMadeOnce() async throws {
        let desk = try Desk()
        let store = desk.store

        let great = store.changes(of: Article.self, when: .entering) { $0.rating == 5 }
        let subscription = try store.subscribe("announce", to: great.withSnapshots())

        try desk.saveElsewhere { $0.rating = 5 }
        let task = Task {
            try await subscription.run { event, context in
                for change in event.changes {
                    guard let title = change.new.snapshot?.title else { continue }
                    context.insert(Notebook(name: "\(title) is great"))
                }
            }
        }
        while try store.subscriptions().first?.position != 2 { await Task.yield() }
        task.cancel()
        try await task.value
        #expect(try store.journal().last?.subscription == "announce")
    }

    @Test func anEffectElsewhereIsAcknowledged() async throws {
        let desk = try Desk()
        let store = desk.store
        let subscription = try store.subscribe("post", to: store.changes(of: Article.self))
        try desk.saveElsewhere { $0.rating = 5 }
        var posted: [Revision] = []
        func post(_ event: ChangeEvent<Article>) async throws { posted.append(event.revision) }

        for try await delivery in subscription.deliveries {
            try await post(delivery.element)
            try await delivery.acknowledge()
            if delivery.element.commit.label == "elsewhere" { break }
        }

        #expect(posted == [2])
        #expect(try store.subscriptions().map(\.position) == [2])
    }

    struct Outbox {
        let store: Store
        let send: @Sendable (_ key: String, _ body: String) async throws -> Void

        func run() async throws {
            var policy = SubscriptionPolicy()
            policy.attempts = 3
            policy.initialDelay = .milliseconds(1)
            policy.whenExhausted = .park
            let changes = store.changes(of: Article.self, after: .beginning)
                .properties(\.title)
            let outbox = try store.subscribe("outbox", to: changes, policy: policy)
            for try await delivery in outbox.deliveries {
                do {
                    for change in delivery.element.changes {
                        let title = change.new[\.title] ?? "(deleted)"
                        try await send("\(delivery.revision)/\(change.id)", title)
                    }
                    try await delivery.acknowledge()
                } catch let error as SubscriptionError {
                    throw error
                } catch {
                    try delivery.fail(error)
                }
            }
        }
    }

    private struct Unreachable: Error {}

    @Test func anOutboxSendsWhatHasChanged() async throws {
        let desk = try Desk()
        let store = desk.store
        try desk.saveElsewhere { $0.title = "Bad" }
        try desk.saveElsewhere { $0.title = "Good" }
        let sent = Mutex<[String]>([])
        let outbox = Outbox(store: store) { _, body in
            sent.withLock { $0.append(body) }
            if body == "Bad" { throw Unreachable() }
        }
        let task = Task { try await outbox.run() }
        while try store.subscriptions().first?.position != 3 { await Task.yield() }
        task.cancel()
        try await task.value
        #expect(sent.withLock { $0.suffix(3) } == ["Bad", "Bad", "Bad"])
        let parked = try store.subscription(named: "outbox").parkedDeliveries()
        #expect(parked.map(\.revision) == [2, 3])
        #expect(parked.first?.failure?.message == "Unreachable()")
    }

    @Test func subscriptionsAreLookedAfter() async throws {
        let desk = try Desk()
        let store = desk.store
        _ = try store.subscribe("announce", to: store.commits)
        var alerts: [String] = []

        for state in try store.subscriptions() where state.lag > 1_000 || state.status == .stopped {
            alerts.append("\(state.name) is \(state.lag) commits behind")
        }
        let control = store.subscription(named: "announce")
        try control.pause()
        try control.rewind(to: 1)
        try control.resume()

        #expect(alerts == [])
        #expect(try control.state()?.status == .active)
        #expect(try control.state()?.position == 1)
    }
}

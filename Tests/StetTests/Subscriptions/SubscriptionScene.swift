import Foundation
import Stet
import StetStore
import StetTestModels
import Synchronization

/// A store whose commits are delivered to subscriptions.
struct SubscriptionScene {
    let scratch: Scratch
    var store: Store { scratch.store }

    init() throws { scratch = try Scratch() }

    /// Three attempts without pauses.
    static let patient: SubscriptionPolicy = {
        var policy = SubscriptionPolicy()
        policy.attempts = 3
        policy.initialDelay = .zero
        return policy
    }()

    /// Commits an article for each title.
    @discardableResult
    func insert(_ titles: String...) throws -> [ObjectID] {
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

    /// Acknowledges a number of deliveries, and returns the numbers of their commits.
    @discardableResult
    func deal<Element>(
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
}

/// The error of a handler.
struct Failure: Error {}

import ArgumentParser
import Foundation
import Glibc
import Stet
import StetStore
import StetTestModels
import StetTestSupport

/// Kills writers, owners of subscriptions and processes that wait to take over at random times;
/// each case is one store and up to 25 kills.
struct Subscriptions: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Kills writers and consumers of subscriptions, SIZE kills in all.")

    @OptionGroup var options: CampaignOptions

    private static let killsPerStore = 25

    func run(_ report: Report) throws {
        let storeCount = (options.size + Self.killsPerStore - 1) / Self.killsPerStore
        try forEachCase(of: storeCount, report) { index in
            var store = SubscribedStore(seed: options.seed, index: index)
            let quota = min(Self.killsPerStore, options.size - index * Self.killsPerStore)
            var problem: String?
            while problem == nil, store.killCount < quota, report.wantsMore {
                problem = try store.round(limit: quota - store.killCount)
            }
            problem = try problem ?? store.judge()
            if let problem { report.finding(index, problem, files: [store.path]) }
            report.count("stores")
            report.count("kills", store.killCount)
            report.count("commits", store.commitCount)
            report.count("effects", store.effectCount)
            report.count("messages", store.messages.count)
            report.count("messages again", store.messages.count - Set(store.messages).count)
        }
    }
}

/// A store whose writers and consumers are killed in each round.
private struct SubscribedStore {
    let path: String
    private(set) var killCount = 0
    private(set) var commitCount = 0
    private(set) var effectCount = 0
    /// The revisions of delivered messages, including repeated deliveries.
    private(set) var messages: [UInt64] = []

    private let directory = TemporaryDirectory()
    private var random: SeededGenerator

    init(seed: UInt64, index: Int) {
        random = SeededGenerator(seed: seed, stream: index)
        path = directory.file()
    }

    /// Starts writers and consumers, kills them, records their output, and returns a description of
    /// a problem.
    mutating func round(limit: Int) throws -> String? {
        let roles = [["post"], ["consume", "effects"], ["consume", "messages"]]
        // Every role occurs at least once. A second consumer waits to take over.
        let count = min(limit, 3 + Int.random(in: 0...2, using: &random))
        let children = try (0..<count).map { number in
            let role = number < 3 ? roles[number] : roles[Int.random(in: 0..<3, using: &random)]
            return try Child([role[0], path] + role[1...])
        }
        let start = ContinuousClock.now
        let times = children.map { _ in Int.random(in: 0...250_000, using: &random) }
        for (time, child) in zip(times, children).sorted(by: { $0.0 < $1.0 }) {
            Child.read(children, until: start + .microseconds(time))
            child.kill()
            killCount += 1
        }
        return try end(children)
    }

    private mutating func end(_ children: [Child]) throws -> String? {
        for child in children {
            let ending = child.end(within: .seconds(20))
            guard ending == .killed(SIGKILL) else {
                return "a child ended by itself: \(child.lines.last ?? "without a word")"
            }
            messages += child.lines.compactMap {
                $0.hasPrefix("got ") ? UInt64($0.dropFirst(4)) : nil
            }
        }
        return nil
    }

    /// Lets the subscriptions reach the end, and compares their effects with the journal.
    mutating func judge() throws -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        for kind in ["effects", "messages"] {
            let child = try Child(["consume", path, kind, "--to-the-end"])
            guard child.end(within: .seconds(60)) == .exited(0) else {
                return "\(kind) did not come to their end: \(child.lines.last ?? "")"
            }
            messages += child.lines.compactMap {
                $0.hasPrefix("got ") ? UInt64($0.dropFirst(4)) : nil
            }
        }
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        defer { store.close() }
        let report = try store.verify()
        if let problem = report.problems.first { return problem }
        let commits = try store.journal()
        let posted = commits.filter { $0.subscription == nil }.map { "\($0.revision)" }
        let effects = try store.context().fetch(Notebook.self).all().map(\.name)
        commitCount = commits.count
        effectCount = effects.count
        if effects.sorted() != posted.sorted() {
            let lost = Set(posted).subtracting(effects).sorted().first
            let twice = Dictionary(grouping: effects) { $0 }.first { $1.count > 1 }?.key
            return "\(posted.count) commits had \(effects.count) effects; lost: \(lost ?? "none"), "
                + "twice: \(twice ?? "none")"
        }
        let missing = Set(commits.map(\.revision.number)).subtracting(messages).sorted().first
        return missing.map { "the message of commit \($0) was never delivered" }
    }
}

/// The child that commits one article after the other.
struct Post: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Inserts articles, one in each commit.")

    @Argument var path: String

    func run() throws {
        try reportingErrors {
            let store = try Store.open(at: path, for: Notebook.self, Article.self)
            while true { try store.edit { $0.insert(Article(title: "posted")) } }
        }
    }
}

/// The child that owns a subscription, or waits to own it.
struct Consume: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delivers the commits of a subscription.")

    enum Kind: String, ExpressibleByArgument {
        /// Inserts a notebook for each commit that is not such an effect, in the same transaction.
        case effects
        /// Writes "got REVISION", and acknowledges.
        case messages
    }

    @Argument var path: String
    @Argument var kind: Kind
    @Flag(help: "Ends when nothing is left to be delivered.")
    var toTheEnd = false

    func run() throws {
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        let end = try last(in: store)
        if toTheEnd, end == .zero { return }
        Task {
            do {
                try await consume(store, end)
                Glibc.exit(0)
            } catch {
                say("error: \(error)")
                Glibc.exit(1)
            }
        }
        dispatchMain()
    }

    /// Returns the last commit that is delivered.
    private func last(in store: Store) throws -> Revision {
        try store.journal().filter { kind == .messages || $0.subscription == nil }
            .map(\.revision).max() ?? .zero
    }

    private func consume(_ store: Store, _ end: Revision) async throws {
        let subscription = try store.subscribe(
            kind.rawValue, to: store.commits(after: .beginning))
        let isDone = { (revision: Revision) in toTheEnd && revision >= end }
        if toTheEnd, try subscription.control.state()?.position ?? .zero >= end { return }
        switch kind {
        case .messages:
            for try await delivery in subscription.deliveries {
                say("got \(delivery.revision)")
                try await delivery.acknowledge()
                if isDone(delivery.revision) { return }
            }
        case .effects:
            let signals = store.signals
            let task = Task {
                try await subscription.run { commit, context in
                    context.insert(Notebook(name: "\(commit.revision)"))
                }
            }
            for try await _ in signals where toTheEnd {
                if isDone(try subscription.control.state()?.position ?? .zero) { break }
            }
            task.cancel()
            try await task.value
        }
    }
}

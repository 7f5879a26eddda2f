import Glibc
import Stet
import Synchronization

/// The time that observers add to a commit.
///
/// The store is in memory, for the time of a durable commit varies by more than what is measured.
struct FeedWorkloads {
    private static let observerCount = 100
    /// The notebooks whose articles the observed queries find, as `Samples` numbers them.
    private static let observed = 0..<5
    /// The notebook whose article is changed.
    private static let changed = 500

    private typealias Observe = @Sendable () -> Task<Void, any Error>

    private let options: Options
    private let store: Store
    private let notebookIDs: [ObjectID]
    /// The article that every commit changes, and another one.
    private let target: ObjectID
    private let stranger: ObjectID
    /// The number of changes that observers have received.
    private let received = Counter()

    init(_ options: Options, _ samples: Samples) throws {
        self.options = options
        store = try Store.inMemory(for: Notebook.self, Article.self)
        try store.commitNotebooks()
        let (context, notebooks) = try store.contextWithNotebooks()
        notebookIDs = notebooks.map(\.id)
        context.insert(samples.values[..<options.storedCount], into: notebooks)
        try context.save()
        target = try Self.article(of: notebookIDs[Self.changed], in: store)
        stranger = try Self.article(of: notebookIDs[Self.changed + 1], in: store)
    }

    private static func article(of notebook: ObjectID, in store: Store) throws -> ObjectID {
        let query = store.context().fetch(Article.self) { $0.notebook?.id == notebook }
        guard let article = try query.first() else { throw Failure("a notebook has no article") }
        return article.id
    }

    func close() { store.close() }

    func run(_ measurements: inout Measurements) async throws {
        let store = store
        let (target, stranger, received) = (target, stranger, received)
        let ids = notebookIDs[Self.observed]
        let query = store.fetch(Article.self) { $0.rating == 5 && ids.contains($0.notebook?.id) }
            .sorted(by: \.title)
        let kinds: [(String, Int, Observe)] = [
            (
                "W9 100 other feeds", Self.observerCount,
                {
                    Task {
                        for try await _ in store.changes(of: Article.self).objects([stranger]) {}
                    }
                }
            ),
            (
                "W9 one feed", 1,
                {
                    Task {
                        let changes = store.changes(of: Article.self).objects([target])
                        for try await _ in changes { received.increment() }
                    }
                }
            ),
            (
                "W9 100 other queries", Self.observerCount,
                { Task { for try await _ in store.observe(query) {} } }
            ),
        ]
        for (name, count, observe) in kinds {
            var added = Costs(wall: [], processor: [])
            for _ in 0..<options.feedBlocks {
                let without = try await commitCost(0, observe)
                let with = try await commitCost(count, observe, isReceived: count == 1)
                added.wall.append(with.wall - without.wall)
                added.processor.append(with.processor - without.processor)
            }
            measurements.add(
                Measurements.median(added.wall.sorted()), .microsecondsAdded, name, .stet)
            measurements.add(
                Measurements.median(added.processor.sorted()), .microsecondsAdded, "\(name), CPU",
                .stet)
        }
    }

    private struct Costs {
        var wall: [Double]
        var processor: [Double]
    }

    /// Returns the microseconds of a commit beside some observers: the median of the time until it
    /// returns, and the mean of the processor time of the whole process.
    ///
    /// An observer that gets the change has received it before the next commit, so that its work is
    /// not in the time of that one.
    private func commitCost(
        _ count: Int, _ observe: Observe, isReceived: Bool = false
    ) async throws -> (wall: Double, processor: Double) {
        let observers = (0..<count).map { _ in observe() }
        // Nothing tells when all of them wait.
        try await Task.sleep(for: .milliseconds(50))
        var times: [Double] = []
        var known = received.value
        let before = Self.processorMicroseconds
        for _ in 0..<options.feedCommits {
            let start = ContinuousClock.now
            try changeTarget()
            times.append(start.duration(to: .now) / .microseconds(1))
            if isReceived {
                while received.value == known { await Task.yield() }
                known = received.value
            }
        }
        let processor = Self.processorMicroseconds - before
        for observer in observers {
            observer.cancel()
            _ = await observer.result
        }
        return (
            Measurements.median(times.sorted()), processor / Double(options.feedCommits)
        )
    }

    private static var processorMicroseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    private func changeTarget() throws {
        let context = store.context()
        guard let article = try context.object(Article.self, id: target) else {
            throw Failure("an article is missing")
        }
        article.rating = article.rating == 5 ? 4 : 5
        try context.save()
    }
}

private final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func increment() { count.add(1, ordering: .relaxed) }
}

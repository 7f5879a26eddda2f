import Foundation
import GRDB
import Glibc
import Stet
import Synchronization

/// Live queries beside GRDB's `ValueObservation`, and the way from another process to a live query.
///
/// Each commit changes one article; where observers get something of it, the next one waits until
/// all of them have.
struct ObservationWorkloads {
    private static let observerCount = 100
    /// The notebooks whose articles the observed queries find, as `Samples` numbers them.
    private static let observed = 0..<5

    private let options: Options
    private let samples: Samples
    private let store: Store
    private let storePath: String
    private let ids: [ObjectID]
    private let notebookIDs: [ObjectID]
    private let pool: DatabasePool

    init(_ options: Options, _ samples: Samples, directory: String) throws {
        self.options = options
        self.samples = samples
        storePath = directory + "/observed.stet"
        store = try Store.open(storePath)
        try store.commitNotebooks()
        let (context, notebooks) = try store.contextWithNotebooks()
        notebookIDs = notebooks.map(\.id)
        context.insert(samples.values[..<options.storedCount], into: notebooks)
        try context.save()
        ids = try store.context().fetch(Article.self).all().map(\.id)
        pool = try GRDBPeer.openPool(directory + "/observed.grdb", [.tuned])
        try pool.write { database in
            try createTables(database)
            for _ in 0..<Samples.notebookCount {
                try database.execute(sql: "INSERT INTO notebook (name) VALUES ('Notebook')")
            }
            for sample in samples.values[..<options.storedCount] {
                var article = ArticleRecord(sample)
                try article.insert(database)
            }
        }
    }

    func close() throws {
        store.close()
        try pool.close()
    }

    func run(round: Int, _ measurements: inout Measurements) async throws {
        let few = options.observedCommits
        for (name, count, commits) in [
            ("W9'", Self.observerCount, few), ("W9' 1,000", 10 * Self.observerCount, few / 4),
        ] {
            for program in round % 2 == 0 ? [Program.stet, .grdbTuned] : [.grdbTuned, .stet] {
                let rate =
                    program == .stet
                    ? try await liveQueries(count, commits: commits)
                    : try await valueObservations(count, commits: commits, byRegion: false)
                measurements.add(rate, .commits, name, program)
            }
            let rate = try await valueObservations(count, commits: commits, byRegion: true)
            measurements.add(rate, .commits, name, .grdbRegion)
        }
        try await measureOtherProcess(&measurements)
    }

    // MARK: Commits

    /// The positions of articles in some notebooks.
    private func positions(in notebooks: Range<Int>) -> [Int] {
        (0..<options.storedCount).filter { notebooks.contains(samples.values[$0].notebook) }
    }

    /// Gives an article another rating, so that it enters the observed results or leaves them.
    ///
    /// - Returns: the difference that makes to the number of their objects.
    @discardableResult
    private func toggle(_ position: Int) async throws -> Int {
        let id = ids[position]
        let context = store.context()
        guard let article = try context.object(Article.self, id: id) else {
            throw Failure("an article is missing")
        }
        article.rating = article.rating == 5 ? 4 : 5
        try await context.save()
        return article.rating == 5 ? 1 : -1
    }

    // MARK: Live queries

    private var query: SnapshotFetch<Article> {
        let ids = notebookIDs[Self.observed]
        return store.fetch(Article.self) { $0.rating == 5 && ids.contains($0.notebook?.id) }
            .sorted(by: \.title)
    }

    /// Commits per second, each with an update of every query.
    private func liveQueries(_ count: Int, commits: Int) async throws -> Double {
        let arrivals = Arrivals()
        let query = query
        let observers = (0..<count).map { number in
            let updates = store.observe(query)
            return Task {
                for try await update in updates { arrivals.note(update.result.count, of: number) }
            }
        }
        defer { for observer in observers { observer.cancel() } }
        var expected = try query.count()
        await arrivals.wait(for: expected, of: count)
        let positions = positions(in: Self.observed)
        let start = ContinuousClock.now
        for index in 0..<commits {
            expected += try await toggle(positions[index % positions.count])
            await arrivals.wait(for: expected, of: count)
        }
        let time = start.duration(to: .now)
        try expectEqual(expected, try query.count(), "the observed results")
        return Double(commits) / (time / .seconds(1))
    }

    private func valueObservations(
        _ count: Int, commits: Int, byRegion: Bool
    ) async throws -> Double {
        let first = Int64(Self.observed.lowerBound + 1)
        let last = Int64(Self.observed.upperBound)
        let request = ArticleRecord.filter(Column("rating") == 5)
            .filter((first...last).contains(Column("notebookId"))).order(Column("title"))
        let arrivals = Arrivals()
        let observers = (0..<count).map { number in
            let pool = pool
            let observation =
                byRegion
                ? ValueObservation.tracking(
                    region: ArticleRecord.all(), fetch: { try request.fetchAll($0) })
                : ValueObservation.tracking { try request.fetchAll($0) }
            return Task {
                for try await articles in observation.values(in: pool) {
                    arrivals.note(articles.count, of: number)
                }
            }
        }
        defer { for observer in observers { observer.cancel() } }
        var expected = try await pool.read { try request.fetchCount($0) }
        await arrivals.wait(for: expected, of: count)
        let positions = positions(in: Self.observed)
        let start = ContinuousClock.now
        for index in 0..<commits {
            let id = Int64(positions[index % positions.count] + 1)
            expected += try await pool.write { database in
                guard var article = try ArticleRecord.fetchOne(database, key: id) else {
                    throw Failure("an article is missing")
                }
                try article.updateChanges(database) { $0.rating = $0.rating == 5 ? 4 : 5 }
                return article.rating == 5 ? 1 : -1
            }
            await arrivals.wait(for: expected, of: count)
        }
        let time = start.duration(to: .now)
        let stored = try await pool.read { try request.fetchCount($0) }
        try expectEqual(expected, stored, "the observed results")
        return Double(commits) / (time / .seconds(1))
    }

    // MARK: Another process

    /// The time from a commit of another process to the update of a live query here.
    private func measureOtherProcess(_ measurements: inout Measurements) async throws {
        let position = positions(in: Self.observed)[0]
        let id = ids[position]
        let query = store.fetch(Article.self) { $0.id == id }
        var updates = store.observe(query).makeAsyncIterator()
        _ = try await updates.next()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            OtherProcess.flag, storePath, id.description, "\(options.foreignCommits)",
        ]
        try process.run()
        var delays: [Double] = []
        while delays.count < options.foreignCommits, let update = try await updates.next() {
            guard let made = update.result.first?.created.timeIntervalSinceReferenceDate else {
                throw Failure("an article is missing")
            }
            delays.append((OtherProcess.uptime - made) * 1_000)
            // One that came together with a later one is counted with that.
            if update.commits.count > 1 { delays += [delays[delays.count - 1]] }
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure("the other process failed") }
        measurements.add(
            Measurements.median(delays.sorted()), .milliseconds, "W9 other process", .stet)
    }
}

/// The work of a second process: commits now and then, with the time of each in the article.
enum OtherProcess {
    static let flag = "--commit-beside"

    /// Seconds of a clock that all processes share.
    static var uptime: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Does its work when the arguments ask for it; false when they do not.
    static func run(_ arguments: [String]) throws -> Bool {
        guard arguments.count == 4, arguments[0] == flag else { return false }
        guard let id = ObjectID(arguments[2]), let count = Int(arguments[3]) else {
            throw Failure("an id and a number of commits")
        }
        let store = try Store.open(arguments[1])
        for _ in 0..<count {
            usleep(20_000)
            try store.edit { context in
                guard let article = try context.object(Article.self, id: id) else {
                    throw Failure("an article is missing")
                }
                article.created = Date(timeIntervalSinceReferenceDate: uptime)
            }
        }
        store.close()
        return true
    }
}

/// The sizes of the results that observers have got last.
private final class Arrivals: Sendable {
    private struct State {
        var sizes: [Int: Int] = [:]
        /// The task that waits until so many observers have a result of this size.
        var waiter: (size: Int, count: Int, continuation: CheckedContinuation<Void, Never>)?

        func isReached(_ size: Int, _ count: Int) -> Bool {
            sizes.count == count && sizes.values.allSatisfy { $0 == size }
        }
    }
    private let state = Mutex(State())

    func note(_ size: Int, of observer: Int) {
        state.withLock { state in
            state.sizes[observer] = size
            guard let waiter = state.waiter, size == waiter.size,
                state.isReached(size, waiter.count)
            else { return }
            state.waiter = nil
            waiter.continuation.resume()
        }
    }

    /// Waits until all of so many observers have a result of a size.
    func wait(for size: Int, of count: Int) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if state.isReached(size, count) {
                    continuation.resume()
                } else {
                    state.waiter = (size, count, continuation)
                }
            }
        }
    }
}

import Stet

/// The work that only a unit of work does: sets, snapshots, refused saves.
///
/// Bare LMDB has no equivalent.
struct EditingWorkloads {
    /// The rollback at the end of a refused save.
    private static let rollback = "W13"
    private static let rollbackShare = "W13 share"
    private static let bytesWritten = "W13 bytes"
    private static let bytesWrittenByUndo = "W13 undo bytes"
    private static let snapshotAndRestore = "W14"

    /// With an author every save can be undone.
    private static let author = "bench"

    private let store: Store
    private let pendingCount: Int

    init(_ options: Options, _ samples: Samples, directory: String) throws {
        pendingCount = options.pendingCount
        store = try Store.open(directory + "/editing.stet")
        try store.commitNotebooks()
        let (context, notebooks) = try store.contextWithNotebooks()
        context.insert(samples.values[..<pendingCount], into: notebooks)
        try context.save()
    }

    func run(round: Int, _ measurements: inout Measurements) throws {
        try set(&measurements)
        try putBack(&measurements)
        try save(&measurements)
        try undoRefused(&measurements)
    }

    func close() { store.close() }

    private func set(_ measurements: inout Measurements) throws {
        let (context, articles) = try articles()
        let ratings = articles.map(\.rating)
        let passes = 10
        measurements.time("first set of a property", .stet, objects: pendingCount) {
            for index in articles.indices { articles[index].rating = index % 6 }
        }
        measurements.time(
            "later set of a property", .stet, objects: pendingCount * passes
        ) {
            for pass in 0..<passes {
                for index in articles.indices { articles[index].rating = (index + pass) % 6 }
            }
        }
        measurements.time(Self.rollback, .stet, objects: pendingCount) {
            context.rollback()
        }
        // It also keeps the articles alive, as a program does that goes on with them.
        try expectEqual(articles.map(\.rating), ratings, "the ratings after a rollback")
    }

    private func putBack(_ measurements: inout Measurements) throws {
        let (context, articles) = try pending(rating: 1)
        let clock = ContinuousClock()
        var snapshot = context.snapshot()
        let taking = clock.measure { snapshot = context.snapshot() }
        for article in articles { article.rating = 2 }
        let restoring = clock.measure { context.restore(snapshot) }
        measurements.add(
            (taking + restoring) / .nanoseconds(1) / Double(pendingCount), .nanoseconds,
            Self.snapshotAndRestore, .stet)
        guard articles.allSatisfy({ $0.rating == 1 }) else {
            throw Failure("restore has not put the ratings back")
        }
    }

    /// A save whose last edit is invalid, then a good one.
    private func save(_ measurements: inout Measurements) throws {
        let revision = try store.revision()
        try saveRefused(&measurements)
        try expectEqual(try store.revision(), revision, "the revision after a refused save")
        let (context, articles) = try pending(rating: 3)
        // Adds the revision, so that each round's titles differ and every edit is a change.
        for (index, article) in articles.enumerated() {
            article.title = "edited \(revision) \(index)"
        }
        let clock = ContinuousClock()
        let saving = try clock.measure { _ = try context.save() }
        measurements.add(
            saving / .nanoseconds(1) / Double(pendingCount), .nanoseconds, "save of edits", .stet)
        for article in articles { article.rating = 1 }
        let rollback = clock.measure { context.rollback() }
        measurements.add(rollback / saving * 100, .percent, Self.rollbackShare, .stet)
        guard articles.allSatisfy({ $0.rating == 3 }) else {
            throw Failure("a rollback has not put the ratings back")
        }
    }

    /// An undo of the save, with the edit of another author in the way of one object.
    private func undoRefused(_ measurements: inout Measurements) throws {
        let other = store.context(author: "another")
        let articles = try other.fetch(Article.self).all()
        articles[articles.count - 1].title = "of another \(other.revision)"
        try other.save()
        let revision = try store.revision()
        let start = try WriteCounters.now()
        let isRefused = measurements.time(
            "refused undo of edits", .stet, objects: pendingCount
        ) {
            do {
                try store.undo(author: Self.author)
                return false
            } catch { return error is UndoConflictError }
        }
        let written = try WriteCounters.now().byteCount - start.byteCount
        measurements.add(Double(written), .bytes, Self.bytesWrittenByUndo, .stet)
        guard isRefused else { throw Failure("an undo with a conflict was not refused") }
        try expectEqual(try store.revision(), revision, "the revision after a refused undo")
    }

    private func saveRefused(_ measurements: inout Measurements) throws {
        let (context, articles) = try pending(rating: 4)
        articles[articles.count - 1].rating = 6
        let start = try WriteCounters.now()
        let isRefused = measurements.time(
            "refused save of edits, restored", .stet, objects: pendingCount
        ) {
            do {
                try context.save()
                return false
            } catch { return error is ValidationError }
        }
        let written = try WriteCounters.now().byteCount - start.byteCount
        measurements.add(Double(written), .bytes, Self.bytesWritten, .stet)
        guard isRefused, !context.hasChanges else {
            throw Failure("an invalid save was not refused, or its edits stayed")
        }
    }

    /// A fresh context with edited articles in it.
    private func pending(rating: Int) throws -> (ManagedContext, [Article]) {
        let (context, articles) = try articles()
        for article in articles { article.rating = rating }
        return (context, articles)
    }

    /// A fresh context with articles in it.
    private func articles() throws -> (ManagedContext, [Article]) {
        let context = store.context(author: Self.author)
        return (context, try context.fetch(Article.self).all())
    }
}

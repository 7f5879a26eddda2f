import Stet

/// The memory of large commits: what the process has at most beyond what it had before, for each
/// object of the commit.
struct MemoryWorkloads {
    private static let author = "bench"
    /// The bytes of an article's values: its texts, its numbers, its date and its reference.
    private static let dataByteCount = 20 + 200 + 8 + 8 + 16
    /// The bytes of the values that an update replaces: a title and a rating.
    private static let replacedByteCount = 20 + 8

    private let samples: Samples
    private let count: Int
    private let path: String

    init(_ options: Options, _ samples: Samples, directory: String) {
        self.samples = samples
        count = options.storedCount
        path = "\(directory)/memory.stet"
    }

    func run(_ measurements: inout Measurements) async throws {
        try removeStore(path)
        defer { try? removeStore(path) }
        let store = try Store.open(path)
        defer { store.close() }
        try store.commitNotebooks()
        try await insertStream(store, &measurements)
        try insert(store, &measurements)
        try update(store, &measurements)
        try undo(store, &measurements)
    }

    /// An import: the articles are a stream, and are saved in batches.
    private func insertStream(_ store: Store, _ measurements: inout Measurements) async throws {
        let values = samples.values[..<count]
        let elements = AsyncStream { continuation in
            for index in values.indices { continuation.yield(index) }
            continuation.finish()
        }
        let memory = MemoryPeak()
        let inserted = try await store.insert(stream: elements, author: Self.author) { index in
            let sample = values[index]
            return Article(sample, in: nil)
        }
        add(memory, "memory: import", data: 0, &measurements)
        try expectEqual(inserted, count, "the objects of the stream")
    }

    private func insert(_ store: Store, _ measurements: inout Measurements) throws {
        let (context, notebooks) = try store.contextWithNotebooks()
        context.insert(samples.values[..<count], into: notebooks)
        let memory = MemoryPeak()
        let commit = try context.save()
        add(memory, "memory: insert", data: Self.dataByteCount, &measurements)
        try expectEqual(commit?.changeCount, count, "the changes of the insert")
    }

    private func update(_ store: Store, _ measurements: inout Measurements) throws {
        let context = store.context(author: Self.author)
        let articles = try context.fetch(Article.self).sorted(by: \.id, .descending)
            .limit(count).all()
        for (article, sample) in zip(articles, samples.values) {
            article.title = String(sample.title.reversed())
            article.rating = (article.rating + 1) % 6
        }
        let memory = MemoryPeak()
        let commit = try context.save()
        add(memory, "memory: update", data: Self.replacedByteCount, &measurements)
        try expectEqual(commit?.changeCount, count, "the changes of the update")
    }

    private func undo(_ store: Store, _ measurements: inout Measurements) throws {
        let memory = MemoryPeak()
        let undo = try store.undo(author: Self.author)
        add(memory, "memory: undo", data: Self.replacedByteCount, &measurements)
        try expectEqual(undo?.changeCount, count, "the changes of the undo")
    }

    private func add(
        _ memory: MemoryPeak, _ name: String, data: Int, _ measurements: inout Measurements
    ) {
        let bytes = Double(memory.end()) / Double(count) - Double(data)
        measurements.add(bytes, .bytes, name, .stet)
    }
}

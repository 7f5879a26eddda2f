import StetStore

/// The results of a query, read in batches: for results that are too many to be held at once.
///
/// ```swift
/// for try await article in store.fetch(Article.self).stream() { … }
/// ```
///
/// All of it shows the revision of the first batch, whatever is committed meanwhile. Between
/// batches no read is open, so that a slow consumer keeps no pages from being used again. Where
/// neither the order of ids nor an index gives the order, the ids of the whole result are held.
public struct SnapshotStream<M: Model>: AsyncSequence {
    /// A snapshot.
    public typealias Element = M.Snapshot
    /// What `next` throws.
    public typealias Failure = any Error

    fileprivate let request: _QueryRequest<M>
    fileprivate let source: QuerySource
    fileprivate let batch: Int
    fileprivate let deadline: ContinuousClock.Instant?

    /// Begins to read when the first one is asked for.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Reads batch after batch.
    public struct Iterator: AsyncIteratorProtocol {
        private let stream: SnapshotStream
        private var source: QuerySource
        private var snapshots: ArraySlice<M.Snapshot> = []
        private var progress = Progress.start

        private enum Progress {
            case start
            /// The batch behind this object is next; so many more may come.
            case after(M.Snapshot, left: Int?)
            /// What is still to be read.
            case ids(ArraySlice<ObjectID>)
            case end
        }

        fileprivate init(_ stream: SnapshotStream) {
            self.stream = stream
            source = stream.source
        }

        /// The next one; nil behind the last.
        ///
        /// - Throws: `CancellationError` in a task that is cancelled, `QueryError`
        ///   (`.deadlineExceeded`), `StoreError`; none follows.
        public mutating func next() async throws -> M.Snapshot? {
            if snapshots.isEmpty {
                do {
                    try check()
                    try readBatch()
                } catch {
                    progress = .end
                    throw error
                }
            }
            return snapshots.popFirst()
        }

        private func check() throws {
            try Task.checkCancellation()
            if let deadline = stream.deadline, ContinuousClock.now > deadline {
                throw QueryError(.deadlineExceeded, "The time for the stream is over.")
            }
        }

        private mutating func readBatch() throws {
            switch progress {
            case .start: try start()
            case .after(let last, let left):
                var request = stream.request
                request.after = last
                request.offset = 0
                request.limit = Swift.min(left ?? .max, stream.batch)
                try read(request, left)
            case .ids(let ids): try read(ids)
            case .end: break
            }
        }

        private mutating func start() throws {
            if source.history == nil {
                source.history = ViewHistory(try source.store.revision())
            }
            var first = stream.request
            first.limit = Swift.min(first.limit ?? .max, stream.batch)
            if try SnapshotFetch(source, first).read({ try $0.isOrderedByAccess() }) {
                try read(first, stream.request.limit)
            } else {
                try read(SnapshotFetch(source, stream.request).ids[...])
            }
        }

        private mutating func read(_ request: _QueryRequest<M>, _ left: Int?) throws {
            let found = try SnapshotFetch(source, request).snapshots
            snapshots = found[...]
            let rest = left.map { $0 - found.count }
            if let last = found.last, found.count == request.limit, rest ?? 1 > 0 {
                progress = .after(last, left: rest)
            } else {
                progress = .end
            }
        }

        private mutating func read(_ ids: ArraySlice<ObjectID>) throws {
            let part = ids.prefix(stream.batch)
            let rest = ids.dropFirst(stream.batch)
            progress = rest.isEmpty ? .end : .ids(rest)
            let everything = SnapshotFetch(source, _QueryRequest<M>())
            snapshots = try everything.read { run in
                try part.compactMap { id in
                    try run.row(id).map { try M._$decode($0.id, $0.body) }
                }
            }[...]
        }
    }
}

extension SnapshotFetch {
    /// The snapshots, read in batches.
    ///
    /// - Precondition: a batch has at least one.
    public func stream(
        batch: Int = 256, deadline: ContinuousClock.Instant? = nil
    ) -> SnapshotStream<M> {
        trap(unless: batch > 0, "a batch needs at least one object")
        return SnapshotStream(request: _request, source: source, batch: batch, deadline: deadline)
    }
}

extension Fetch {
    /// Snapshots, read in batches: what the context sees now, with its pending changes, whatever
    /// becomes of the context meanwhile.
    ///
    /// - Precondition: a batch has at least one.
    public func stream(
        batch: Int = 256, deadline: ContinuousClock.Instant? = nil
    ) -> SnapshotStream<M> {
        trap(unless: batch > 0, "a batch needs at least one object")
        return SnapshotStream(request: _request, source: source, batch: batch, deadline: deadline)
    }
}

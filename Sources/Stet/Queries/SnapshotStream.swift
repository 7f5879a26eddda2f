import StetStore

/// The results of a query, read in batches: for results that are too large for memory.
///
/// ```swift
/// for try await article in store.fetch(Article.self).stream() { … }
/// ```
///
/// All batches show the revision of the first one, whatever is committed during the iteration.
/// Between batches no read is open, so that a slow consumer keeps no pages from being reused. Where
/// neither the order of ids nor an index provides the order, the ids of the whole result are kept
/// in memory.
public struct SnapshotStream<M: Model>: AsyncSequence {
    /// A snapshot.
    public typealias Element = M.Snapshot
    /// The error type of `next`.
    public typealias Failure = any Error

    fileprivate let request: _QueryRequest<M>
    fileprivate let source: QuerySource
    fileprivate let batch: Int
    fileprivate let deadline: ContinuousClock.Instant?

    /// Creates an iterator, which begins to read when the first snapshot is requested.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// An iterator that reads batch after batch.
    public struct Iterator: AsyncIteratorProtocol {
        private let stream: SnapshotStream
        private var source: QuerySource
        private var snapshots: ArraySlice<M.Snapshot> = []
        private var progress = Progress.start

        private enum Progress {
            case start
            /// The next batch begins after this snapshot; `left` is the number of snapshots that
            /// may still follow, nil for no limit.
            case after(M.Snapshot, left: Int?)
            /// The ids that are still to be read.
            case ids(ArraySlice<ObjectID>)
            case end
        }

        fileprivate init(_ stream: SnapshotStream) {
            self.stream = stream
            source = stream.source
        }

        /// Returns the next snapshot; nil after the last one.
        ///
        /// - Throws: `CancellationError` in a task that is cancelled, `QueryError`
        ///   (`.deadlineExceeded`), `StoreError`; the iteration has then ended.
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
                try read(SnapshotFetch(source, stream.request).ids()[...])
            }
        }

        private mutating func read(_ request: _QueryRequest<M>, _ left: Int?) throws {
            let found = try SnapshotFetch(source, request).all()
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
    /// Returns the snapshots as a sequence that reads them in batches.
    ///
    /// - Parameters:
    ///   - batch: the number of snapshots that are read at once.
    ///   - deadline: the time after which `next` throws `QueryError` (`.deadlineExceeded`).
    /// - Returns: the sequence; nothing is read yet.
    /// - Precondition: a batch has at least one object.
    public func stream(
        batch: Int = 256, deadline: ContinuousClock.Instant? = nil
    ) -> SnapshotStream<M> {
        trap(unless: batch > 0, "a batch needs at least one object")
        return SnapshotStream(request: _request, source: source, batch: batch, deadline: deadline)
    }
}

extension Fetch {
    /// Returns snapshots of the context's current state, including its pending changes, as a
    /// sequence that reads them in batches.
    ///
    /// Later changes of the context do not affect the sequence.
    ///
    /// - Parameters:
    ///   - batch: the number of snapshots that are read at once.
    ///   - deadline: the time after which `next` throws `QueryError` (`.deadlineExceeded`).
    /// - Returns: the sequence; nothing is read yet.
    /// - Precondition: a batch has at least one object.
    public func stream(
        batch: Int = 256, deadline: ContinuousClock.Instant? = nil
    ) -> SnapshotStream<M> {
        trap(unless: batch > 0, "a batch needs at least one object")
        return SnapshotStream(request: _request, source: source, batch: batch, deadline: deadline)
    }
}

public import FoundationEssentials
public import StetStore

// Copies of a store that is in use, and its journal as files. The calls run on threads of their own
// and end when the task is cancelled.

extension Store {
    /// The progress of a long operation.
    public struct Progress: Sendable, Hashable {
        /// The number of bytes, or of commits, that are done.
        public let doneCount: Int
        /// The approximate total, because others may be writing to the store.
        public let count: Int
    }

    /// The result of shipping a journal.
    public struct Shipment: Sendable, Hashable {
        /// The last commit that can be restored from the directory.
        public let revision: Revision
        /// The number of commits that were shipped.
        public let commitCount: Int
        /// The number of bytes of the new segments.
        public let byteCount: Int
        /// The commit whose state a new base contains; nil when none was made.
        public let base: Revision?
    }

    /// Copies the state of the last commit to a new file, while others read and write the store.
    ///
    /// The copy is made as by `compact(to:)`: it has the store's id and journal, and only data in
    /// use. It is written under another name, synced, verified as by `verify()`, and only then
    /// renamed: when the task is cancelled or the process is killed, there is no file at `path`.
    ///
    /// - Parameters:
    ///   - path: the path of the copy, where no file may exist.
    ///   - progress: receives the number of bytes of the copy that are written, in ascending order;
    ///     the total again for each commit that is verified.
    /// - Returns: the report of the verification, without problems.
    /// - Throws: `StoreError`: `.alreadyExists`, `.damaged` when the copy does not verify, and
    ///   errors of the file system; `CancellationError`.
    /// - Complexity: O(bytes in use), which are on the disk twice for a while; memory is bounded
    ///   except for the verification, which takes O(values of all objects).
    @discardableResult
    public func backup(
        to path: String, progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> VerificationReport {
        try await BlockingWork.run { [file] in try Progress.copy(file, to: path, progress) }
    }

    /// Replaces the file of the store with a compacted copy, as `compactInPlace()` does, without
    /// blocking the thread of the caller.
    ///
    /// - Parameter progress: receives the number of bytes of the copy that are written.
    /// - Throws: `StoreError`, and `CancellationError`; the file is then unchanged.
    /// - Complexity: as `compact(to:)`.
    public func compactInPlace(progress: @escaping @Sendable (Progress) -> Void) async throws {
        try await BlockingWork.run { [file] in try Progress.compact(file, progress) }
    }

    /// Rebuilds the state from the journal and compares it with what is stored, as `verify()` does,
    /// without blocking the thread of the caller.
    ///
    /// - Parameter progress: receives the number of commits that are read, in ascending order.
    /// - Returns: the report.
    /// - Throws: `StoreError` when the store cannot be read at all, and `CancellationError`.
    /// - Complexity: O(journal) in time, O(values of all objects) in memory.
    public func verify(
        progress: @escaping @Sendable (Progress) -> Void
    ) async throws -> VerificationReport {
        try await BlockingWork.run { [file] in try Progress.verify(file, progress) }
    }

    // MARK: Shipping

    /// Writes the commits that a directory does not have yet to files in it, from which
    /// `restore(from:to:at:)` makes a store at any of these commits.
    ///
    /// The first call writes a base, which is a backup; later calls write segments, which contain
    /// the commits since. Each file is synced and renamed when it is complete, can be read by its
    /// owner only, and is never changed again: copy the directory elsewhere with any tool. The next
    /// call continues after the last segment, and removes what an interrupted call has left. Only
    /// commits that are on the disk are shipped.
    ///
    /// Ship more often than the journal is trimmed. Segments keep values that are redacted later:
    /// after a redaction ship with a new base, and remove the earlier files.
    ///
    /// - Parameters:
    ///   - directory: a directory that exists, for this store only.
    ///   - makesBase: whether a base is written although there is one; a restoration begins with
    ///     the last base before the commit.
    /// - Returns: the last commit in the directory, and what was written.
    /// - Throws: `StoreError`: `.wrongStore` when the directory has commits that this store does
    ///   not have, `.historyTrimmed` when commits were trimmed before they were shipped, so that a
    ///   new base is needed, `.damaged` when the last segment is, `.storeBusy` while somebody else
    ///   ships to the directory, and errors of the file system; `CancellationError`, after which
    ///   complete segments stay.
    /// - Complexity: O(bytes of the new commits), and for a base as `backup(to:progress:)`.
    @discardableResult
    public func ship(to directory: String, makesBase: Bool = false) async throws -> Shipment {
        try await BlockingWork.run { [file] in try Shipment(file, directory, makesBase) }
    }

    /// Makes a store at a commit that was shipped to a directory.
    ///
    /// The store has the id of the shipped one, its commits up to that one, undo stacks and schema,
    /// and is verified before it gets its name. Its durable subscriptions are those of the base,
    /// which deliver the commits since once more. Ship it to a new directory.
    ///
    /// - Parameters:
    ///   - directory: the directory that was shipped to.
    ///   - path: the path of the new store, where no file may exist.
    ///   - bound: the revision; `.earliest` means that of the first base, `.latest` the last one.
    /// - Returns: the report of the verification, without problems.
    /// - Throws: `StoreError`: `.alreadyExists`, `.notFound` when the directory has no base,
    ///   `.historyTrimmed` for a commit before the first base, `.noSuchRevision` for one after the
    ///   last segment, `.damaged` and `.wrongStore`, with the path of the file, for files that are
    ///   damaged or missing, or those of another store; `CancellationError`. There is no file at
    ///   `path` then.
    /// - Complexity: O(bytes of the base and of the segments after it).
    @discardableResult
    public static func restore(
        from directory: String, to path: String, at bound: Revision.Bound = .latest
    ) async throws -> VerificationReport {
        try await RestorePoint.bound(bound).restore(from: directory, to: path)
    }

    /// Makes a store at the last shipped commit that is dated no later than a time.
    ///
    /// It behaves like `restore(from:to:at:)` with a revision, and throws the same errors.
    ///
    /// - Throws: the errors of `restore(from:to:at:)` with a revision.
    @discardableResult
    public static func restore(
        from directory: String, to path: String, at time: Date
    ) async throws -> VerificationReport {
        try await RestorePoint(time).restore(from: directory, to: path)
    }
}

extension Store.Progress {
    fileprivate init(_ progress: StoreCopy.Progress) {
        self.init(doneCount: progress.byteCount, count: progress.expectedByteCount)
    }

    /// Reports the progress, unless the task is cancelled.
    fileprivate func report(to receive: @Sendable (Self) -> Void) throws {
        try Task.checkCancellation()
        receive(self)
    }

    fileprivate static func copy(
        _ file: StoreFile, to path: String, _ receive: @Sendable (Self) -> Void
    ) throws -> VerificationReport {
        try file.copy(to: path) { try Self($0).report(to: receive) }.report
    }

    fileprivate static func compact(
        _ file: StoreFile, _ receive: @Sendable (Self) -> Void
    ) throws {
        _ = try file.compactInPlace { try Self($0).report(to: receive) }
    }

    fileprivate static func verify(
        _ file: StoreFile, _ receive: @Sendable (Self) -> Void
    ) throws -> VerificationReport {
        let (floor, last) = try file.read { (try $0.floor(), try $0.head().revision) }
        let count = Int(last.number - floor.number)
        var doneCount = 0
        return try file.verify {
            doneCount += 1
            try Self(doneCount: doneCount, count: max(count, doneCount)).report(to: receive)
        }
    }
}

extension Store.Shipment {
    fileprivate init(_ file: StoreFile, _ directory: String, _ makesBase: Bool) throws {
        let shipment = try file.ship(to: directory, makesBase: makesBase)
        self.init(
            revision: shipment.revision, commitCount: shipment.commitCount,
            byteCount: shipment.byteCount, base: shipment.base)
    }
}

extension RestorePoint {
    fileprivate init(_ time: Date) { self = .time(time.timeIntervalSinceReferenceDate) }

    fileprivate func restore(
        from directory: String, to path: String
    ) async throws -> VerificationReport {
        try await BlockingWork.run {
            try StoreCopy.restore(from: directory, to: path, at: self).report
        }
    }
}

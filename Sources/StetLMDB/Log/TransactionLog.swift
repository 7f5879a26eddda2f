import CLMDB
import Glibc

/// The log of an environment while this process writes to it: a commit is durable once its frame
/// is, and LMDB's pages reach the disk later, at a checkpoint.
///
/// Threads of its own make checkpoints durable and perform delayed syncs, beside further commits;
/// of LMDB they only end reads.
///
/// State: `state`, guarded by its monitor. Whoever commits or begins a checkpoint has LMDB's writer
/// lock.
final class TransactionLog: Sendable {
    private struct State: @unchecked Sendable {  // reached only under its monitor
        var log: CommitLog
        /// The read of the tree of the durable slot, whose pages LMDB therefore does not reuse.
        var pin: OpaquePointer?
        /// The read of the tree of the slot that is being made durable.
        var nextPin: OpaquePointer?
        /// The slot that is being made durable.
        var slot: LogSlot?
        /// The commits since the last checkpoint began.
        var commitCount = 0
        /// The last page in use when the last checkpoint began.
        var firstPage: Int
        /// The time of the last durable checkpoint.
        var checkpointTime: Duration
        /// The time of the first frame that is not synced.
        var unsyncedSince: Duration?
        var isSyncing = false
        var failure: Failure?
        var isEnded = false
        var threadCount = 0
        var hasSyncThread = false

        /// Whether frames may be lost, so that no further sync can be trusted.
        var hasLogFailed: Bool { if case .log = failure { true } else { false } }
    }

    /// A failure of the disk outside a commit.
    enum Failure {
        /// Frames may be lost, and LMDB's pages are not.
        case log(LMDBError)
        /// LMDB's pages may be lost, and frames are not.
        case pages(LMDBError)
    }

    private let state: Monitor<State>
    private let files: [LogFileOnDisk]
    private let data: Int32
    private let path: String
    /// The time within which frames are synced; nil when each commit syncs its own.
    private let delay: Duration?
    private let distance: CheckpointDistance
    private let uptime: @Sendable () -> Duration
    private let checkpointBegan: @Sendable () -> @Sendable ((any Error)?) -> Void
    #if STET_FAULTS
        private let faults: FaultInjector
    #endif

    /// Creates the log that continues a slot, which is durable.
    ///
    /// - Parameters:
    ///   - files: the two files.
    ///   - log: the place of the next frame in them.
    ///   - pin: the read of the slot's tree, which the log ends.
    ///   - lastPage: the last page of the data file that is in use.
    ///   - data: the descriptor of the data file, which outlives the log.
    ///   - delay: the time within which frames are synced; nil when each commit syncs its own.
    ///   - environment: the environment, for its path and configuration.
    init(
        _ files: [LogFileOnDisk], _ log: CommitLog, pin: OpaquePointer, lastPage: Int, data: Int32,
        delay: Duration?, _ environment: Environment
    ) {
        self.files = files
        self.data = data
        self.delay = delay
        path = environment.path
        distance = environment.configuration.checkpointDistance
        uptime = environment.configuration.uptime
        checkpointBegan = environment.configuration.checkpointBegan
        #if STET_FAULTS
            faults = environment.faults
        #endif
        state = Monitor(
            State(log: log, pin: pin, firstPage: lastPage, checkpointTime: uptime()))
    }

    // MARK: Commits

    /// Writes a frame, and syncs it unless that may wait.
    ///
    /// - Throws: `LMDBError`: call `withdraw` when it is `.writeLog`; a failed sync cannot be
    ///   withdrawn.
    func append(_ buffer: FrameBuffer) throws(LMDBError) -> CommitLog.Position {
        let (before, file) = try state.withLock { (state) throws(LMDBError) in
            let before = state.log.position
            _ = try state.log.append(buffer)
            if delay != nil { state.unsyncedSince = state.unsyncedSince ?? uptime() }
            return (before, state.log.file)
        }
        if delay == nil { try file.sync() } else { startSyncThread() }
        return before
    }

    /// The place of the next frame.
    var position: CommitLog.Position { state.withLock { $0.log.position } }

    /// Makes the frame after a position void, durably.
    func withdraw(to before: CommitLog.Position) throws(LMDBError) {
        try state.withLock { (state) throws(LMDBError) in try state.log.withdraw(to: before) }
    }

    /// Notes that LMDB has committed the transaction of the last frame.
    func noteCommit() { state.withLock { $0.commitCount += 1 } }

    /// Makes all frames durable.
    ///
    /// - Throws: `LMDBError`; the log cannot be used any more.
    func sync() throws(LMDBError) {
        let files = state.wait { state -> [any LogFile]? in
            if state.isSyncing { return nil }
            guard state.unsyncedSince != nil, !state.hasLogFailed, !state.isEnded else {
                return []
            }
            state.unsyncedSince = nil
            state.isSyncing = true
            return state.log.filesByAge
        }
        if files.isEmpty {
            if case .log(let error) = failure { throw error }
            return
        }
        defer {
            state.withLock { $0.isSyncing = false }
            state.notify()
        }
        do throws(LMDBError) {
            for file in files { try file.sync() }
        } catch {
            fail(.log(error))
            throw error
        }
    }

    /// The failure of a checkpoint, of a delayed sync or of leaving.
    var failure: Failure? { state.withLock { $0.failure } }

    /// Notes a failure.
    func fail(_ failure: Failure) { state.withLock { Self.note(failure, &$0) } }

    /// Notes a failure; one of LMDB's pages replaces one of the log.
    private static func note(_ failure: Failure, _ state: inout State) {
        if case .pages = state.failure { return }
        state.failure = failure
    }

    // MARK: Checkpoints

    /// Returns whether a checkpoint is due; waits for the one that is on its way if commits are far
    /// ahead of it.
    ///
    /// - Parameter lastPage: the last page of the file that is in use.
    /// - Returns: whether it is due.
    func isCheckpointDue(lastPage: Int) -> Bool {
        func isDue(_ state: State, _ factor: Int) -> Bool {
            state.commitCount >= factor * distance.commitCount
                || lastPage - state.firstPage >= factor * distance.pageCount
                || state.log.position.offset >= factor * distance.byteCount
        }
        return state.wait { state in
            if state.failure != nil { return false }
            guard state.slot != nil else {
                let age = uptime() - state.checkpointTime
                return isDue(state, 1) || state.commitCount > 0 && age >= distance.time
            }
            return isDue(state, CheckpointDistance.limit) ? nil : false
        }
    }

    /// Begins a checkpoint of LMDB's last commit, under LMDB's writer lock.
    ///
    /// - Parameters:
    ///   - metaPages: the first bytes of LMDB's meta pages.
    ///   - pin: a read of the last commit, which the log ends.
    ///   - lastPage: the last page of the file that is in use.
    func beginCheckpoint(
        _ metaPages: [[UInt8]], pin: OpaquePointer, lastPage: Int
    ) {
        state.withLock { state in
            let last = state.log.position
            state.log.beginNextLog()
            state.slot = LogSlot(
                generation: state.log.position.generation,
                transaction: UInt64(mdb_txn_id(pin)), sequence: last.sequence, chain: last.chain,
                sectorByteCount: state.log.sector, metaPages: metaPages)
            state.nextPin = pin
            state.commitCount = 0
            state.firstPage = lastPage
        }
        startThread { $0.makeDurable() }
    }

    /// Waits until no checkpoint is on its way.
    func waitForCheckpoint() {
        state.wait { state in state.slot == nil ? () : nil }
    }

    var statistics: Environment.LogStatistics {
        state.withLock { state in
            Environment.LogStatistics(
                byteCount: state.log.position.offset, commitCount: state.commitCount,
                checkpointCount: Int(state.log.durableGeneration) - 1,
                age: uptime() - state.checkpointTime)
        }
    }

    /// LMDB's numbers of the commits whose pages are kept for a recovery.
    var pinnedTransactions: [Int] {
        state.withLock { [$0.pin, $0.nextPin].compactMap { $0.map { Int(mdb_txn_id($0)) } } }
    }

    // MARK: End

    /// Ends the threads and the reads; the files remain.
    func end() {
        state.withLock { $0.isEnded = true }
        state.notify()
        let pins = state.wait { state -> [OpaquePointer]? in
            guard state.threadCount == 0, !state.isSyncing else { return nil }
            defer { (state.pin, state.nextPin) = (nil, nil) }
            return [state.pin, state.nextPin].compactMap { $0 }
        }
        for pin in pins { mdb_txn_abort(pin) }
    }

    /// Overwrites the files with zeros.
    func erase() throws(LMDBError) {
        for file in files { try file.erase() }
    }

    // MARK: Threads

    /// A log and its work for a thread.
    private final class Work {
        let log: TransactionLog
        let body: (TransactionLog) -> Void

        init(_ log: TransactionLog, _ body: @escaping (TransactionLog) -> Void) {
            self.log = log
            self.body = body
        }
    }

    /// Runs `body` on a new thread; on this one when the system refuses a thread.
    private func startThread(_ body: @escaping (TransactionLog) -> Void) {
        state.withLock { $0.threadCount += 1 }
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(self, body))
        let code = pthread_create(
            &thread, nil,
            { context in
                if let context { TransactionLog.perform(context) }
                return nil
            }, work.toOpaque())
        if code == 0 { pthread_detach(thread) } else { Self.perform(work.toOpaque()) }
    }

    private static func perform(_ context: UnsafeMutableRawPointer) {
        let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
        work.body(work.log)
        work.log.state.withLock { $0.threadCount -= 1 }
        work.log.state.notify()
    }

    /// Syncs LMDB's pages, then writes the slot, from which a recovery begins from then on.
    private func makeDurable() {
        guard let (slot, log) = state.withLock({ state in state.slot.map { ($0, state.log) } })
        else { return }
        let ended = checkpointBegan()
        var failure: Failure?
        do throws(LMDBError) {
            #if STET_FAULTS
                try check(faults.code(for: .checkpoint), .checkpoint, path)
            #endif
            try check(fdatasync(data) == 0 ? 0 : errno, .checkpoint, path)
        } catch {
            failure = .pages(error)
        }
        if failure == nil {
            do throws(LMDBError) { try log.writeSlot(slot) } catch { failure = .log(error) }
        }
        switch failure {
        case nil: ended(nil)
        case .pages(let error)?, .log(let error)?: ended(error)
        }
        let pin = endCheckpoint(failure)
        if let pin { mdb_txn_abort(pin) }
        state.notify()
    }

    /// Notes the end of a checkpoint; returns the read that is not needed any more.
    private func endCheckpoint(_ failure: Failure?) -> OpaquePointer? {
        state.withLock { state in
            state.slot = nil
            if let failure {
                Self.note(failure, &state)
                return nil
            }
            state.log.endCheckpoint()
            state.checkpointTime = uptime()
            defer { (state.pin, state.nextPin) = (state.nextPin, nil) }
            return state.pin
        }
    }

    /// Starts a thread that syncs frames in time, for as long as there are any.
    private func startSyncThread() {
        let starts = state.withLock { state in
            defer { state.hasSyncThread = true }
            return !state.hasSyncThread
        }
        if starts { startThread { $0.syncInTime() } }
    }

    private func syncInTime() {
        while true {
            let since: Duration? = state.withLock { state in
                let since = state.isEnded || state.hasLogFailed ? nil : state.unsyncedSince
                if since == nil { state.hasSyncThread = false }
                return since
            }
            guard let since, let delay else { return }
            // The other half of the time is for the sync itself.
            let rest = delay / 2 - (uptime() - since)
            if rest > .zero {
                state.wait(atMost: rest) { !$0.isEnded }
            } else {
                try? sync()
            }
        }
    }
}

/// The distance of checkpoints: whichever comes first.
package struct CheckpointDistance: Hashable, Sendable {
    /// The number of commits, which a recovery has to repeat.
    package var commitCount = usualCommitCount
    /// The number of pages by which the data file has grown.
    package var pageCount = 8_192
    /// The number of bytes of the log.
    package var byteCount = 8 << 20
    package var time = Duration.seconds(60)

    /// The multiple of the distance at which commits wait for a checkpoint.
    static let limit = 4

    package init() {}

    private static let usualCommitCount: Int = {
        #if STET_FAULTS
            // So that a short session has checkpoints.
            if let text = getenv("STET_CHECKPOINT"), let count = Int(String(cString: text)) {
                return count
            }
        #endif
        return 1_000
    }()
}

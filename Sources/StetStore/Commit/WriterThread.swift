import Glibc
import Logging
import Metrics
import StetLMDB

/// The queue of a store's change sets, and the thread that commits them and maintains the store.
///
/// Savers encode their change sets, which wait here in the order of their arrival. Waiting change
/// sets are committed as one batch: by the thread or, while that sleeps, by a thread that would
/// only block until its change set is committed; so a single saver does not pay for a change of
/// threads. Between batches the thread notifies observers of the commits of other processes, and
/// frees the reader slots of processes that have died. It starts with the first change set,
/// observer or hundredth read, and does not keep the store open.
///
/// State: queue and phase, guarded by the monitor.
final class WriterThread: Sendable {
    private enum Phase {
        case notStarted
        case running
        /// The thread accepts nothing new, and ends when the queue is empty.
        case ending
        case ended
    }

    private struct State {
        var phase = Phase.notStarted
        var queue: [Submission] = []
        /// The change sets that are being committed.
        var batch: [Submission] = []
        /// Whether the thread must be woken for new work.
        var isAsleep = false
        /// The thread of a saver that commits in place of the writer thread, which sleeps.
        var leader: pthread_t?
        weak var file: StoreFile?
        /// The writer thread, for comparison with others.
        var thread: pthread_t?
        /// The number of times that it went through its idle duties, for tests that wait for it.
        var roundCount = 0

        /// Whether this thread is the one that commits.
        var isOnCommittingThread: Bool {
            thread == pthread_self() || leader == pthread_self()
        }

        /// Whether the thread works, and nobody waits for it.
        var mayRetainAlone: Bool {
            let isWorking = phase != .notStarted && phase != .ended && !isAsleep
            return isWorking && !isOnCommittingThread
                && !(queue + batch).contains { !$0.isDecided }
        }

        /// Returns whether the thread must be woken, which then counts as awake.
        mutating func takeSleep() -> Bool {
            defer { isAsleep = false }
            return isAsleep
        }
    }

    /// The greatest number of change sets in one transaction.
    private static let batchLimit = 1_024
    private static let batchByteLimit = 64 << 20
    /// The time for which a batch of more than one waits for more, in nanoseconds.
    private static let lingerNanoseconds = 60_000
    static let readerCheckInterval = Duration.seconds(30)

    private let state = Monitor(State())
    private let watch: FileWatch
    private let path: String

    init(path: String) throws(LMDBError) {
        self.path = path
        watch = try FileWatch(path: path)
    }

    /// Sets the store that it writes to, once.
    func serve(_ file: StoreFile) {
        state.withLock { $0.file = file }
    }

    // MARK: For those who save and observe

    /// Adds a change set to the queue, which is not processed until `commitQueue()` or
    /// `wakeForQueue()` is called.
    ///
    /// - Throws: `StoreError`: `.storeClosed`, `.noThread`; `.storeBusy` on a thread that commits.
    func submit(_ submission: Submission) throws {
        let isAccepted = try state.withLock { state in
            if state.isOnCommittingThread { throw StoreError.waitingForItself(path: path) }
            guard try Self.start(&state, self) else { return false }
            state.queue.append(submission)
            return true
        }
        guard isAccepted else {
            throw StoreError(LMDBError(.begin, code: LMDBError.closed, path: path))
        }
    }

    /// Wakes the thread to commit the queue; for callers that must not block.
    func wakeForQueue() {
        // A committing saver wakes the thread itself if it leaves submissions.
        if state.withLock({ $0.leader == nil && $0.takeSleep() }) { watch.wake() }
    }

    /// Commits one batch of the queue on this thread if the writer thread sleeps.
    func commitQueue() {
        let file = state.withLock { state -> StoreFile? in
            guard state.isAsleep, state.leader == nil, state.phase == .running,
                let file = state.queue.first?.file
            else { return nil }
            state.leader = pthread_self()
            return file
        }
        guard let file else { return }
        commitBatch(of: file) {}
        let wakes = state.withLock { state in
            state.leader = nil
            return (!state.queue.isEmpty || state.phase != .running) && state.takeSleep()
        }
        if wakes { watch.wake() }
    }

    /// Starts the thread, or wakes it to check for changes such as new observers or the clock.
    ///
    /// - Throws: `StoreError` (`.noThread`).
    func attend() throws {
        let isRunning = try state.withLock { state in
            _ = state.takeSleep()
            return try Self.start(&state, self)
        }
        if isRunning { watch.wake() }
    }

    /// Starts the thread if it could not be started before.
    func begin() throws { _ = try state.withLock { try Self.start(&$0, self) } }

    /// Returns whether a change set waits or is being written.
    func isWaiting(_ id: CommitID) -> Bool {
        state.withLock { state in
            (state.queue + state.batch).contains { $0.commitID == id && !$0.isDecided }
        }
    }

    /// The number of waiting change sets.
    var queueCount: Int { state.withLock { $0.queue.count { !$0.isDecided } } }

    /// The time for which the oldest submission has been waiting or being written; zero when there
    /// is none.
    var longestWait: Duration {
        let first = state.withLock { state in
            (state.batch + state.queue).lazy.filter { !$0.isDecided }.map(\.submitted).min()
        }
        return first?.duration(to: .now) ?? .zero
    }

    /// Whether it accepts nothing new.
    var isEnding: Bool { state.withLock { [.ending, .ended].contains($0.phase) } }

    /// The number of times that the thread went through its idle duties.
    var roundCount: Int { state.withLock { $0.roundCount } }

    /// Lets the thread commit the queue and then end; later change sets are refused.
    ///
    /// Returns when it has ended, or at once on a thread that commits.
    func finish() {
        let isElsewhere = state.withLock { state in
            switch state.phase {
            case .notStarted: state.phase = .ended
            case .running: state.phase = .ending
            case .ending, .ended: break
            }
            return !state.isOnCommittingThread
        }
        watch.wake()
        guard isElsewhere else { return }
        state.wait { $0.phase == .ended ? () : nil }
    }

    /// The longest wait for a store that only its thread may still retain.
    private static let releaseLimit = Duration.seconds(5)

    /// Waits for the threads of an environment's store that is in the way: they may be the only
    /// ones that still retain the store.
    static func awaitRelease(of environment: Environment, ifInTheWay: (StoreFile) -> Bool) {
        func threads() -> (WriterThread, JournalFollower?)? {
            guard let file = environment.attached as? StoreFile, ifInTheWay(file) else {
                return nil
            }
            return (file.writer, file.shared?.follower)
        }
        guard let (writer, follower) = threads() else { return }
        writer.waitUntilIdle()
        follower?.waitUntilIdle(releaseLimit)
    }

    /// Returns when the thread does not work, or works for somebody who uses the store; only while
    /// it works does it retain the store.
    private func waitUntilIdle() {
        let end = systemUptime() + Self.releaseLimit
        while systemUptime() < end, state.withLock(\.mayRetainAlone) {
            state.wait(atMost: .milliseconds(10), while: \.mayRetainAlone)
        }
    }

    // MARK: The thread

    /// Starts the thread unless it runs; returns false when it is ending.
    private static func start(_ state: inout State, _ writer: WriterThread) throws -> Bool {
        guard case .notStarted = state.phase else {
            return state.phase == .running
        }
        state.phase = .running
        var thread = pthread_t()
        let context = Unmanaged.passRetained(writer).toOpaque()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<WriterThread>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        guard code == 0 else {
            Unmanaged<WriterThread>.fromOpaque(context).release()
            state.phase = .notStarted
            throw StoreError.noThread(path: writer.path, systemCode: code)
        }
        pthread_detach(thread)
        return true
    }

    private func run() {
        state.withLock { $0.thread = pthread_self() }
        var lastBatchCount = 0
        var duties = WriterDuties(watch)
        while true {
            if let file = state.withLock({ $0.leader == nil ? $0.queue.first?.file : nil }) {
                linger(lastBatchCount)
                lastBatchCount = commitBatch(of: file) { duties.checkReaders(of: file) }
                duties.checkReaders(of: file)
            } else if state.withLock({
                $0.phase == .ending && $0.queue.isEmpty && $0.leader == nil
            }) {
                break
            } else {
                // Retained for this statement only, because the thread must not keep the store
                // open.
                let timeout = duties.perform(for: state.withLock { $0.file })
                state.withLock { $0.roundCount += 1 }
                if sleep(milliseconds: timeout) { duties.noteWrite() }
            }
        }
        state.withLock { $0.phase = .ended }
        state.notify()
    }

    /// Commits the queue once no other process writes; until then each change set can be withdrawn,
    /// and `whileWaiting` is called repeatedly.
    @discardableResult
    private func commitBatch(of file: StoreFile, whileWaiting: () -> Void) -> Int {
        var failure: (any Error)?
        do {
            try file.environment.beginWriting { waited in
                whileWaiting()
                return goesOnWaiting(waited)
            }
        } catch {
            failure = StoreError.wrapped(error, path: path)
        }
        let batch = nextBatch()
        if let failure {
            for submission in batch { submission.decide(.failure(failure)) }
        } else {
            if !batch.isEmpty { commit(batch, file) }
            file.environment.endWriting()
        }
        state.withLock { $0.batch = [] }
        return batch.count
    }

    private func commit(_ batch: [Submission], _ file: StoreFile) {
        let begun = ContinuousClock.now
        file.metrics.batchSize.record(batch.count)
        file.metrics.queueDepth.record(queueCount)
        CommitWriter(file: file).commit(batch)
        file.metrics.commitDuration.record(duration: begun.duration(to: .now))
    }

    /// The time for which a store that is being closed waits for another process that writes.
    private static let endingLimit = Duration.seconds(10)

    /// Returns whether a save still waits for the writer and, once the writer is to end, whether
    /// the time limit has not passed.
    private func goesOnWaiting(_ waited: Duration) -> Bool {
        state.withLock { state in
            state.queue.contains { !$0.isDecided }
                && (state.phase == .running || waited < Self.endingLimit)
        }
    }

    /// Sleeps; returns true when somebody has written to the file.
    private func sleep(milliseconds: Int32) -> Bool {
        let sleeps = state.withLock { state in
            state.isAsleep =
                state.leader != nil || (state.queue.isEmpty && state.phase == .running)
            return state.isAsleep
        }
        state.notify()
        guard sleeps else { return false }
        defer { state.withLock { $0.isAsleep = false } }
        return watch.wait(milliseconds: milliseconds)
    }

    /// Returns the waiting change sets up to the limits of a batch, without withdrawn ones.
    private func nextBatch() -> [Submission] {
        state.withLock { state in
            var byteCount = 0
            var count = 0
            for submission in state.queue {
                byteCount += submission.byteCount
                if count > 0, byteCount > Self.batchByteLimit || count == Self.batchLimit { break }
                count += 1
            }
            let batch = state.queue.prefix(count).filter { $0.take() }
            state.queue.removeFirst(count)
            state.batch = batch
            return batch
        }
    }

    /// Waits a moment for as many savers as the last batch had, if more than one waits: those of
    /// the last batch usually return at about the same time.
    private func linger(_ lastCount: Int) {
        var waiting = queueCount
        guard waiting > 1, waiting < lastCount else { return }
        let end = Self.now() + Self.lingerNanoseconds
        while waiting < lastCount, Self.now() < end {
            sched_yield()
            waiting = queueCount
        }
    }

    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

import Logging
import Metrics
import StetLMDB

/// The work of the writer thread when there is nothing to commit.
struct WriterDuties {
    private let watch: FileWatch
    private var lastReaderCheck: Duration?
    private var lastTrim: Duration?
    private var lastNudge: Duration?
    /// The pauses before the next checks, in milliseconds.
    private var nextLooks: [Int32] = []

    init(_ watch: FileWatch) {
        self.watch = watch
    }

    /// Frees the slots of processes that have died, releases those of idle reads, and reports
    /// readers and moved files, every 30 seconds.
    mutating func checkReaders(of file: StoreFile) {
        let now = file.environment.configuration.uptime()
        if let last = lastReaderCheck, now - last < WriterThread.readerCheckInterval { return }
        lastReaderCheck = now
        file.environment.keepIdleReads(true)
        _ = try? file.environment.removeStaleReaders()
        if !file.environment.isInPlace {
            file.logger.error("The store's files were moved while it was open: nothing is saved.")
        }
        guard let statistics = try? file.statistics() else { return }
        file.metrics.record(statistics)
        if let oldest = statistics.readers.first, oldest.age >= WriterThread.readerCheckInterval {
            file.logger.warning(
                "A read has been open for long, and holds free pages back.",
                metadata: [
                    "process": "\(oldest.processID)", "seconds": "\(Int(oldest.age.seconds))",
                    "pages": "\(statistics.heldBackPageCount)",
                ])
        }
    }

    /// Removes a few commits that need not be kept, every 30 seconds and until none are left;
    /// returns true when there may be more.
    private mutating func trim(_ file: StoreFile) -> Bool {
        // A node trims the shared journal, by its follower.
        guard file.retention != .forever, file.shared == nil else { return false }
        let now = file.environment.configuration.uptime()
        if let last = lastTrim, now - last < WriterThread.readerCheckInterval { return false }
        let isDone = file.trimOutdated()
        lastTrim = isDone ? now : nil
        return !isDone
    }

    /// Lets owners of subscriptions check whether another process has changed these, or has died.
    private mutating func nudge(_ file: StoreFile) {
        let now = file.environment.configuration.uptime()
        if let last = lastNudge, now - last < .milliseconds(250) { return }
        lastNudge = now
        file.feed.nudge()
    }

    /// Schedules two checks after a write, because LMDB publishes a commit to readers shortly after
    /// the write that wakes this thread.
    mutating func noteWrite() { nextLooks = [25, 1] }

    /// Performs the duties that are due; returns the time for which the thread may then sleep, in
    /// milliseconds.
    mutating func perform(for file: StoreFile?) -> Int32 {
        guard let file else { return -1 }
        let isObserved = file.feed.observerCount > 0
        let isShared = !file.environment.configuration.removesNames
        if isObserved {
            if isShared { watch.startWatching(file.environment) }
            file.catchUp()
            nudge(file)
        } else {
            watch.stopWatching()
        }
        checkReaders(of: file)
        if trim(file) { return 0 }
        guard isObserved else { return 30_000 }
        // Without a watch, polls twice within the promised delay.
        return watch.isWatching || !isShared ? nextLooks.popLast() ?? 1_000 : 25
    }
}

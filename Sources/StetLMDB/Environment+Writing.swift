import CLMDB
import Glibc

// The right to write: a lock of an open file description, taken before LMDB's mutex. It belongs to
// the process, in which LMDB's mutex lets threads write in turn. Nobody waits at that mutex for
// another process: there a wait has no end, names nobody, and a waiter of another PID namespace
// with the thread id of the owner takes the mutex away from it when it is killed.
//
// Nothing wakes who waits; it looks again, at first every 100 microseconds. So that who lets go and
// comes back does not always win, who waits has the turn, and who writes needs it to begin again.

extension Environment {
    /// How long a process is waited for before `longWait` is told, and again after each time.
    package static let longWait = Duration.seconds(5)

    /// Takes the right to write, which it may have already; waits for other processes.
    ///
    /// - Parameter goesOn: Is asked again and again, with the time that this has waited. Without
    ///   it, a wait ends when the task is cancelled.
    /// - Throws: `LMDBError`: `.cancelled` in a cancelled task, else `.busy` when `goesOn` says no.
    package func beginWriting(
        while goesOn: (Duration) -> Bool = { _ in !Task.isCancelled }
    ) throws(LMDBError) {
        if isForked { throw LMDBError(.begin, code: LMDBError.forked, path: path) }
        let begun = configuration.uptime()
        var told = Duration.zero
        var pauses = 0
        while try !takeWriting() {
            let duration = configuration.uptime() - begun
            if duration - told >= Self.longWait {
                told = duration
                configuration.longWait(try locks.holder(of: .writing), duration)
            }
            guard goesOn(duration) else {
                state.withLock { if $0.writerCount == 0 { locks.release(.turn) } }
                if Task.isCancelled {
                    throw LMDBError(.begin, code: LMDBError.cancelled, path: path)
                }
                throw LMDBError(writing: try locks.holder(of: .writing), for: duration, path: path)
            }
            // About 20 ms, then a second, of ever longer pauses.
            state.wait(atMost: .microseconds(pauses < 200 ? 100 : pauses < 1_200 ? 1_000 : 10_000))
            pauses += 1
        }
    }

    /// False while another process writes.
    private func takeWriting() throws(LMDBError) -> Bool {
        try state.withLock { (state) throws(LMDBError) in
            if state.isClosed {
                throw LMDBError(.begin, code: LMDBError.closed, path: path)
            }
            if let failure = state.failure { throw failure }
            if state.writerCount == 0 {
                guard try locks.take(.turn), try locks.take(.writing) else { return false }
                locks.release(.turn)
            }
            state.writerCount += 1
            return true
        }
    }

    /// Ends what `beginWriting` began.
    package func endWriting() {
        state.withLock { state in
            state.writerCount -= 1
            if state.writerCount == 0 { locks.release(.writing) }
        }
    }

    /// Whether the path still names the files that are open; true of files without names.
    package var isInPlace: Bool { locks.isInPlace }

    /// Takes what one holder at a time has, in this process or another.
    ///
    /// - Parameter number: from 0 up to 2^48; each is a right of its own.
    /// - Returns: the right; nil while another holds it.
    /// - Throws: `LMDBError`.
    package func lease(_ number: Int) throws(LMDBError) -> FileLease? {
        try locks.lease(number)
    }

    /// Whether a lease is held, by this process or another.
    package func isLeased(_ number: Int) throws(LMDBError) -> Bool {
        try locks.isLeased(number)
    }

    /// Puts a file that `body` makes in the place of this one, while nobody writes or opens it.
    ///
    /// It has the owner and the rights of this one. The lock file goes, so that who opens the new
    /// file gets one of its own. Who has the old ones open goes on reading there, and cannot write
    /// any more.
    package func replaceFile<Result>(_ body: (Draft) throws -> Result) throws -> Result {
        try beginWriting()
        defer { endWriting() }
        try locks.checkNamedPlace()
        let draft = try Draft(of: path)
        defer { draft.remove() }
        try locks.giveRights(to: draft)
        let result = try body(draft)
        try locks.takeOpening(.seconds(5))
        defer { locks.release(.opening) }
        // In this order: beside the old file a new lock file would let a second writer in.
        try draft.replaceTarget()
        unlink(locks.lockPath)
        try FileSystem.syncDirectory(of: path)
        return result
    }
}

import CLMDB
import Glibc

// The right to write is a lock of an open file description, taken before LMDB's mutex. It belongs
// to the process, in which LMDB's mutex lets threads write in turn. No thread waits for another
// process at that mutex, because such a wait has no end and cannot name the holder; and if a waiter
// of another PID namespace with the owner's thread id is killed, it takes the mutex from the owner.
//
// Nothing wakes a waiting process: it polls, at first every 100 microseconds. So that a process
// that releases the right and returns does not always win, the waiting one takes the turn, and a
// writer needs the turn to begin again.

extension Environment {
    /// The time to wait for another process before `longWait` is called, and between its calls.
    package static let longWait = Duration.seconds(5)

    /// Acquires the right to write, unless this process already has it; waits for other processes.
    ///
    /// - Parameter goesOn: Returns whether to continue waiting; called repeatedly with the time
    ///   waited so far. By default, a wait ends when the task is cancelled.
    /// - Throws: `LMDBError`: `.cancelled` in a cancelled task, otherwise `.busy` when `goesOn`
    ///   returns false.
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
                state.withLock { if $0.writerCount == 0 { $0.locks.release(.turn) } }
                if Task.isCancelled {
                    throw LMDBError(.begin, code: LMDBError.cancelled, path: path)
                }
                throw LMDBError(writing: try locks.holder(of: .writing), for: duration, path: path)
            }
            // Pauses of 0.1 ms for about 20 ms, then of 1 ms for a second, then of 10 ms.
            state.wait(atMost: .microseconds(pauses < 200 ? 100 : pauses < 1_200 ? 1_000 : 10_000))
            pauses += 1
        }
    }

    /// Acquires the right to write; returns false while another process writes.
    private func takeWriting() throws(LMDBError) -> Bool {
        try state.withLock { (state) throws(LMDBError) in
            if state.isClosed {
                throw LMDBError(.begin, code: LMDBError.closed, path: path)
            }
            if let failure = state.failure { throw failure }
            if state.writerCount == 0 {
                let locks = state.locks
                guard try locks.take(.turn), try locks.take(.writing) else { return false }
                do throws(LMDBError) {
                    if try !log.takeRight(locks) {
                        // The owner of the log needs both to write and to close.
                        locks.release(.writing)
                        locks.release(.turn)
                        return false
                    }
                } catch {
                    locks.release(.writing)
                    locks.release(.turn)
                    throw error
                }
                locks.release(.turn)
            }
            state.writerCount += 1
            return true
        }
    }

    /// Releases the right that `beginWriting` acquired.
    package func endWriting() {
        state.withLock { state in
            state.writerCount -= 1
            if state.writerCount == 0 { state.locks.release(.writing) }
        }
    }

    /// Whether the path still names the open files; true for files without names.
    package var isInPlace: Bool { locks.isInPlace }
}

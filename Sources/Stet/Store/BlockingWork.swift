import Glibc

/// Runs work that blocks on a thread of its own, so that it takes no thread of the cooperative pool
/// from other tasks.
///
/// The work stays part of its task: `Task.checkCancellation()` and task-local values work in it.
enum BlockingWork {
    /// Runs `body` on a thread of its own.
    @concurrent static func run<Result: Sendable>(
        _ body: @Sendable () throws -> Result
    ) async throws -> Result {
        try await withTaskExecutorPreference(BlockingExecutor()) { try await perform(body) }
    }

    @concurrent private static func perform<Result: Sendable>(
        _ body: @Sendable () throws -> Result
    ) async throws -> Result {
        try body()
    }
}

/// An executor that runs each job on a new thread, and on the pool when the system has no thread
/// left.
private final class BlockingExecutor: TaskExecutor {
    /// The argument of a thread.
    private final class Work {
        let executor: BlockingExecutor
        let job: UnownedJob

        init(_ executor: BlockingExecutor, _ job: UnownedJob) {
            self.executor = executor
            self.job = job
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let work = Unmanaged.passRetained(Work(self, UnownedJob(job)))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                work.job.runSynchronously(on: work.executor.asUnownedTaskExecutor())
                return nil
            }, work.toOpaque())
        if code == 0 {
            pthread_detach(thread)
        } else {
            let job = work.takeRetainedValue().job
            globalConcurrentExecutor.enqueue(ExecutorJob(job))
        }
    }
}

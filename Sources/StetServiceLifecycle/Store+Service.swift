public import ServiceLifecycle
public import Stet

extension Store: Service {
    /// Keeps the store open until the service group shuts down gracefully or the task is cancelled,
    /// then closes it: the writer's queue is committed, observers end.
    ///
    /// Place services that use the store after it in the group, so that they are shut down before
    /// it.
    ///
    /// - Throws: nothing; cancellation ends it like a graceful shutdown.
    public func run() async throws {
        defer { close() }
        do {
            try await gracefulShutdown()
        } catch is CancellationError {
            // The group is cancelled without a graceful shutdown. The store is closed in both
            // cases.
        }
    }
}

public import ServiceLifecycle
public import Stet

extension Store: Service {
    /// Keeps the store open until the service group shuts down gracefully or the task is cancelled,
    /// then closes it: what waits for the writer is committed, observers end.
    ///
    /// Let services that use the store come after it in the group: they are shut down before it.
    public func run() async throws {
        defer { close() }
        do {
            try await gracefulShutdown()
        } catch is CancellationError {
            // The group is ending without grace; closing is the same.
        }
    }
}

public import StetStore

extension Store {
    /// Applies the commits that other nodes of the shared journal have made.
    ///
    /// A node also does that by itself, shortly after each commit. A service behind a load balancer
    /// reads its own writes if the revision of the save travels with the next request, and the node
    /// that gets it waits for that revision. Contexts move with their own `refresh()`.
    ///
    /// - Parameters:
    ///   - revision: The revision to wait for; 0 for the commits that the journal has now.
    ///   - limit: The time to wait for it; 10 seconds by default.
    /// - Throws: `StoreError`: `.noSuchRevision` when there is no such commit after that time,
    ///   `.journalUnavailable`, `.journalDiverged`, `.modelMismatch` when another node has migrated
    ///   the store.
    /// - Complexity: One request, and O(bytes of the new commits).
    public nonisolated(nonsending) func refresh(
        atLeast revision: Revision = .zero, within limit: Duration = .seconds(10)
    ) async throws {
        try await BlockingWork.run { try StoreNode(file).follow(atLeast: revision, within: limit) }
    }

    /// Replaces the copy of the store from which new nodes begin by one of this node, so that they
    /// need only the entries after it.
    ///
    /// Trimming and redacting do so, too. Nodes can save while it works.
    ///
    /// - Throws: `StoreError`: `.sharedJournal` when the store has no shared journal,
    ///   `.journalUnavailable` when that cannot be reached or does not permit it; nothing was
    ///   changed then.
    /// - Complexity: O(bytes in use), which are on the disk and in the shared journal twice for a
    ///   while.
    public nonisolated(nonsending) func renewBase() async throws {
        try await BlockingWork.run { try StoreNode(file).renewBase() }
    }
}

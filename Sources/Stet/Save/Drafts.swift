public import FoundationEssentials
public import StetStore

/// Unsaved changes that are kept under a name, also across restarts of the process.
///
/// ```swift
/// try store.drafts.save(context, as: "article 7")      // before the process ends
/// try context.apply(try store.drafts.changes("article 7"))
/// try store.drafts.remove("article 7")                  // once it is saved
/// ```
///
/// A draft is not part of the store: it has no revision, is in no backup, and others do not see it.
/// When it is applied, it is merged with what others have saved since, like every change set. Each
/// is a file in the directory `PATH-drafts`, which only its owner can read; a store in memory has
/// none. `requestErase()` removes them, and a redaction removes the redacted properties of an
/// object from them.
public struct Drafts: Sendable {
    /// A draft without its changes.
    public struct Entry: Sendable, Hashable, Codable {
        /// The name.
        public let name: String
        /// The time when it was saved, by the clock of the store's configuration.
        public let time: Date
        /// The revision that its changes are based on.
        public let revision: Revision
        /// The number of changed objects.
        public let changeCount: Int

        fileprivate init(_ draft: DraftContents) {
            name = draft.name
            time = draft.time
            revision = draft.revision
            changeCount = draft.changes.count
        }
    }

    private let store: Store
    private var files: DraftFiles { DraftFiles(of: store.path) }

    fileprivate init(_ store: Store) { self.store = store }

    /// Saves the pending changes of a context, in place of an earlier draft of that name; they stay
    /// pending.
    ///
    /// - Throws: the error of a read that failed inside an accessor; `StoreError`; for sealed
    ///   attributes a `SealingError`, or a `ValidationError` (`.unsealable`).
    /// - Complexity: O(pending changes), and a sync of a file.
    public func save(_ context: ManagedContext, as name: String) throws {
        try context.core.checkUsable()
        // No other process could read a value that is not sealed.
        var sealing = SealingStep(context.core)
        try sealing.run()
        if !sealing.refusals.isEmpty {
            throw ValidationError(
                violations: sealing.violations.inTotalOrder(), rejected: context.changes)
        }
        try files.write(
            DraftContents(
                name: name, time: store.configuration.clock(), revision: context.revision,
                store: store.file.storeID,
                changes: context.core.changes(sealed: sealing.sealed).changes))
    }

    /// Returns the drafts, in the order of their names.
    ///
    /// - Throws: `StoreError`, also for a file that is no draft (`.damaged`).
    public func list() throws -> [Entry] {
        try files.all().map(Entry.init).sorted { $0.name < $1.name }
    }

    /// Returns the changes of a draft, for `ManagedContext.apply`.
    ///
    /// - Throws: `StoreError`: `.notFound` when there is no draft of that name, `.damaged`.
    public func changes(_ name: String) throws -> ChangeSet {
        let draft = try files.draft(name)
        guard draft.store == store.file.storeID else {
            throw StoreError(
                .notFound, path: files.path(name),
                message: "The draft belongs to another store that was at this path.",
                advice: "Remove it with drafts.remove(_:).")
        }
        return ChangeSet(changes: draft.changes)
    }

    /// Removes a draft; does nothing when there is none of that name.
    ///
    /// - Throws: `StoreError`.
    public func remove(_ name: String) throws { try files.remove(name) }

    /// Removes all drafts.
    ///
    /// - Throws: `StoreError`.
    public func removeAll() throws { try files.removeAll() }
}

extension Store {
    /// Unsaved changes that are kept under names.
    public var drafts: Drafts { Drafts(self) }
}

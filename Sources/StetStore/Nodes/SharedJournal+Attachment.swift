import StetLMDB

extension SharedJournal {
    /// Moves the journal of the store at `path` into this one, where it continues; the store's file
    /// becomes its first node.
    ///
    /// From the beginning of the call no process can save to the file without the shared journal.
    /// After a failure a further call completes the work.
    ///
    /// - Parameter path: The path of a store that this process does not have open.
    /// - Throws: `StoreError`: `.journalUnavailable`, `.alreadyExists` when this journal is that
    ///   of another store; nothing was changed then.
    /// - Complexity: O(bytes of the file), which are on the disk twice for a while.
    public func attach(_ path: String) throws {
        let file = try StoreFile.open(at: path)
        try StoreError.wrapping(path: path) {
            let wasAttached = try AttachedMark.set(true, file.environment)
            let head = SharedJournalHead(try file.head(), of: file.storeID)
            // One that a killed process has left is removed, too.
            let base = "\(path).attaching"
            StoreFile.removeCopy(at: base)
            defer { StoreFile.removeCopy(at: base) }
            _ = try file.copy(to: base)
            do {
                if try create(at: head, base: base) { return }
                if try self.head()?.isSameCommit(head) == true { return }
            } catch let error as SharedJournalError {
                // The mark stays: the journal may have been made.
                throw StoreError.unavailable(error, self, path: path)
            }
            if !wasAttached { try AttachedMark.set(false, file.environment) }
            throw StoreError(
                .alreadyExists, path: path,
                message: "The shared journal \(name) has another store, or this one with "
                    + "later commits.",
                advice: "Choose another name, or open the store with that journal.")
        }
    }

    /// Makes the file of a node anew from this journal: for one that is damaged, or lacks commits
    /// that were trimmed.
    ///
    /// The former file stays beside it, with `.former` at the end of its name; remove it. Only that
    /// has the node's durable subscriptions, and commits that the journal does not have. Drafts
    /// stay. After a failure a further call, or opening the node, completes the work.
    ///
    /// - Parameter path: The path of a node that no process has open; there need not be a file.
    /// - Throws: `StoreError`: `.journalUnavailable`, `.storeBusy` when the file is in use,
    ///   `.alreadyExists` when there is a former file already, `.notFound` when the journal has no
    ///   store; nothing was changed then.
    /// - Complexity: O(bytes of the journal's copy and of the entries after it), which are on the
    ///   disk beside the former file.
    public func remake(_ path: String) throws {
        try StoreError.wrapping(path: path) {
            try NodeOpening.remake(path, former: "\(path).former", self)
        }
    }

    /// Ends this journal: the file of the node at `path` continues as a store of its own.
    ///
    /// All other nodes can only be read from then on. After a failure a further call completes the
    /// work.
    ///
    /// - Parameter path: The path of a node that this process does not have open.
    /// - Throws: `StoreError`: `.journalUnavailable`, `.journalDiverged`.
    /// - Complexity: O(bytes of the entries that the file lacks).
    public func detach(_ path: String) throws {
        try StoreError.wrapping(path: path) {
            do {
                while let head = try NodeOpening.caughtUp(path, self) {
                    if try remove(at: head) { break }
                }
            } catch let error as SharedJournalError {
                throw StoreError.unavailable(error, self, path: path)
            }
            try AttachedMark.set(false, try StoreFile.open(at: path).environment)
        }
    }
}

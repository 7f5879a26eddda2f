import Glibc
import Logging
import Metrics
import StetLMDB

/// An open store as a node of its shared journal: applies the commits of other nodes.
package struct StoreNode {
    let file: StoreFile

    package init(_ file: StoreFile) { self.file = file }

    /// Makes the file of a node, or updates it, before its migration is planned; does nothing
    /// without a shared journal.
    ///
    /// - Throws: `StoreError`, as opening the node.
    package static func prepare(
        at path: String, _ configuration: StoreFile.Configuration
    ) throws {
        try NodeOpening.prepare(path, configuration)
    }

    /// Applies the commits that other nodes have appended to the shared journal, and publishes
    /// them; does nothing without one.
    ///
    /// - Throws: `StoreError`: `.journalUnavailable`, `.journalDiverged`, `.modelMismatch` when
    ///   another node has migrated the store. What was applied before stays.
    /// - Complexity: one request, and O(bytes of the new entries).
    package func follow() throws {
        guard let shared = file.shared else { return }
        defer { file.catchUp() }
        try StoreError.wrapping(path: file.path) {
            while true {
                let own = try file.environment.read { try Head.read(in: $0) }
                let entries = try shared.entries(after: own)
                file.metrics.journalLag.record(shared.lag(of: own))
                if entries.isEmpty { return }
                let known = try entries.prefix { try $0.migration == nil }
                try apply(known)
                if known.count < entries.count {
                    throw StoreError.migratedElsewhere(path: file.path)
                }
            }
        }
    }

    /// Follows the journal until the store has a revision, unless it has it; at least once for
    /// revision 0.
    ///
    /// - Throws: as `follow()`; `StoreError` (`.noSuchRevision`) after the limit.
    package func follow(atLeast revision: Revision, within limit: Duration) throws {
        if revision > .zero, try file.head().revision >= revision { return }
        let end = systemUptime() + limit
        while true {
            try follow()
            let head = try file.head().revision
            if head >= revision { return }
            guard systemUptime() < end else {
                throw StoreError.noSuchRevision(revision, head: head, path: file.path)
            }
            usleep(5_000)
        }
    }

    private func apply(_ entries: ArraySlice<JournalEntry>) throws {
        // The writer may have written them in the meantime: nobody waits for its transaction.
        let head = try file.head().revision
        guard let last = entries.last, last.envelope.revision > head else { return }
        try file.environment.writeGrowing { transaction in
            var head = try Head.read(in: transaction.reading)
            // Another thread or process may have applied some of them.
            let rest = entries.drop { $0.envelope.revision <= head.revision }
            try EntryReplay(file: file).append(rest, &head, in: transaction)
        }
        try EntryReplay(file: file).finish(entries)
    }

    /// Follows the journal on the follower's thread; returns whether it succeeded.
    func followInBackground() -> Bool {
        do {
            try follow()
            file.shared?.note(nil)
            keepHistoryShort()
            return true
        } catch {
            file.metrics.journalFailures.increment()
            // A store that is being closed has no failure.
            if !file.isClosing, file.shared?.note("\(error)") == true {
                file.logger.error(
                    "The store can't follow its shared journal.", metadata: ["error": "\(error)"])
            }
            return false
        }
    }
}

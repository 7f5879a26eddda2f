import Logging
import StetLMDB

// Trimming and redaction of a shared journal: a commit tells all nodes, and the shared journal gets
// a copy of the store without what was removed.

extension StoreNode {
    /// Removes the commits up to a revision from the journal of the store; from a shared journal
    /// and from all of its nodes, too.
    ///
    /// After a failure a further call completes the work.
    ///
    /// - Parameters:
    ///   - last: The last commit to remove, at most the head.
    ///   - progress: As for `StoreFile.trim`.
    /// - Throws: `StoreError`, as `StoreFile.trim`, `UnknownOutcomeError`; `.journalUnavailable`
    ///   when the shared journal cannot be reached, or does not permit it.
    /// - Complexity: O(bytes of the commits); for a shared journal O(bytes in use), too.
    package func trim(
        through last: Revision, progress: (Revision) throws -> Bool = { _ in true }
    ) throws {
        if file.shared != nil,
            try file.read({ try WantedFloor.read(in: $0.transaction) }) < last
        {
            try commit(.trim(through: last))
        }
        try file.trim(through: last, progress: progress)
        if file.shared != nil { try renewBase() }
    }

    /// Redacts values of objects in the journal of the store; in a shared journal and on all of its
    /// nodes, too.
    ///
    /// After a failure a further call completes the work.
    ///
    /// - Returns: The effect.
    /// - Throws: `StoreError`, as `StoreFile.redact`, `UnknownOutcomeError`; `.journalUnavailable`
    ///   when the shared journal cannot be reached, or does not permit it.
    /// - Complexity: O(bytes of the entries that change the objects); for a shared journal O(bytes
    ///   in use), too.
    @discardableResult
    package func redact(_ requests: [RedactionRequest]) throws -> RedactionPlan {
        if file.shared == nil { return try file.redact(requests) }
        let request = JournalRequest.redaction(requests.map { $0.ofMembers(in: file.schema) })
        let plan = try file.redactionPlan(requests)
        if !plan.revisions.isEmpty { try commit(request) }
        try JournalRequestWork(file: file).finish(request)
        try renewBase()
        return plan
    }

    /// Replaces the copy of the store from which new nodes begin by one of this node, and removes
    /// the entries that this node has trimmed from the shared journal.
    ///
    /// - Throws: `StoreError`: `.sharedJournal` when the store has no shared journal,
    ///   `.journalUnavailable`, and the errors of `StoreFile.copy`.
    /// - Complexity: O(bytes in use), which are on the disk and in the shared journal twice for a
    ///   while.
    package func renewBase() throws {
        guard let shared = file.shared else {
            throw StoreError(
                .sharedJournal, path: file.path,
                message: "The store \(file.path) is not open as a node of a shared journal.",
                advice: "Open it with its journal.")
        }
        try StoreError.wrapping(path: file.path) {
            let draft = try StoreCopier(file: file).draft(for: "\(file.path).base") { _ in }.draft
            defer { draft.remove() }
            var configuration = StoreFile.Configuration()
            configuration.allowsUnsafePlace = true
            let copy = try StoreFile.open(at: draft.path, configuration)
            let (head, floor) = try copy.read { (try $0.head(), try $0.floor()) }
            copy.close()
            try shared.replaceBase(by: draft.path, at: head, removingEntriesThrough: floor)
        }
    }

    /// The time between two trims for a retention: each replaces the copy of the whole store.
    private static let trimPause = Duration.seconds(3_600)

    /// Trims what an interrupted trim has left in this node's file, and the shared journal as the
    /// retention of this node says, at most once an hour; failures are logged.
    func keepHistoryShort() {
        let now = file.environment.configuration.uptime()
        guard file.shared?.beginsTrim(at: now, pause: Self.trimPause) == true else { return }
        do {
            let (wanted, floor) = try file.read {
                (try WantedFloor.read(in: $0.transaction), try $0.floor())
            }
            if floor < wanted { try file.trim(through: wanted) }
            if file.retention != .forever { try trimOutdated() }
        } catch {
            file.logger.error(
                "The journal could not be trimmed.", metadata: ["error": "\(error)"])
        }
    }

    private func trimOutdated() throws {
        let (outdated, floor) = try file.read {
            (
                try OutdatedCommits(file.retention, now: file.time(), limit: .max, $0),
                try $0.floor()
            )
        }
        if let end = outdated.uncountedPause { file.warn(ofPauseBefore: end) }
        // The commit of the last trim is not worth another one.
        let isCounted = if case .count = file.retention { true } else { false }
        guard outdated.last.number > floor.number + (isCounted ? 1 : 0) else { return }
        try trim(through: outdated.last)
    }

    /// Makes a commit that has a request.
    private func commit(_ request: JournalRequest) throws {
        var attributes = CommitAttributes()
        attributes.request = request
        let base = try file.head().revision
        let set = try ChangeSetBuilder(schema: file.schema).encoded(
            attributes: attributes, base: base, token: try file.token(at: base),
            time: file.time(), for: request.purpose)
        do {
            _ = try file.commit(set)
        } catch let refusal as CommitRefusal {
            throw refusal.finalError(path: file.path) ?? refusal
        }
    }
}

import Logging
import StetLMDB
import Synchronization

// Trimming removes the oldest commits, a few in each transaction. Each transaction leaves a valid
// store that begins a little later, so an interrupted trim needs no recovery.

extension StoreFile {
    /// The greatest numbers of commits and of bytes that one transaction trims: it occupies the
    /// writer for about as long as a commit.
    static let trimStep = (commitCount: 1_000, byteCount: 4 << 20)

    /// Removes the commits up to a revision from the journal, in separate transactions, and returns
    /// after that; commits that were trimmed before are ignored.
    ///
    /// - Parameters:
    ///   - last: the last commit to remove, at most the head.
    ///   - retention: the reason, which the store records.
    ///   - progress: receives the new floor after each transaction; returns false to stop.
    /// - Throws: `StoreError`: `.damaged` when an entry does not continue the hash chain; commits
    ///   that were removed before that stay removed.
    /// - Complexity: O(bytes of the commits) in time, O(bytes of one commit) in memory.
    package func trim(
        through last: Revision, for retention: Retention = .forever,
        progress: (Revision) throws -> Bool = { _ in true }
    ) throws {
        try StoreError.wrapping(path: path) {
            while true {
                let (floor, isDone) = try environment.writeGrowing { transaction in
                    try WantedFloor.check(last, in: transaction)
                    return try JournalTrimmer(file: self).step(
                        through: last, retention, in: transaction)
                }
                guard !isDone else { return try LargeValueSweep(file: self).run() }
                guard try progress(floor) else { return }
            }
        }
    }

    /// Removes some of the commits that need not be kept; returns true when none are left, or when
    /// it fails, which is logged.
    package func trimOutdated() -> Bool {
        do {
            let now = time()
            let outdated = try read { try OutdatedCommits(retention, now: now, $0) }
            if let end = outdated.uncountedPause { warn(ofPauseBefore: end) }
            var isDone = outdated.isComplete
            try trim(through: outdated.last, for: retention) { floor in
                isDone = isDone && floor >= outdated.last
                return false
            }
            if isDone { try LargeValueSweep(file: self).run() }
            return isDone
        } catch {
            logger.error(
                "The journal could not be trimmed.", metadata: ["error": "\(error)"])
            return true
        }
    }

    /// Logs each pause that keeps commits from being trimmed, once.
    func warn(ofPauseBefore end: Revision) {
        let last = lastUncountedPause.exchange(end.number, ordering: .relaxed)
        if last == end.number { return }
        logger.warning(
            """
            Commits stay that are outdated only if a long pause in their dates counts: a clock may \
            have jumped ahead. Trim them by request.
            """, metadata: ["pauseBefore": "\(end)"])
    }
}

/// Removes the first entries of a journal, in the transactions of a trim.
private struct JournalTrimmer {
    let file: StoreFile
    private var journal: Journal { file.journal }
    private var projection: Projection { file.projection }
    private var schema: Schema { file.schema }
    private var history: SchemaHistory { file.history }
    private var storeID: ObjectID { file.storeID }
    private var path: String { file.path }

    /// Performs the part of one transaction; returns the new floor, and whether nothing is left.
    func step(
        through last: Revision, _ retention: Retention, in transaction: borrowing WriteTransaction
    ) throws -> (floor: Revision, isDone: Bool) {
        let head = try Head.read(in: transaction.reading)
        guard head.schemaRevision == UInt32(schema.revision) else {
            throw StoreError.migratedElsewhere(path: path)
        }
        let held = try SubscriptionTable.historyLimit(in: transaction.reading)?.last
        let last = min(last, head.revision, held ?? head.revision)
        let oldest = history.migrations.first?.from.revision ?? schema.revision
        let present = try JournalFloor.read(in: transaction.reading)
        var floor = present ?? JournalFloor(schemaRevision: UInt32(oldest))
        guard floor.revision < last else { return (floor.revision, true) }
        var byteCount = 0
        let end = Revision(
            min(last.number, floor.revision.number + UInt64(StoreFile.trimStep.commitCount)))
        while floor.revision < end, byteCount < StoreFile.trimStep.byteCount {
            byteCount += try removeFirst(&floor, in: transaction)
        }
        floor.retention = retention
        try floor.write(in: transaction)
        return (floor.revision, floor.revision == last)
    }

    /// Removes the first entry after a floor, which advances to it; returns the bytes of the entry.
    private func removeFirst(
        _ floor: inout JournalFloor, in transaction: borrowing WriteTransaction
    ) throws -> Int {
        let revision = floor.revision.next
        let (envelope, body) = try journal.entry(revision, in: transaction.reading)
        // Checked now, because damage cannot be found after the entry is removed.
        guard envelope.previousHash == floor.hash else {
            throw DecodingFailure(
                "the entry of revision \(revision) does not follow the one before it")
        }
        let commit = try Commit(
            envelope: envelope, body: body, history: history, store: storeID)
        try commit.checkDigest()
        let step: UInt32 = commit.migration == nil ? 0 : 1
        guard envelope.schemaRevision == floor.schemaRevision + step else {
            throw DecodingFailure(
                "the entry of revision \(revision) is of another schema than its place")
        }
        floor.digest += try StateDigest.effect(of: commit, history)
        if let migration = commit.migration {
            try StoreTables.put(migration: migration, at: revision, in: transaction)
        }
        try removeBuriedLinks(of: commit, in: transaction)
        if let largeValues = projection.largeValues {
            var counts = LargeValueCounts()
            try counts.add(-1, forEachValueOf: commit)
            try largeValues.change(counts, in: transaction)
        }
        try journal.remove(envelope, in: transaction)
        floor.revision = revision
        floor.hash = envelope.hash
        floor.time = envelope.time
        floor.schemaRevision = envelope.schemaRevision
        return body.count
    }

    /// Removes the entries of links that a commit has removed, unless they have changed since: they
    /// were kept for reads of states before it.
    private func removeBuriedLinks(
        of commit: Commit, in transaction: borrowing WriteTransaction
    ) throws {
        var edits: [MemberEdit] = []
        let reader = StoreReader(transaction.reading, file)
        try commit.forEachChange { change in
            for link in try change.links() where !link.after.isPresent {
                guard let ends = schema.ends(ofLink: link.key.link),
                    try reader.link(link.key).revision == commit.revision
                else { continue }
                let (source, target) = (link.key.source, link.key.target)
                edits.append(MemberEdit(ends.targets.number, of: source, target, nil, .erase))
                edits.append(MemberEdit(ends.sources.number, of: target, source, nil, .erase))
            }
        }
        try projection.members.apply(edits.sorted(), at: .zero, schema, in: transaction)
    }
}

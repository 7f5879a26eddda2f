import FoundationEssentials
import Logging
import StetLMDB

/// Writes the change sets that are waiting, for the writer's thread.
struct CommitWriter {
    let file: StoreFile
    private var environment: Environment { file.environment }
    private var journal: Journal { file.journal }
    private var projection: Projection { file.projection }
    private var history: SchemaHistory { file.history }
    private var storeID: ObjectID { file.storeID }
    private var logger: Logger { file.logger }
    private var path: String { file.path }
    private var feed: CommitFeed { file.feed }
    private var cause: Cause { file.cause }

    /// Commits a batch: checks each change set against the store with the earlier ones in it, and
    /// writes those that pass, in one transaction.
    ///
    /// Runs on the writer thread; no user code runs in it. The outcome of each change set is
    /// decided when this returns.
    ///
    /// - Parameters:
    ///   - batch: The submissions.
    ///   - count: The number of times that other nodes of a shared journal have overtaken it.
    func commit(_ batch: [Submission], overtaken count: Int = 0) {
        var results: [Result<Submission.Made, any Error>] = []
        var appending = SharedAppending.notBegun
        do {
            try write(batch, &results, &appending)
            publish(results)
            for (submission, result) in zip(batch, results) { submission.decide(result) }
        } catch  where appending != .notBegun {
            SharedCommit(file: file, appending: appending, cause: error)
                .end(batch, results, overtaken: count) { commit(batch, overtaken: count + 1) }
        } catch let error as LMDBError where error.isOutcomeOpen {
            logger.error(
                "A commit met a failure of the disk; the file was opened again.",
                metadata: ["code": "\(error.code)"])
            batch.decide(results) { settled($0, error) }
        } catch let error as LMDBError where error.code == LMDBError.mapFull && canGrow() {
            commit(batch)
        } catch  where batch.count > 1 {
            // A single member may have caused the failure.
            for submission in batch { commit([submission]) }
        } catch {
            batch.first?.decide(.failure(described(error)))
        }
    }

    /// Returns an error in the form for savers.
    private func described(_ error: any Error) -> any Error {
        guard let full = error as? LMDBError, full.code == LMDBError.mapFull else {
            return StoreError.wrapped(error, path: path)
        }
        let failure = StoreError(full)
        return StoreError(
            failure.code, path: path, message: failure.message, advice: file.adviceForFullMap(),
            systemCode: failure.systemCode)
    }

    private func canGrow() -> Bool {
        guard (try? environment.log.makeRoom()) ?? false else { return false }
        logger.debug("The map was full, and has room again.")
        return true
    }

    /// Returns the outcome of a commit whose transaction has failed at its end: the file was
    /// reopened and synced, so that the journal shows it.
    private func settled(
        _ submission: Submission, _ error: LMDBError
    ) -> Result<Submission.Made, any Error> {
        // The caller reads back a change of a subscription.
        guard let id = submission.commitID else { return .failure(StoreError(error)) }
        do {
            let found = try file.decidedCommit(with: id)
            guard let found else { return .failure(StoreError(error)) }
            publish([.success(.commit(found))])
            return .success(.commit(found))
        } catch {
            let cause = (error as? StoreError) ?? StoreError.damaged("\(error)", path: path)
            return .failure(UnknownOutcomeError(commit: id, cause: cause))
        }
    }

    /// Writes journal entries, records, lists of members, entries of indexes and the head for all
    /// change sets that pass their checks, in one transaction, durably; the only function that
    /// changes a store.
    ///
    /// A change set that is refused has written nothing.
    ///
    /// - Throws: `LMDBError` or `DecodingFailure`: nothing was written, unless the outcome is open.
    private func write(
        _ batch: [Submission], _ results: inout [Result<Submission.Made, any Error>],
        _ appending: inout SharedAppending
    ) throws {
        try environment.write { transaction in
            let before = try Head.read(in: transaction.reading)
            var head = before
            var redacted: Set<Revision> = []
            for submission in batch {
                switch submission.work {
                case .commit(let set, let isRetry):
                    let result = try write(
                        set, submission, isRetry, &head, &redacted, in: transaction)
                    results.append(result.map { .commit($0) })
                case .subscription(let update):
                    results.append(try write(update, head, in: transaction))
                }
            }
            guard head != before else { return }
            try head.write(in: transaction)
            // A working copy of a migration is adopted, and shared, as a whole.
            if cause == .migration { return }
            if file.shared != nil { appending = .begun }
            try SharedLink.append(
                to: file.shared, after: before, through: head, redacted: redacted, from: journal,
                in: transaction)
            if file.shared != nil { appending = .appended }
        }
    }

    private func write(
        _ update: SubscriptionUpdate, _ head: Head, in transaction: borrowing WriteTransaction
    ) throws -> Result<Submission.Made, any Error> {
        if let refusal = try update.refusal(after: head.revision, in: transaction.reading) {
            return .failure(refusal)
        }
        return .success(.subscription(try update.apply(in: transaction)))
    }

    private func write(
        _ set: EncodedChangeSet, _ submission: Submission, _ isRetry: Bool, _ head: inout Head,
        _ redacted: inout Set<Revision>, in transaction: borrowing WriteTransaction
    ) throws -> Result<Commit, any Error> {
        guard set.base <= head.revision else {
            return .failure(
                StoreError.otherHistory(base: set.base, head: head.revision, path: path))
        }
        if isRetry, let id = submission.commitID {
            let present: Revision?
            do {
                present = try journal.revision(
                    of: id, through: head.revision, in: transaction.reading)
            } catch let error as StoreError {
                // Only this submission is refused, not the rest of the batch.
                return .failure(error)
            }
            if let present {
                let (envelope, body) = try journal.entry(present, in: transaction.reading)
                return .success(try commit(envelope, body))
            }
        }
        let reasons = try CommitCheck(set, file, transaction.reading).reasons(head)
        guard reasons.isEmpty else { return .failure(CommitRefusal(reasons: reasons)) }
        let work = JournalRequestWork(file: file)
        if let request = set.attributes.request,
            let refusal = try work.refusal(of: request, in: transaction.reading)
        {
            return .failure(refusal)
        }
        let envelope = try apply(set, &head, in: transaction)
        if let request = set.attributes.request {
            try redacted.formUnion(
                work.carryOut(request, of: envelope.revision, in: transaction))
        }
        return .success(try commit(envelope, set.journal))
    }

    private func commit(_ envelope: Envelope, _ body: ByteStorage) throws -> Commit {
        try Commit(envelope: envelope, body: body, history: history, store: storeID)
    }

    /// Notifies observers, in order.
    private func publish(_ results: [Result<Submission.Made, any Error>]) {
        let made = results.compactMap { try? $0.get() }
        let commits = made.compactMap(\.commit)
        if commits.count < made.count { feed.nudge() }
        guard let first = commits.first?.revision, let before = first.previous else { return }
        file.catchUp(through: before)
        feed.publish(commits)
    }

    /// Writes a change set that has passed all checks, except for the head; returns the envelope of
    /// its entry.
    private func apply(
        _ set: EncodedChangeSet, _ head: inout Head, in transaction: borrowing WriteTransaction
    ) throws -> Envelope {
        let date = try journal.date(set.time, after: head, in: transaction.reading)
        if let finding = date.finding {
            logger.warning(
                "\(finding)",
                metadata: ["clock": "\(timeText(set.time))", "commit": "\(timeText(date.time))"])
        }
        var envelope = Envelope(of: set, after: head, cause: cause, time: date.time)
        try moveStacks(set, &envelope, in: transaction)
        let hash = try journal.append(envelope, set, in: transaction)
        try projection.write(set, envelope, in: transaction)
        _ = try set.subscription?.apply(in: transaction)
        head.follow(envelope, hash)
        return envelope
    }
}

extension Envelope {
    /// Creates the envelope of a change set's entry after the last one.
    init(of set: EncodedChangeSet, after head: Head, cause: Cause, time: Double) {
        self.cause = cause == .migration ? cause : set.purpose.cause
        // A migration cannot be undone, because the current models could not read the result.
        isUndoable = cause != .migration && set.purpose.isUndoable
        changeCount = set.changes.count
        revision = head.revision.next
        self.time = time
        base = set.base
        token = set.token
        schemaRevision = head.schemaRevision
        previousHash = head.hash
        bodyDigest = set.bodyDigest
    }
}

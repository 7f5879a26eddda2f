/// An undo, redo, revert or discard to be committed.
package struct UndoWork: CommitWork {
    /// The reason why an undo cannot be written.
    package enum Refusal: Error {
        case conflicts([UndoConflict], commits: [Revision])
        case violations([Violation], rejected: ChangeSet)
        /// The store kept changing.
        case contention
    }

    /// Returns the violations of changes that were prepared at a revision; records look-ups in the
    /// changes.
    package typealias Validation = (inout ChangeSetBuilder, Revision) throws -> [Violation]

    private let file: StoreFile
    package let request: UndoRequest
    private let policy: UndoPolicy
    let id: CommitID?
    private let time: () -> Double
    private let violations: Validation
    /// The author of a revert.
    package var author: String?
    package var scope: String?
    /// Further metadata of the commit.
    package var metadata: [String: String] = [:]
    /// True when the step is removed from its stack instead of being undone.
    package var isDiscard = false
    /// True when the step is discarded only if values of it were redacted.
    private var isOfErased = false
    /// The commits that are undone, after the preparation.
    package private(set) var subjects: [Revision] = []
    /// The commit that an earlier attempt has made.
    package private(set) var repeated: Commit?

    package init(
        _ file: StoreFile, _ request: UndoRequest, _ policy: UndoPolicy, id: CommitID? = nil,
        time: @escaping () -> Double, violations: @escaping Validation
    ) {
        self.file = file
        self.request = request
        self.policy = policy
        self.id = id
        self.time = time
        self.violations = violations
    }

    package var isRetry: Bool { id != nil }
    package var contention: any Error { Refusal.contention }

    package mutating func prepare() throws -> EncodedChangeSet? {
        if let id, let commit = try file.committed(id, where: request.isMade(as:)) {
            repeated = commit
            return nil
        }
        var net = ChangeSetBuilder(schema: file.schema)
        guard let prepared = try preparedUndo(&net) else { return nil }
        let inverse = prepared.inverse
        subjects = inverse.subjects
        guard inverse.conflicts.isEmpty else {
            throw Refusal.conflicts(inverse.conflicts, commits: inverse.subjects)
        }
        guard let purpose = prepared.purpose(isEmpty: net.isEmpty) else { return nil }
        let violations = net.isEmpty ? [] : try violations(&net, inverse.base)
        guard violations.isEmpty else {
            throw Refusal.violations(violations, rejected: try net.changeSet())
        }
        var attributes = prepared.attributes(author: author, scope: scope)
        attributes.metadata.merge(metadata) { _, new in new }
        return try net.encoded(
            attributes: attributes, base: id?.base ?? inverse.base,
            token: try id?.token ?? file.token(at: inverse.base), time: time(), for: purpose)
    }

    private func preparedUndo(_ net: inout ChangeSetBuilder) throws -> PreparedUndo? {
        try file.read { reader in
            isDiscard
                ? try UndoPreparation(reader).prepareDiscard(request, onlyErased: isOfErased)
                : try UndoPreparation(reader).prepare(request, policy, into: &net)
        }
    }

    /// Does nothing: the work is prepared from the store alone.
    package func follow(_ refusal: CommitRefusal) throws {}

    /// Returns the work that discards the step after an error that means that it can never be
    /// undone; nil for another error.
    package func discard(after error: any Error) -> UndoWork? {
        guard let error = error as? StoreError, error.code == .erased, !isDiscard else {
            return nil
        }
        if case .revert = request { return nil }
        var work = UndoWork(file, request, .fail, time: time, violations: { _, _ in [] })
        work.isDiscard = true
        work.isOfErased = true
        return work
    }
}

extension StoreFile {
    /// Undoes, redoes, reverts or discards; blocks the thread until it is durable.
    ///
    /// - Returns: the commit; nil when the stack was empty, or nothing was left to undo.
    /// - Throws: `UndoWork.Refusal`, `StoreError`, `UnknownOutcomeError`.
    package func commit(_ work: inout UndoWork) throws -> Commit? {
        let id = work.id
        savesUnderWay.begin(id)
        defer { savesUnderWay.end(id) }
        do {
            var preparation = Preparation(self)
            let commit = try preparation.run(&work) ?? work.repeated
            return commit.flatMap { $0.isDiscard ? nil : $0 }
        } catch {
            if var discard = work.discard(after: error) { _ = try commit(&discard) }
            throw error
        }
    }

    /// Undoes, redoes, reverts or discards; only waiting for the disk suspends the task.
    package nonisolated(nonsending) func commit(_ work: inout UndoWork) async throws -> Commit? {
        let id = work.id
        savesUnderWay.begin(id)
        defer { savesUnderWay.end(id) }
        do {
            var preparation = Preparation(self)
            let commit = try await preparation.run(&work) ?? work.repeated
            return commit.flatMap { $0.isDiscard ? nil : $0 }
        } catch {
            if var discard = work.discard(after: error) {
                var preparation = Preparation(self)
                _ = try await preparation.run(&discard)
            }
            throw error
        }
    }

    /// Returns the violations of the schema's rules by changes, for callers without models.
    package func violationsOfSchema(_ net: inout ChangeSetBuilder) throws -> [Violation] {
        let miscounts = try read { try $0.miscounts(of: net) }
        let violations =
            try net.violations() + schema.violations(miscounts, .english) { _ in .update }
            + protectedDeletions(net)
        return violations.inTotalOrder()
    }

    /// Returns a violation for each deletion of an object of a protected model.
    private func protectedDeletions(_ net: borrowing ChangeSetBuilder) -> [Violation] {
        net.items.filter { $0.kind == .delete && schema.isProtected($0.entity) }
            .map { .unconfirmedDeletion(of: $0.id, schema.entities[$0.entity], .english) }
    }
}

extension Commit {
    /// True for a commit that removes a step from its stack and undoes nothing.
    fileprivate var isDiscard: Bool {
        if case .discard = cause { true } else { false }
    }
}

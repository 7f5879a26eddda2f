/// Prepares undo, redo, revert and discard on one view of a store.
package struct UndoPreparation: ~Copyable {
    private let reader: StoreReader

    /// Creates a preparation on the view of a reader.
    package init(_ reader: borrowing StoreReader) {
        self.reader = StoreReader(reader.transaction, reader.file)
    }

    /// Prepares the inverse of the requested commits; returns nil when the stack is empty.
    ///
    /// - Throws: `StoreError`: `.notFound` for a revision that does not exist, `.historyTrimmed`
    ///   for one that was trimmed, `.erased` when values of it were redacted.
    /// - Complexity: O(changes of the commits), plus reads of the objects that refer to deleted
    ///   ones.
    package func prepare(
        _ request: UndoRequest, _ policy: UndoPolicy, into net: inout ChangeSetBuilder
    ) throws -> PreparedUndo? {
        let step: UndoStep?
        switch request {
        case .undo(let owner): step = try reader.step(at: reader.heads(of: owner).undo, of: owner)
        case .redo(let owner): step = try reader.step(at: reader.heads(of: owner).redo, of: owner)
        case .revert(let revision):
            guard revision > .zero, revision <= (try reader.head().revision) else {
                throw StoreError(
                    .notFound, path: reader.file.path, message: "There is no commit \(revision).",
                    advice: "The last one is \(try reader.head().revision).")
            }
            step = UndoStep(revisions: [revision], nextTop: .zero)
        }
        guard let step else { return nil }
        try refuseErased(step)
        return PreparedUndo(
            request: request, inverse: try inverse(of: step.revisions, policy, into: &net),
            nextTop: step.nextTop)
    }

    private func refuseErased(_ step: UndoStep) throws {
        guard let erased = try erasedCommit(of: step) else { return }
        throw StoreError(
            .erased, path: reader.file.path,
            message: "Commit \(erased) can't be undone: values of it were redacted.",
            advice: "Nothing was written; what it changed stays as it is.")
    }

    private func erasedCommit(of step: UndoStep) throws -> Revision? {
        try step.revisions.first { try reader.description(of: $0).envelope.isRedacted }
    }

    /// Prepares a discard of the step on top of an owner's stack, which undoes nothing; returns nil
    /// when the stack is empty and, with `onlyErased`, when the step can still be undone.
    package func prepareDiscard(
        _ request: UndoRequest, onlyErased: Bool = false
    ) throws -> PreparedUndo? {
        guard let step = try stepToDiscard(request),
            try !onlyErased || erasedCommit(of: step) != nil
        else { return nil }
        let isThere = try step.top > reader.floor()
        return PreparedUndo(
            request: request,
            inverse: Inverse(
                base: try reader.head().revision, subjects: step.revisions,
                label: isThere ? try reader.description(of: step.top).attributes.label : nil,
                conflicts: [], skipped: []),
            nextTop: step.nextTop)
    }

    /// Returns the step on top, or all steps of the stack when commits of the top step were
    /// trimmed.
    private func stepToDiscard(_ request: UndoRequest) throws -> UndoStep? {
        let top: Revision
        let owner: UndoOwner
        switch request {
        case .undo(let whose): (top, owner) = (try reader.heads(of: whose).undo, whose)
        case .redo(let whose): (top, owner) = (try reader.heads(of: whose).redo, whose)
        case .revert: return nil
        }
        do {
            return try reader.step(at: top, of: owner)
        } catch let error as StoreError where error.code == .historyTrimmed {
            return UndoStep(revisions: [top], nextTop: .zero)
        }
    }

    /// Prepares the inverse of commits, ordered with the last one first, and appends its changes.
    ///
    /// - Throws: `StoreError`; the error of the policy's closure.
    /// - Complexity: O(changes of the commits + objects that refer to deleted ones).
    private func inverse(
        of subjects: [Revision], _ policy: UndoPolicy, into net: inout ChangeSetBuilder
    ) throws -> Inverse {
        let base = try reader.head().revision
        let (label, conflicts) = try invert(subjects, policy, into: &net)
        try net.derive(reader, at: base)
        net.sort()
        try net.collectIndexChanges()
        return Inverse(
            base: base, subjects: subjects, label: label, conflicts: conflicts.failed,
            skipped: conflicts.skipped)
    }

    /// Appends the changes that invert commits; returns the label of the last one and the
    /// conflicts.
    ///
    /// The objects that it works on are freed before the changes are encoded.
    private func invert(
        _ subjects: [Revision], _ policy: UndoPolicy, into net: inout ChangeSetBuilder
    ) throws -> (label: String?, conflicts: UndoConflicts) {
        var inversion = try Inversion(reader.file, reader.transaction, policy)
        var label: String?
        for revision in subjects {
            let commit = try reader.commit(revision)
            if revision == subjects.first { label = commit.label }
            try inversion.invert(commit)
        }
        try inversion.resolveConsequences()
        try inversion.state.appendObjects(to: &net)
        inversion.state.appendLinks(to: &net)
        return (label, inversion.conflicts)
    }
}

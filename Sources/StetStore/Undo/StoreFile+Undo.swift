// Undo, redo, revert and discard as the writer takes them.

/// What is to be taken back.
package enum UndoRequest: Sendable, Hashable {
    /// The last step of an author in a scope.
    case undo(UndoOwner)
    /// The last undo of an author in a scope.
    case redo(UndoOwner)
    /// One commit, whoever made it.
    case revert(Revision)

    /// Whether a commit with a cause may have been made for the request.
    func isMade(as cause: Cause) -> Bool {
        switch (self, cause) {
        case (.undo, .undo), (.redo, .redo), (.undo, .discard), (.redo, .discard): true
        case (.revert(let commit), .revert(let subject)): commit == subject
        default: false
        }
    }
}

/// What takes commits back, and what the commit that does it is to say.
package struct PreparedUndo: Sendable {
    package let request: UndoRequest
    package let inverse: Inverse
    /// What is on top of the stack afterwards.
    package let rest: Revision

    /// The name under which a commit tells what it has left as it was.
    package static let skippedKey = "stet.skipped"
    private static let skippedByteLimit = 1_024

    /// What the commit says of itself.
    package func attributes(author: String?, scope: String?) -> CommitAttributes {
        var attributes = CommitAttributes(author: author, scope: scope, label: inverse.label)
        if case .undo(let owner) = request {
            attributes = CommitAttributes(
                author: owner.author, scope: owner.scope, label: inverse.label)
        } else if case .redo(let owner) = request {
            attributes = CommitAttributes(
                author: owner.author, scope: owner.scope, label: inverse.label)
        }
        if !inverse.skipped.isEmpty { attributes.metadata[Self.skippedKey] = skippedText }
        return attributes
    }

    /// As many of what was skipped as have room, and how many there are.
    private var skippedText: String {
        var text = "\(inverse.skipped.count)"
        for conflict in inverse.skipped {
            let next =
                "; \(conflict.kind.rawValue) \(conflict.entity) \(conflict.object)"
                + (conflict.property.map { ".\($0)" } ?? "")
            if text.utf8.count + next.utf8.count > Self.skippedByteLimit { break }
            text += next
        }
        return text
    }

    /// What the commit is for; nil when there is nothing to write.
    ///
    /// Where nothing is left to be taken back the step is discarded, so that the next can follow.
    package func purpose(isEmpty: Bool) -> CommitPurpose? {
        guard let top = inverse.subjects.first else { return nil }
        switch request {
        case .undo where !isEmpty: return CommitPurpose(cause: .undo(of: top), rest: rest)
        case .redo where !isEmpty: return CommitPurpose(cause: .redo(of: top), rest: rest)
        case .revert:
            return isEmpty ? nil : CommitPurpose(cause: .revert(of: top))
        case .undo, .redo:
            return CommitPurpose(cause: .discard(of: top), isUndoable: false, rest: rest)
        }
    }
}

extension StoreReader {
    /// Prepares what takes commits back; nil when the stack is empty.
    ///
    /// - Throws: `StoreError`: `.notFound` for a revision that there is not, `.historyTrimmed` for
    ///   one that was trimmed, `.erased` when values of it were redacted.
    /// - Complexity: O(changes of the commits), and reads of what refers to what is deleted.
    package func prepare(
        _ request: UndoRequest, _ policy: UndoPolicy, into net: inout NetChanges
    ) throws -> PreparedUndo? {
        let step: UndoStep?
        switch request {
        case .undo(let owner): step = try self.step(at: heads(of: owner).undo, of: owner)
        case .redo(let owner): step = try self.step(at: heads(of: owner).redo, of: owner)
        case .revert(let revision):
            guard revision > .zero, revision <= (try head().revision) else {
                throw StoreError(
                    .notFound, path: file.path, message: "There is no commit \(revision).",
                    advice: "The last one is \(try head().revision).")
            }
            step = UndoStep(revisions: [revision], rest: .zero)
        }
        guard let step else { return nil }
        try refuseErased(step)
        return PreparedUndo(
            request: request, inverse: try inverse(of: step.revisions, policy, into: &net),
            rest: step.rest)
    }

    private func refuseErased(_ step: UndoStep) throws {
        guard let erased = try erasedCommit(of: step) else { return }
        throw StoreError(
            .erased, path: file.path,
            message: "Commit \(erased) can't be taken back: values of it were redacted.",
            advice: "Nothing was written; what it changed stays as it is.")
    }

    private func erasedCommit(of step: UndoStep) throws -> Revision? {
        try step.revisions.first { try description(of: $0).envelope.isRedacted }
    }

    /// What discards the step on top of an owner's stack without taking anything back; nil when the
    /// stack is empty; with `onlyErased` also when the step can still be taken back.
    package func prepareDiscard(
        _ request: UndoRequest, onlyErased: Bool = false
    ) throws -> PreparedUndo? {
        guard let step = try stepToDiscard(request),
            try !onlyErased || erasedCommit(of: step) != nil
        else { return nil }
        let isThere = try step.top > floor()
        return PreparedUndo(
            request: request,
            inverse: Inverse(
                base: try head().revision, subjects: step.revisions,
                label: isThere ? try description(of: step.top).attributes.label : nil,
                conflicts: [], skipped: []),
            rest: step.rest)
    }

    /// Where commits of the step were trimmed, all that is on the stack.
    private func stepToDiscard(_ request: UndoRequest) throws -> UndoStep? {
        let top: Revision
        let owner: UndoOwner
        switch request {
        case .undo(let whose): (top, owner) = (try heads(of: whose).undo, whose)
        case .redo(let whose): (top, owner) = (try heads(of: whose).redo, whose)
        case .revert: return nil
        }
        do {
            return try step(at: top, of: owner)
        } catch let error as StoreError where error.code == .historyTrimmed {
            return UndoStep(revisions: [top], rest: .zero)
        }
    }
}

/// A request to undo, redo or revert commits.
package enum UndoRequest: Sendable, Hashable {
    /// The last step of an author in a scope.
    case undo(UndoOwner)
    /// The last undo of an author in a scope.
    case redo(UndoOwner)
    /// One commit, by any author.
    case revert(Revision)

    /// Returns whether a commit with a cause may have been made for the request.
    func isMade(as cause: Cause) -> Bool {
        switch (self, cause) {
        case (.undo, .undo), (.redo, .redo), (.undo, .discard), (.redo, .discard): true
        case (.revert(let commit), .revert(let subject)): commit == subject
        default: false
        }
    }
}

/// The inverse of commits, and the attributes of the commit that applies it.
package struct PreparedUndo: Sendable {
    package let request: UndoRequest
    package let inverse: Inverse
    /// The top of the stack after the commit.
    package let nextTop: Revision

    /// The metadata key under which a commit lists the values that it has left unchanged.
    package static let skippedKey = "stet.skipped"
    private static let skippedByteLimit = 1_024

    /// Returns the attributes of the commit.
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

    /// The number of skipped conflicts, followed by as many of them as fit.
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

    /// Returns the purpose of the commit, or nil when there is nothing to write.
    ///
    /// If nothing is left to undo, the step is discarded, so that the next one can be undone.
    package func purpose(isEmpty: Bool) -> CommitPurpose? {
        guard let top = inverse.subjects.first else { return nil }
        switch request {
        case .undo where !isEmpty: return CommitPurpose(cause: .undo(of: top), nextTop: nextTop)
        case .redo where !isEmpty: return CommitPurpose(cause: .redo(of: top), nextTop: nextTop)
        case .revert:
            return isEmpty ? nil : CommitPurpose(cause: .revert(of: top))
        case .undo, .redo:
            return CommitPurpose(cause: .discard(of: top), isUndoable: false, nextTop: nextTop)
        }
    }
}

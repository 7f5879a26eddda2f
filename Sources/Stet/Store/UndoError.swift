public import StetStore

/// A commit could not be taken back, because of what was written since.
///
/// Nothing was written, and the stack is as it was.
public struct UndoConflictError: Error, Sendable {
    /// The commits that were to be taken back, the last one first.
    public let commits: [Revision]
    /// Everything that stands in the way.
    public let conflicts: [UndoConflict]
}

extension UndoConflictError: CustomStringConvertible, CustomDebugStringConvertible {
    /// What to do, then one line per conflict, without values.
    public var description: String { text(conflicts.map(\.description)) }

    /// What to do, then one line per conflict, with values.
    public var debugDescription: String { text(conflicts.map(\.debugDescription)) }

    private func text(_ lines: [String]) -> String {
        let numbers = commits.map(\.description).joined(separator: ", ")
        let head =
            "Commit \(numbers) can't be taken back as it is; undo with another policy, or "
            + "discard it."
        return ([head] + lines).joined(separator: "\n")
    }
}

/// What an undo, a redo or a revert would do.
public struct UndoPlan: Sendable {
    /// The commits that it takes back, the last one first; more than one are a group.
    public let commits: [Revision]
    /// What the last of them is called.
    public let label: String?
    /// What it would write.
    public let changes: ChangeSet
    /// What stands in its way: with any, nothing is written.
    public let conflicts: [UndoConflict]
    /// What it would leave as it is.
    public let skipped: [UndoConflict]
    /// What the rules and validators of the models say against it: with any, nothing is written.
    public let violations: [Violation]

    /// True when it could be carried out.
    public var isPossible: Bool { conflicts.isEmpty && violations.isEmpty }
}

/// What an author can undo and redo in a scope.
public struct UndoStack: Sendable, Hashable {
    /// One step.
    public struct Step: Sendable, Hashable {
        /// The commits that are taken back together, the last one first.
        public let commits: [Revision]
        /// What the last of them is called.
        public let label: String?

        package init(commits: [Revision], label: String?) {
            self.commits = commits
            self.label = label
        }
    }

    /// What can be undone, the next one first.
    public let undo: [Step]
    /// What can be redone, the next one first.
    public let redo: [Step]

    package init(undo: [Step], redo: [Step]) {
        self.undo = undo
        self.redo = redo
    }
}

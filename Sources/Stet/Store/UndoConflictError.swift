public import StetStore

/// The error of an undo, redo or revert that conflicts with later commits.
///
/// Nothing was written, and the stack has not changed.
///
/// ```swift
/// do {
///     try store.undo(author: "lala")
/// } catch let error as UndoConflictError {
///     message = error.description
///     try store.undo(author: "lala", policy: .overwrite)
/// }
/// ```
public struct UndoConflictError: Error, Sendable {
    /// The commits that should have been undone, the last one first.
    public let commits: [Revision]
    /// All conflicts with later commits.
    public let conflicts: [UndoConflict]
}

extension UndoConflictError: CustomStringConvertible, CustomDebugStringConvertible {
    /// A sentence about what to do, then one line per conflict, without values.
    public var description: String { text(conflicts.map(\.description)) }

    /// A sentence about what to do, then one line per conflict, with values.
    public var debugDescription: String { text(conflicts.map(\.debugDescription)) }

    private func text(_ lines: [String]) -> String {
        let numbers = commits.map(\.description).joined(separator: ", ")
        let head =
            "Commit \(numbers) can't be undone as it is; use another policy, or "
            + "discard it."
        return ([head] + lines).joined(separator: "\n")
    }
}

/// The effect that an undo, a redo or a revert would have.
///
/// ```swift
/// if let plan = try store.previewUndo(author: "lala"), plan.isPossible {
///     title = "Undo \(plan.label ?? "edit") of \(plan.changes.changes.count) objects"
/// }
/// ```
public struct UndoPlan: Sendable {
    /// The commits that it undoes, the last one first; more than one are a group.
    public let commits: [Revision]
    /// The label of the last of these commits.
    public let label: String?
    /// The changes that it would write.
    public let changes: ChangeSet
    /// The conflicts that prevent it: with any, nothing is written.
    public let conflicts: [UndoConflict]
    /// The conflicts that it would skip, leaving the later values.
    public let skipped: [UndoConflict]
    /// The violations of the models' rules and validators: with any, nothing is written.
    public let violations: [Violation]

    /// True when it could be carried out.
    public var isPossible: Bool { conflicts.isEmpty && violations.isEmpty }
}

/// The steps that an author can undo and redo in a scope.
///
/// ```swift
/// let stack = try store.undoStack(author: "lala")
/// let undoTitle = stack.undo.first.map { "Undo \($0.label ?? "edit")" }
/// let canRedo = !stack.redo.isEmpty
/// ```
public struct UndoStack: Sendable, Hashable {
    /// One step.
    public struct Step: Sendable, Hashable {
        /// The commits that are undone together, the last one first.
        public let commits: [Revision]
        /// The label of the last of these commits.
        public let label: String?

        package init(commits: [Revision], label: String?) {
            self.commits = commits
            self.label = label
        }
    }

    /// The steps that can be undone, the next one first.
    public let undo: [Step]
    /// The steps that can be redone, the next one first.
    public let redo: [Step]

    package init(undo: [Step], redo: [Step]) {
        self.undo = undo
        self.redo = redo
    }
}

import FoundationEssentials
import StetStore

/// Undo and redo of the pending edits of a context, before they are saved; the interface is
/// modelled on that of `UndoManager`.
///
/// ```swift
/// let undoManager = context.undoManager
/// undoManager.perform("Rename") { article.title = "Stet" }
/// undoManager.undo()
/// undoManager.redo()
/// ```
///
/// Each call of `perform` is a step, with all that it edits, inserts and deletes. A save, a
/// refresh or a rollback ends the history: what is saved is undone by `store.undo`, which makes a
/// commit. Edits outside `perform` belong to the step before them, and end what could be redone.
public struct ContextUndoManager {
    private let context: ManagedContext

    fileprivate init(_ context: ManagedContext) { self.context = context }

    private var core: ContextCore { context.core }

    private var history: EditHistory {
        if let history = core.editHistory { return history }
        let history = EditHistory()
        core.editHistory = history
        return history
    }

    /// The greatest number of steps that can be undone; 0, the default, is no limit.
    ///
    /// Each step retains the values of all objects that were pending at its beginning.
    public var levelsOfUndo: Int {
        get { history.limit }
        nonmutating set {
            trap(unless: newValue >= 0, "levelsOfUndo can't be negative")
            history.limit = newValue
            history.trim()
        }
    }

    /// True when there is a step to undo.
    public var canUndo: Bool { !presentHistory.undo.isEmpty }
    /// True when there is a step to redo.
    public var canRedo: Bool { !presentHistory.redo.isEmpty }
    /// The name of the step that `undo` reverses; nil when there is none, or it has no name.
    public var undoActionName: String? { presentHistory.undo.last?.name }
    /// The name of the step that `redo` repeats; nil when there is none, or it has no name.
    public var redoActionName: String? { presentHistory.redo.last?.name }

    /// Runs a closure whose edits are one step.
    ///
    /// When the closure throws, its edits are rolled back. A `perform` inside it belongs to the
    /// same step.
    ///
    /// - Parameters:
    ///   - name: the name of the step, for a menu.
    ///   - body: edits objects of the context.
    /// - Throws: the error of `body`.
    /// - Complexity: O(pending changes).
    public func perform(_ name: String? = nil, _ body: () throws -> Void) rethrows {
        try perform(name, key: nil, within: .zero, body)
    }

    /// Runs a closure whose edits continue the step before it, when that edited the same property
    /// of the same object a short time ago: typing a title is one step, not one for each letter.
    ///
    /// ```swift
    /// undoManager.perform("Typing", coalesce: \.title, of: article, within: .seconds(2)) {
    ///     article.title.append(letter)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the step, for a menu.
    ///   - property: the property that is edited.
    ///   - object: the object that is edited.
    ///   - interval: the longest time since the last edit, by the clock of the store's
    ///     configuration.
    ///   - body: edits the object.
    /// - Throws: the error of `body`.
    public func perform<M: Model>(
        _ name: String? = nil, coalesce property: PartialKeyPath<M>, of object: M,
        within interval: Duration, _ body: () throws -> Void
    ) rethrows {
        let key = EditHistory.Key(property: property, object: object.id)
        try perform(name, key: key, within: interval, body)
    }

    private func perform(
        _ name: String?, key: EditHistory.Key?, within interval: Duration, _ body: () throws -> Void
    ) rethrows {
        core.checkNotSaving("ContextUndoManager.perform(_:_:)")
        let history = presentHistory
        if history.isPerforming { return try body() }
        if history.anchor == nil { history.anchor = core.nextSnapshot() }
        let beginning = core.pending.capture()
        let (count, lastCount) = (core.pending.changeCount, history.changeCount)
        core.pending.watchNextEdits()
        history.isPerforming = true
        defer { history.isPerforming = false }
        do {
            try body()
        } catch {
            core.rollBack(to: beginning)
            noteCount(in: history)
            throw error
        }
        if core.pending.changeCount == count { return }
        let now = core.store.configuration.clock()
        let continues =
            count == lastCount && history.redo.isEmpty
            && history.continues(key, at: now, within: interval)
        if !continues {
            history.undo.append(EditHistory.Step(name: name, state: beginning, key: key, time: now))
        } else {
            history.undo[history.undo.count - 1].time = now
        }
        history.redo = []
        noteCount(in: history)
        history.trim()
    }

    /// Restores what was pending before the last step; does nothing when there is none.
    ///
    /// - Complexity: O(pending changes).
    public func undo() {
        core.checkNotSaving("ContextUndoManager.undo()")
        let history = presentHistory
        move(from: &history.undo, to: &history.redo)
    }

    /// Restores what was pending before the last `undo`; does nothing when there was none.
    ///
    /// - Complexity: O(pending changes).
    public func redo() {
        core.checkNotSaving("ContextUndoManager.redo()")
        let history = presentHistory
        move(from: &history.redo, to: &history.undo)
    }

    private func move(from: inout [EditHistory.Step], to: inout [EditHistory.Step]) {
        guard let step = from.popLast() else { return }
        let present = core.pending.capture()
        core.rollBack(to: step.state)
        // What continues a step is never undone by itself.
        to.append(EditHistory.Step(name: step.name, state: present, key: nil, time: step.time))
        noteCount(in: history)
    }

    /// Remembers the state after a step, so that an edit outside is noticed.
    private func noteCount(in history: EditHistory) {
        core.pending.watchNextEdits()
        history.changeCount = core.pending.changeCount
    }

    /// Forgets all steps; what is pending stays.
    public func removeAllActions() { history.forget() }

    /// The history, without steps that a save or an edit outside has ended.
    private var presentHistory: EditHistory {
        let history = history
        if let anchor = history.anchor, !core.isValid(snapshot: anchor) { history.forget() }
        if history.changeCount != core.pending.changeCount, !history.isPerforming {
            history.redo = []
        }
        return history
    }
}

/// The steps of a context that can be undone and redone.
///
/// State: belongs to the isolation of its context.
final class EditHistory {
    /// The property whose edits are one step.
    struct Key: Equatable {
        let property: AnyKeyPath
        let object: ObjectID
    }

    struct Step {
        let name: String?
        /// The pending changes before the step or, for a step to redo, after it.
        let state: PendingChanges.Capture
        let key: Key?
        var time: Date
    }

    var undo: [Step] = []
    var redo: [Step] = []
    var limit = 0
    /// The snapshot that becomes void when the steps do.
    var anchor: UInt64?
    /// The count of changes after the last step.
    var changeCount: UInt64 = 0
    var isPerforming = false

    /// Returns whether an edit belongs to the last step.
    func continues(_ key: Key?, at time: Date, within interval: Duration) -> Bool {
        guard let key, let last = undo.last, last.key == key else { return false }
        let parts = interval.components
        let seconds = Double(parts.seconds) + Double(parts.attoseconds) * 1e-18
        return (0...max(seconds, 0)).contains(time.timeIntervalSince(last.time))
    }

    func trim() {
        if limit > 0, undo.count > limit { undo.removeFirst(undo.count - limit) }
    }

    func forget() {
        undo = []
        redo = []
        anchor = nil
    }
}

extension ManagedContext {
    /// The undo and redo of pending edits.
    public var undoManager: ContextUndoManager { ContextUndoManager(self) }
}

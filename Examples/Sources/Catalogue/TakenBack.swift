import Stet

/// Undo, redo and revert of saved edits, with an edit by another author in between.
struct TakenBack {
    let store: Store
    let report: Report
    let names: Names
    /// The author of the edits.
    let author: String
    /// The edits that are undone, and redone at the end.
    let edits: [Commit]

    /// Reverses the edits, and leaves everything as the last of them has left it.
    ///
    /// - Returns: The commits that this made.
    /// - Throws: Errors of `undo`, `redo` and `revert`.
    func run() throws -> [Commit] {
        let start = try store.revision()
        try undoAndRedoLast()
        if let other = try editBySecondAuthor() {
            try meetConflict(with: other)
            try revert(other)
        }
        try undoTheRest()
        try redoAll()
        return try store.journal(from: .revision(Revision(start.number + 1)))
    }

    /// The package that the last edit inserted.
    private var addedPackage: ObjectID? {
        edits.last?.changes(of: Package.self).first { $0.kind == .insert }?.id
    }

    /// A package whose version was changed.
    private var upgradedPackage: ObjectID? {
        edits[0].changes(of: Package.self).first { $0.new[\.version] != nil }?.id
    }

    private func snapshot(_ id: ObjectID?) throws -> Package.Snapshot? {
        let context = store.context()
        return try id.flatMap { try context.object(Package.self, id: $0)?.snapshot }
    }

    private func undoAndRedoLast() throws {
        let before = try snapshot(addedPackage)
        let undone = try store.undo(author: author)
        report.line("An undo: \(undone?.description ?? "nothing").")
        report.check("undo has taken the new package back", try snapshot(addedPackage) == nil)
        try store.redo(author: author)
        report.check(
            "redo has brought it back, with its id and each value",
            try before != nil && snapshot(addedPackage) == before)
    }

    /// Changes the version of an upgraded package as another author.
    private func editBySecondAuthor() throws -> Commit? {
        let context = store.context(author: "reviewer")
        guard let id = upgradedPackage, let package = try context.object(Package.self, id: id)
        else { return nil }
        package.version += "+reviewed"
        let commit = try context.save("review")
        report.line("In between: \(commit?.description ?? "nothing").")
        return commit
    }

    /// Undoes the edits that do not touch the other author's edit, up to the one that conflicts
    /// with it.
    private func meetConflict(with other: Commit) throws {
        let reviewed = try snapshot(upgradedPackage)?.version
        for _ in edits.dropFirst() { try store.undo(author: author) }
        report.check(
            "\(counted(edits.count - 1, "undo")) of other edits left that alone",
            try snapshot(upgradedPackage)?.version == reviewed)
        let revision = try store.revision()
        do {
            try store.undo(author: author)
            report.check("an undo of what another has changed since is refused", false)
        } catch let error as UndoConflictError {
            show(error)
            report.check(
                "the one conflict is the version, last written by commit \(other.revision)",
                error.conflicts.map(\.property) == ["version"]
                    && error.conflicts.map(\.later?.revision) == [other.revision])
        }
        let plan = try store.previewUndo(author: author, policy: .skip)
        report.check(
            "nothing was written, and a preview says that all but the version could be undone",
            try store.revision() == revision && plan?.isPossible == true
                && plan?.skipped.count == 1 && plan?.changes.isEmpty == false)
    }

    private func show(_ error: UndoConflictError) {
        report.line("The next undo was refused:")
        for conflict in error.conflicts {
            let name = names[conflict.object]
            let words = conflict.description.split(separator: conflict.object.description)
            report.line("  - \(words.joined(separator: name)).")
        }
    }

    /// Reverts the commit of the other author as a third one.
    private func revert(_ other: Commit) throws {
        let commit = try store.revert(other.revision, author: "lead")
        let edited = edits[0].changes(of: Package.self).first { $0.id == upgradedPackage }
        report.check(
            "a revert of commit \(other.revision) by lead has put the version of the edit back",
            try commit?.cause == .revert(of: other.revision)
                && snapshot(upgradedPackage)?.version == edited?.new[\.version])
    }

    private func undoTheRest() throws {
        while try store.undo(author: author) != nil {}
        report.check(
            "with every edit undone nothing differs from the import",
            try store.diff(from: 1, to: .latest).isEmpty)
    }

    private func redoAll() throws {
        var redone = 0
        while try store.redo(author: author) != nil { redone += 1 }
        let last = edits[edits.count - 1].revision
        report.check(
            "\(counted(redone, "redo")) later all is as the last edit left it",
            try redone == edits.count && store.diff(from: .revision(last), to: .latest).isEmpty)
    }
}

/// What takes commits back: how it went; the changes are in a `NetChanges`.
package struct Inverse: Sendable {
    /// The revision at which it was prepared.
    package let base: Revision
    /// The commits that are taken back, the last one first.
    package let subjects: [Revision]
    /// The label of the last one.
    package let label: String?
    /// Conflicts; with any, nothing may be written.
    package let conflicts: [UndoConflict]
    /// Conflicts whose cells the policy leaves as they are.
    package let skipped: [UndoConflict]
}

extension StoreReader {
    /// Prepares the inverse of commits, of which the last one comes first, and appends its changes.
    ///
    /// - Throws: `StoreError`; what the policy's closure throws.
    /// - Complexity: O(changes of the commits + what refers to what they delete).
    package func inverse(
        of subjects: [Revision], _ policy: UndoPolicy, into net: inout NetChanges
    ) throws -> Inverse {
        var inversion = try Inversion(file, transaction, policy)
        var label: String?
        for revision in subjects {
            let commit = try commit(revision)
            if revision == subjects.first { label = commit.label }
            try inversion.invert(commit)
        }
        try inversion.settle()
        try inversion.appendObjects(to: &net)
        inversion.appendLinks(to: &net)
        net.sort()
        try net.collectIndexChanges()
        return Inverse(
            base: try head().revision, subjects: subjects, label: label,
            conflicts: inversion.conflicts, skipped: inversion.skipped)
    }
}

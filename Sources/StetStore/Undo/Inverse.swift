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

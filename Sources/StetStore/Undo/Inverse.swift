/// The result of inverting commits; the changes themselves are in a `ChangeSetBuilder`.
package struct Inverse: Sendable {
    /// The revision at which it was prepared.
    package let base: Revision
    /// The commits that are undone or reverted, the last one first.
    package let subjects: [Revision]
    /// The label of the last one.
    package let label: String?
    /// The conflicts; with any, nothing may be written.
    package let conflicts: [UndoConflict]
    /// The conflicts whose cells the policy leaves unchanged.
    package let skipped: [UndoConflict]
}

/// The error of a read at a revision since which others have changed too much, or whose changes
/// were trimmed.
///
/// Nothing is lost: `refresh()` moves the context, and a save does not need the data that could not
/// be read.
public struct SnapshotTooOldError: Error, Sendable, Hashable {
    /// The revision of the context.
    public let revision: Revision
    /// The last commit.
    public let head: Revision

    package init(revision: Revision, head: Revision) {
        self.revision = revision
        self.head = head
    }
}

extension SnapshotTooOldError: CustomStringConvertible {
    /// A sentence about what to do.
    public var description: String {
        "The context shows revision \(revision), and too much has changed up to revision \(head): "
            + "refresh it, or raise maximumLag."
    }
}

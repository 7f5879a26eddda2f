/// Others have changed so much since a context's revision that it cannot be read any more, or what
/// they have changed was trimmed.
///
/// Nothing is lost: `refresh()` moves the context, and a save needs none of what was not read.
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
    /// What to do.
    public var description: String {
        "The context shows revision \(revision), and too much has changed up to revision \(head): "
            + "refresh it, or raise maximumLag."
    }
}

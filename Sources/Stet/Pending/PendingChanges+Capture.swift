import StetStore

extension PendingChanges {
    /// Everything that is pending, at a moment.
    struct Capture {
        struct Entry {
            let pending: PendingObject
            /// The object, retained.
            let object: any Model
            let current: AnyObject
            let flags: _ModelState.Flags
            let revision: Revision
            /// The save in progress with a change of the object.
            let save: SaveInProgress?

            /// The revision of the last change that the values of the entry are based on.
            var knownRevision: Revision { max(revision, save?.committed ?? .zero) }
        }

        let entries: [Entry]
        let links: [LinkKey: PendingLink]
        let rejections: [Violation]
        let layer: WorkingState.Layer
        let revision: Revision
    }
}

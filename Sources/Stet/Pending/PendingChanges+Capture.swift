import StetStore

extension PendingChanges {
    /// Everything that is pending, at a moment.
    struct Capture {
        struct Entry {
            let pending: PendingObject
            /// The object, retained.
            let object: any Model
            let state: _CapturedState
            /// The save in progress with a change of the object.
            let save: SaveInProgress?

            var current: AnyObject { state.values }
            var flags: _ModelState.Flags { state.flags }
            var revision: Revision { state.revision }

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

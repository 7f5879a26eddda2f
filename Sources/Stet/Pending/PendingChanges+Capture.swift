import StetStore

extension PendingChanges {
    /// Everything that is pending, at a moment.
    struct Capture {
        /// One pending object at the moment.
        struct Entry {
            let pending: PendingObject
            let captured: CapturedObject

            var object: any Model { captured.object }
            var current: AnyObject { captured.values }
            var flags: _ModelState.Flags { captured.flags }
            var revision: Revision { captured.revision }
        }

        /// A save that was in progress, which is not retained, because it retains much.
        struct Save {
            /// The pending objects that it changes.
            let objects: Set<ObjectIdentifier>
            let commit: SaveInProgress.MadeCommit
        }

        /// The pending objects, in an array that the pending changes share until theirs changes.
        let objects: [PendingObject]
        /// Retained objects with their values: those of `objects`.
        let parts: [_CapturedObjects]
        /// The save in progress; nil unless it changes some of the objects.
        let save: Save?
        let links: [LinkKey: PendingLink]
        let rejections: [Violation]
        let layer: WorkingState.Layer
        let revision: Revision

        /// The objects, each with its values.
        var entries: [Entry] {
            var entries: [Entry] = []
            for part in parts {
                for index in 0..<part.count {
                    entries.append(Entry(pending: objects[entries.count], captured: part[index]))
                }
            }
            return entries
        }

        /// Returns the revision of the last change that the captured values are based on.
        func knownRevision(of captured: CapturedObject) -> Revision {
            guard let save, save.objects.contains(ObjectIdentifier(captured.object)) else {
                return captured.revision
            }
            return max(captured.revision, save.commit.revision ?? .zero)
        }
    }
}

/// What takes commits back: values of objects before and after, with what stands in the way.
///
/// Data only; made from the commits' own entries and the records of one revision.
package struct Inverse: Sendable {
    /// One object that is another then.
    package struct Object: Sendable {
        package let entity: Int
        package let id: ObjectID
        /// The revision of its record, or of its tombstone; 0 where it has none.
        package let revision: Revision
        /// The body of its record; nil when it does not exist.
        package let before: [UInt8]?
        /// In the order of the slots; nil when it will not exist.
        package let after: [Value]?

        package var kind: ChangeKind {
            before == nil ? .insert : after == nil ? .delete : .update
        }
    }

    /// The revision that it was made at.
    package let base: Revision
    /// The commits that are taken back, the last one first.
    package let subjects: [Revision]
    /// The label of the last of them.
    package let label: String?
    /// Ascending by entity and id; only those that change.
    package let objects: [Object]
    /// What forbids it; empty when it can be written.
    package let conflicts: [UndoConflict]
    /// What stays as it is.
    package let skipped: [UndoConflict]

    /// The net changes, sorted.
    package func netChanges(_ schema: Schema) throws -> NetChanges {
        try Self.netChanges(objects, schema)
    }

    static func netChanges(_ objects: [Object], _ schema: Schema) throws -> NetChanges {
        var net = NetChanges(schema: schema, expectedCount: objects.count)
        for object in objects {
            let before = object.before.map { bytes in bytes.withUnsafeBytes { net.copy($0) } }
            let after = object.after.map { values in
                net.encode(entity: object.entity) { $0.write(values) }
            }
            if let before, let after, net.areEqual(before, after) { continue }
            net.append(
                NetChanges.Item(
                    kind: object.kind, entity: object.entity, id: object.id, base: object.revision,
                    before: before ?? 0..<0, after: after ?? 0..<0))
        }
        net.sort()
        try net.collectIndexChanges()
        return net
    }
}

extension StoreReader {
    /// What takes the commits of a step back; they are given the last one first.
    ///
    /// - Complexity: O(changes of the commits), and reads of what refers to what is deleted.
    package func inverse(
        of subjects: [Revision], _ policy: UndoPolicy
    ) throws -> Inverse {
        var inversion = Inversion(file, transaction, policy)
        var label: String?
        for revision in subjects {
            let commit = try commit(revision)
            if revision == subjects.first { label = commit.label }
            try inversion.invert(commit)
        }
        try inversion.settle()
        #if STET_FAULTS
            if file.planted.contains("restoreLosesObject") { inversion.loseObject() }
        #endif
        return Inverse(
            base: try head().revision, subjects: subjects, label: label,
            objects: inversion.changedObjects, conflicts: inversion.conflicts,
            skipped: inversion.skipped)
    }
}

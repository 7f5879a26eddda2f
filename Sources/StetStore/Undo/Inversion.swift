import StetLMDB

/// Inverts commits one after another, on encoded bodies in memory, by the three-way rule.
///
/// A cell that is as the commit left it gets its earlier value; one that already has that value
/// stays; anything else is a conflict, which the policy decides.
struct Inversion: ~Copyable {
    let file: StoreFile
    /// The inverted commits, the last one first.
    var subjects: [Revision] = []
    /// The state of the store with the commits inverted so far.
    var state: UndoneState
    var conflicts: UndoConflicts
    /// The objects whose insertion the policy keeps.
    var kept: Set<ObjectKey> = []
    /// The objects that should have been restored, and are not.
    var leftOut: Set<ObjectKey> = []

    var reader: StoreReader { state.reader }
    var schema: Schema { file.schema }

    init(_ file: StoreFile, _ transaction: borrowing ReadTransaction, _ policy: UndoPolicy) throws {
        self.file = file
        state = try UndoneState(file, transaction)
        conflicts = UndoConflicts(policy, file.schema)
    }

    func entity(_ key: ObjectKey) -> Entity { schema.entities[key.entity] }

    // MARK: Conflicts

    mutating func decide(
        _ kind: UndoConflict.Kind, of key: ObjectKey, property: String? = nil,
        before: Value = .null, after: Value = .null, current: Value = .null,
        others: [ObjectID] = [], allows allowed: Set<UndoConflicts.Answer>, subject: Revision? = nil
    ) throws -> UndoConflicts.Decision {
        let subject = subject ?? subjects.last ?? .zero
        let hasLater = [.changed, .gone, .modified, .overflow].contains(kind)
        return conflicts.decide(
            UndoConflict(
                kind: kind, entity: entity(key).name, object: key.id, property: property,
                before: before, after: after, current: current,
                later: hasLater ? try later(key, property, subject) : nil, others: others),
            allows: allowed, subject: subject)
    }

    /// Returns the last commit after a subject that has written to an object, or to a property of
    /// it.
    private func later(
        _ key: ObjectKey, _ property: String?, _ subject: Revision
    ) throws -> UndoConflict.Later? {
        guard let (header, _) = try reader.stored(key.entity, key.id) else { return nil }
        var revision = header.revision
        while revision > subject {
            let found: (change: ObjectChange, previous: Revision)? = try file.journal.withChange(
                ofEntity: key.entity, key.id, at: revision, in: state.transaction
            ) { change, revision in
                (try ObjectChange(change, file.history, from: revision), change.previous)
            }
            guard let found, found.previous < revision else { return nil }
            if found.change.changes(property) {
                let attributes = try file.journal.description(of: revision, in: state.transaction)
                    .attributes
                return UndoConflict.Later(
                    revision: revision, author: attributes.author, label: attributes.label)
            }
            revision = found.previous
        }
        return nil
    }
}

extension String {
    /// Returns whether it names a property, or a member of an embedded value of this name.
    func isPart(of name: some StringProtocol) -> Bool { self == name || hasPrefix(name + ".") }
}

extension ObjectChange {
    /// Returns whether it changes a property, or a member of it; any one for nil.
    fileprivate func changes(_ name: String?) -> Bool {
        guard let name else { return true }
        return properties.contains { $0.name.isPart(of: name) }
    }
}

extension RecordBody {
    /// Returns the owner in whose list a reference puts the object, and its position there.
    func place(
        _ slot: Slot
    ) throws(DecodingFailure) -> (owner: ObjectID, position: ListPosition?)? {
        guard let owner = try reference(slot) else { return nil }
        return (owner, try position(slot))
    }
}

extension Property {
    /// True when its value must not be nil.
    var isRequired: Bool { !isOptional || rules.contains(.required) }
}

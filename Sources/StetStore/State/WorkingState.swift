import Synchronization

/// The state of a store at a revision, with unsaved changes on top: the one source of members,
/// links and existence.
///
/// A context has one for its pending changes, and so does an undo that is being prepared, a query
/// and a view. It reads the last commit, and corrects what differs at the revision.
///
/// State: belongs to its owner; it has no lock.
package final class WorkingState {
    /// The changes of one change set.
    package struct Layer: Sendable {
        package var members = MemberOverrides()
        /// The objects that the change set deletes.
        package var deleted: Set<ObjectKey> = []

        package init() {}
    }

    package let schema: Schema
    /// The revision below the changes.
    package private(set) var revision: Revision
    /// The greatest number of objects that others may have changed since.
    private let limit: Int
    /// The changes of later commits, as far as reads have needed them.
    package internal(set) var foreign: ForeignChanges
    /// The changes of a submitted save.
    package var sent: Layer? {
        get { sentLayer }
        _modify {
            defer { generation &+= 1 }
            yield &sentLayer
        }
    }
    private var sentLayer: Layer?
    /// The changes on top of the submitted ones, which callers modify in place.
    package var pending: Layer {
        get { layer }
        _modify {
            defer { generation &+= 1 }
            yield &layer
        }
    }
    private var layer = Layer()
    /// A number that changes whenever the members of an object may change, and not by reading.
    ///
    /// It is unique among all states of the process.
    package private(set) var generation = WorkingState.origins.add(1 << 40, ordering: .relaxed)
        .newValue
    private static let origins = Atomic<UInt64>(0)
    /// The last positions of stored lists that were read.
    private var lastStored: [EndNumber: [ObjectID: ListPosition?]] = [:]

    /// Creates the state of a revision; members cannot be read after later commits have changed
    /// more than `limit` objects.
    package init(_ schema: Schema, at revision: Revision, limit: Int = .max) {
        self.schema = schema
        self.revision = revision
        self.limit = limit
        foreign = ForeignChanges(since: revision)
    }

    /// Creates the state of the revision of changes that are already known.
    package convenience init(_ schema: Schema, since changes: ForeignChanges) {
        self.init(schema, at: changes.base)
        foreign = changes
    }

    /// Creates the state of a revision with changes on top.
    package convenience init(
        _ schema: Schema, at revision: Revision, with changes: borrowing ChangeSetBuilder
    ) throws {
        self.init(schema, at: revision)
        for edit in try changes.memberEdits() {
            guard let end = schema.end(numbered: edit.end) else { continue }
            pending.members.set(
                edit.action == .put ? .present(edit.position) : .absent, of: edit.member,
                in: edit.owner, at: end)
        }
        for item in changes.items where item.kind == .delete {
            pending.deleted.insert(ObjectKey(item.entity, item.id))
        }
    }

    /// Moves to another revision below the changes.
    package func move(to revision: Revision) {
        if revision == self.revision { return }
        self.revision = revision
        foreign = ForeignChanges(since: revision)
        lastStored = [:]
        generation &+= 1
    }

    // MARK: Objects

    /// Returns whether the changes delete an object.
    package func isDeleted(_ object: ObjectKey) -> Bool {
        layer.deleted.contains(object) || sentLayer?.deleted.contains(object) ?? false
    }

    /// Returns the objects of an entity that commits after the revision have inserted, deleted, or
    /// changed in any of these slots.
    package func foreignObjects(
        ofEntity entity: EntityNumber, differingIn slots: SlotSet, _ reader: borrowing StoreReader
    ) throws -> [ObjectID] {
        try foreign.objects(ofEntity: entity, differingIn: slots, reader, limit: limit)
    }

    /// Returns the objects with these values of all properties of an index at the revision, in no
    /// particular order.
    ///
    /// - Complexity: O(objects with such values), plus O(changes since the revision) for the first
    ///   call for an index, and for the first one after anything was written; and for each call
    ///   while more objects have changed than are remembered.
    package func objects(
        of index: NumberedIndex, with values: [Value], _ reader: borrowing StoreReader
    ) throws -> [ObjectID] {
        let present = try reader.objects(of: index, with: values)
        if try reader.head().revision <= revision { return present }
        let former = try formerKeys(of: index, reader)
        return present.filter { !former.hasChanged($0) }
            + former.objects(at: try index.index.key(of: values))
    }

    private func formerKeys(
        of index: NumberedIndex, _ reader: borrowing StoreReader
    ) throws -> FormerKeys {
        if let known = try foreign.keys(of: index, reader, limit: limit) { return known }
        // Not kept: a context that is too far behind for its members finds unique values all the
        // same.
        var all = ForeignChanges(since: revision)
        guard let keys = try all.keys(of: index, reader, limit: .max) else {
            trap("there is no limit")
        }
        return keys
    }

    /// True when nothing is on top of the revision.
    package var isUnchanged: Bool {
        sentLayer == nil && layer.deleted.isEmpty && layer.members.isEmpty
    }

    // MARK: Members

    /// Returns the members of an owner, in order, by default without those that the changes delete.
    ///
    /// - Complexity: O(members), plus O(changes since the revision) once for each end and revision.
    package func members(
        of owner: ObjectID, at end: MemberEnd, hidesDeleted: Bool = true,
        _ reader: borrowing StoreReader
    ) throws -> [MemberPlace] {
        var members = try storedMembers(of: owner, at: end, reader)
        let isOrdered = end.layout.isOrdered
        if sentLayer != nil {
            let overrides = sentLayer!.members.list(of: owner, at: end)
            members = members.with(overrides, isOrdered: isOrdered)
        }
        members = members.with(layer.members.list(of: owner, at: end), isOrdered: isOrdered)
        if hidesDeleted, !layer.deleted.isEmpty || sentLayer != nil {
            members.removeAll { isDeleted(ObjectKey(end.member, $0.id)) }
        }
        return members
    }

    /// Returns the lists at an end that commits after the revision may have changed; nil when they
    /// have changed too many objects.
    func foreignLists(
        at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> ForeignChanges.Lists? {
        try foreign.lists(at: end, reader, limit: limit)
    }

    /// Returns the members at the revision, without the changes.
    private func storedMembers(
        of owner: ObjectID, at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> [MemberPlace] {
        guard end.isReference else {
            if try revision < reader.floor() {
                throw StoreError.snapshotTooOld(
                    revision: revision, head: try reader.head().revision)
            }
            return try reader.linkedMembers(of: owner, at: end, asOf: revision)
        }
        var members: [MemberPlace] = []
        try reader.forEachMember(of: owner, at: end) { id, position in
            members.append(MemberPlace(position, id))
            return true
        }
        let changed = try foreign.references(at: end, reader, limit: limit)
        if changed.lists[owner] == nil { return members }
        var overrides: [ObjectID: Membership] = [:]
        for member in members where changed.members.contains(member.id) {
            overrides[member.id] = .absent
        }
        for place in changed.places[owner] ?? [] {
            overrides[place.id] = .present(place.position)
        }
        return members.with(overrides, isOrdered: end.layout.isOrdered)
    }

    /// Returns the number of members.
    ///
    /// - Complexity: O(chunks of the list) when nothing differs from the stored list, otherwise as
    ///   `members`.
    package func memberCount(
        of owner: ObjectID, at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> Int {
        let isStored =
            try !mayChangeList(of: owner, at: end) && reader.head().revision == revision
        return isStored
            ? try reader.memberCount(of: owner, at: end)
            : try members(of: owner, at: end, reader).count
    }

    /// Returns whether the changes may concern a list.
    func mayChangeList(of owner: ObjectID, at end: MemberEnd) -> Bool {
        !layer.deleted.isEmpty || sentLayer != nil
            || !layer.members.list(of: owner, at: end).isEmpty
    }

    /// Returns the membership of an object according to the changes; nil when they do not change
    /// it.
    package func changedMembership(
        of member: ObjectID, in owner: ObjectID, at end: MemberEnd
    ) -> Membership? {
        layer.members.membership(of: member, in: owner, at: end)
            ?? sentLayer?.members.membership(of: member, in: owner, at: end)
    }

    /// Returns a position that no member of an ordered list comes after; nil for a list without
    /// members.
    ///
    /// - Complexity: a few cursor moves at the first call for a list and a revision, or O(members)
    ///   when others have committed since; then O(1).
    package func lastPosition(
        of owner: ObjectID, at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> ListPosition? {
        let stored = try lastStoredPosition(of: owner, at: end, reader)
        guard let changed = lastChangedPosition(of: owner, at: end) else { return stored }
        return stored.map { max($0, changed) } ?? changed
    }

    /// Returns a position that no changed member of an ordered list comes after; nil when there is
    /// none.
    package func lastChangedPosition(of owner: ObjectID, at end: MemberEnd) -> ListPosition? {
        let sent = sentLayer?.members.lastPosition(of: owner, at: end)
        guard let pending = layer.members.lastPosition(of: owner, at: end) else { return sent }
        return sent.map { max($0, pending) } ?? pending
    }

    private func lastStoredPosition(
        of owner: ObjectID, at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> ListPosition? {
        if let known = lastStored[end.number]?[owner] { return known }
        let last =
            try reader.head().revision == revision
            ? reader.lastPosition(of: owner, at: end)
            : storedMembers(of: owner, at: end, reader).last?.position
        lastStored[end.number, default: [:]][owner] = .some(last)
        return last
    }
}

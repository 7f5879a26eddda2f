import Synchronization

/// What a store shows at a revision, with changes on top that are not saved: the one place that is
/// asked for members, links and existence.
///
/// A context has one for its pending changes, and so has an undo that is being prepared, a query
/// and a view. Reads are made with a reader of the last commit; what differs at the revision is
/// corrected.
///
/// State: belongs to whoever owns it; it has no lock.
package final class WorkingState {
    /// The changes of one change set.
    package struct Layer: Sendable {
        package var members = MemberOverrides()
        /// The objects that it deletes.
        package var deleted: Set<ObjectKey> = []

        package init() {}
    }

    package let schema: Schema
    /// The revision that is below the changes.
    package private(set) var revision: Revision
    /// The most objects that others may have changed since.
    private let limit: Int
    /// What later commits have changed, as far as it was asked.
    package private(set) var foreign: ForeignChanges
    /// The changes of a save that the writer has.
    package var sent: Layer? { didSet { generation &+= 1 } }
    /// The changes on top of those that are sent, which callers modify in place.
    package var pending: Layer {
        get { layer }
        _modify {
            defer { generation &+= 1 }
            yield &layer
        }
    }
    private var layer = Layer()
    /// Counts what may change the members of an object.
    ///
    /// Another number in every state of the process.
    package private(set) var generation = WorkingState.origins.add(1 << 40, ordering: .relaxed)
        .newValue
    private static let origins = Atomic<UInt64>(0)
    /// The last positions of stored lists that were asked for.
    private var lastStored: [EndNumber: [ObjectID: ListPosition?]] = [:]

    /// The state of a revision; members are not read once later commits have changed more than
    /// `limit` objects.
    package init(_ schema: Schema, at revision: Revision, limit: Int = .max) {
        self.schema = schema
        self.revision = revision
        self.limit = limit
        foreign = ForeignChanges(since: revision)
    }

    /// The state of the revision of changes that are known already.
    package convenience init(_ schema: Schema, since changes: ForeignChanges) {
        self.init(schema, at: changes.base)
        foreign = changes
    }

    /// The state of a revision with changes on top.
    package convenience init(
        _ schema: Schema, at revision: Revision, with changes: borrowing NetChanges
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

    /// Shows another revision below the changes.
    package func move(to revision: Revision) {
        if revision == self.revision { return }
        self.revision = revision
        foreign = ForeignChanges(since: revision)
        lastStored = [:]
        generation &+= 1
    }

    // MARK: Objects

    /// True for an object that the changes delete.
    package func isDeleted(_ object: ObjectKey) -> Bool {
        pending.deleted.contains(object) || sent?.deleted.contains(object) ?? false
    }

    /// The objects of an entity that commits after the revision have changed.
    package func foreignObjects(
        ofEntity entity: EntityNumber, _ reader: borrowing StoreReader
    ) throws -> Set<ObjectID> {
        try foreign.objects(ofEntity: entity, reader, limit: limit)
    }

    // MARK: Members

    /// The members of an owner, in their order; those that the changes delete left out, unless they
    /// are asked for.
    ///
    /// - Complexity: O(members), and once for each end and revision O(changes since the revision).
    package func members(
        of owner: ObjectID, at end: MemberEnd, hidesDeleted: Bool = true,
        _ reader: borrowing StoreReader
    ) throws -> [MemberPlace] {
        var members = try storedMembers(of: owner, at: end, reader)
        let isOrdered = end.layout.isOrdered
        if sent != nil {
            let overrides = sent!.members.list(of: owner, at: end)
            members = members.with(overrides, isOrdered: isOrdered)
        }
        members = members.with(pending.members.list(of: owner, at: end), isOrdered: isOrdered)
        if hidesDeleted, !pending.deleted.isEmpty || sent != nil {
            members.removeAll { isDeleted(ObjectKey(end.member, $0.id)) }
        }
        return members
    }

    /// The members at the revision, without the changes.
    private func storedMembers(
        of owner: ObjectID, at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> [MemberPlace] {
        guard end.isReference else {
            if try revision < reader.floor() {
                throw SnapshotTooOldError(revision: revision, head: try reader.head().revision)
            }
            return try reader.linkedMembers(of: owner, at: end, asOf: revision)
        }
        var members: [MemberPlace] = []
        try reader.forEachMember(of: owner, at: end) { id, position in
            members.append(MemberPlace(position, id))
            return true
        }
        let moved = try foreign.references(at: end, reader, limit: limit)
        if moved.isEmpty { return members }
        var overrides: [ObjectID: Membership] = [:]
        for member in members where moved[member.id] != nil { overrides[member.id] = .absent }
        for (id, place) in moved where place.owner == owner {
            overrides[id] = .present(place.position)
        }
        return members.with(overrides, isOrdered: end.layout.isOrdered)
    }

    /// The number of members.
    ///
    /// - Complexity: O(chunks of the list) where nothing differs from what is stored, else as
    ///   `members`.
    package func memberCount(
        of owner: ObjectID, at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> Int {
        let isStored =
            try pending.deleted.isEmpty && sent == nil
            && pending.members.list(of: owner, at: end).isEmpty
            && reader.head().revision == revision
        return isStored
            ? try reader.memberCount(of: owner, at: end)
            : try members(of: owner, at: end, reader).count
    }

    /// Whether the changes say of an object that it is a member or not; nil when they say nothing.
    package func changedMembership(
        of member: ObjectID, in owner: ObjectID, at end: MemberEnd
    ) -> Membership? {
        pending.members.membership(of: member, in: owner, at: end)
            ?? sent?.members.membership(of: member, in: owner, at: end)
    }

    /// A position that no member of an ordered list is after; nil for a list without members.
    ///
    /// - Complexity: a few cursor moves at the first call for a list and a revision, O(members)
    ///   where others have committed since; then O(1).
    package func lastPosition(
        of owner: ObjectID, at end: MemberEnd, _ reader: borrowing StoreReader
    ) throws -> ListPosition? {
        let stored = try lastStoredPosition(of: owner, at: end, reader)
        guard let changed = lastChangedPosition(of: owner, at: end) else { return stored }
        return stored.map { max($0, changed) } ?? changed
    }

    /// The same without what is stored.
    package func lastChangedPosition(of owner: ObjectID, at end: MemberEnd) -> ListPosition? {
        let sent = sent?.members.lastPosition(of: owner, at: end)
        guard let pending = pending.members.lastPosition(of: owner, at: end) else { return sent }
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

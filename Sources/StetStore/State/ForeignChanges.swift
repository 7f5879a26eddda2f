/// The objects and links that commits after a revision have changed: a context or view of the
/// revision must not read these from the last commit.
package struct ForeignChanges: Sendable {
    /// The revision that is shown.
    package let base: Revision
    /// The last commit that was examined.
    package private(set) var end: Revision
    private var objects: [EntityNumber: Set<ObjectID>] = [:]
    private var count = 0
    /// The memberships at `base` of the changed objects, for each end of references that was
    /// requested.
    private var references: [EndNumber: [ObjectID: MembershipAtBase]] = [:]

    /// The list that contained an object.
    struct MembershipAtBase: Sendable {
        let owner: ObjectID?
        let position: ListPosition?
    }

    package init(since base: Revision) {
        self.base = base
        end = base
    }

    /// Returns the objects of an entity whose records have changed, if at most `limit` objects
    /// have.
    ///
    /// - Returns: the objects; none for an entity without changes.
    /// - Throws: `StoreError.Code.snapshotTooOld` when more have changed, or commits since `base`
    ///   were trimmed.
    /// - Complexity: O(changes since the last call).
    package mutating func objects(
        ofEntity entity: EntityNumber, _ reader: borrowing StoreReader, limit: Int
    ) throws -> Set<ObjectID> {
        try extend(reader, limit: limit)
        return objects[entity] ?? []
    }

    /// Returns the memberships at `base` of the changed objects at an end of references.
    mutating func references(
        at end: MemberEnd, _ reader: borrowing StoreReader, limit: Int
    ) throws -> [ObjectID: MembershipAtBase] {
        try extend(reader, limit: limit)
        if let known = references[end.number] { return known }
        var found: [ObjectID: MembershipAtBase] = [:]
        let entity = reader.file.schema.entities[end.member]
        for id in objects[end.member] ?? [] {
            found[id] =
                try reader.withRecord(ofEntity: end.member, id, asOf: base) { record in
                    let body = try RecordBody(record.body, of: entity)
                    return MembershipAtBase(
                        owner: try body.reference(end.slot), position: try body.position(end.slot))
                } ?? MembershipAtBase(owner: nil, position: nil)
        }
        references[end.number] = found
        return found
    }

    private mutating func extend(_ reader: borrowing StoreReader, limit: Int) throws {
        let head = try reader.head().revision
        if try end < reader.floor() { throw StoreError.snapshotTooOld(revision: base, head: head) }
        if end < head { references = [:] }
        while end < head, count <= limit {
            let next = end.next
            try reader.forEachTouchedObject(of: next) { entity, id, _ in
                if objects[entity, default: []].insert(id).inserted { count += 1 }
            }
            end = next
        }
        if count > limit { throw StoreError.snapshotTooOld(revision: base, head: head) }
    }
}

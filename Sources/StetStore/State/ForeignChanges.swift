/// The objects and links that commits after a revision have changed: a context or view of the
/// revision must not read these from the last commit.
package struct ForeignChanges: Sendable {
    /// The revision that is shown.
    package let base: Revision
    /// The last commit that was examined.
    package private(set) var end: Revision
    private var objects: [EntityNumber: Objects] = [:]
    private var count = 0
    /// The lists that have changed, for each end of links; empty until some were requested.
    private var lists: [EndNumber: Lists] = [:]
    /// The last commit that was examined for links.
    private var endOfLinks: Revision
    /// The objects that have changed at each end of references that was requested.
    private var references: [EndNumber: References] = [:]
    /// The records of the changed objects at the revision.
    var records = FormerRecords()

    /// The owners of lists that may have changed, with the number of members that each had more at
    /// the revision than it has now, which is negative where it had fewer.
    typealias Lists = [ObjectID: Int]

    /// The changed objects of an entity, and in what they differ.
    private struct Objects: Sendable {
        private var slots: [ObjectID: SlotSet] = [:]
        private var groups: [SlotSet: Set<ObjectID>] = [:]

        /// Adds changed slots of an object; returns false where it has changed before.
        mutating func add(_ changed: SlotSet, of id: ObjectID) -> Bool {
            let known = slots[id]
            let all = known?.union(changed) ?? changed
            if all == known { return false }
            slots[id] = all
            if let known { groups[known]?.remove(id) }
            groups[all, default: []].insert(id)
            return known == nil
        }

        /// Returns the objects that differ in any of these.
        func differing(in wanted: SlotSet) -> [ObjectID] {
            groups.filter { !$0.key.isDisjoint(with: wanted) }.flatMap(\.value)
        }
    }

    /// The objects that have changed at an end of references.
    struct References: Sendable {
        fileprivate(set) var members: Set<ObjectID> = []
        /// The lists that the members are in now, or were in at the revision.
        fileprivate(set) var lists: Lists = [:]
        /// The members at the revision, by their owners.
        fileprivate(set) var places: [ObjectID: [MemberPlace]] = [:]
    }

    package init(since base: Revision) {
        self.base = base
        (end, endOfLinks) = (base, base)
    }

    /// Returns the objects of an entity that differ in any of these slots, as all do that were
    /// inserted or deleted, if at most `limit` objects have changed at all.
    ///
    /// - Returns: the objects, in no particular order.
    /// - Throws: `StoreError.Code.snapshotTooOld` when more have changed, or commits since `base`
    ///   were trimmed.
    /// - Complexity: O(changes since the last call + objects that are returned).
    package mutating func objects(
        ofEntity entity: EntityNumber, differingIn slots: SlotSet,
        _ reader: borrowing StoreReader, limit: Int
    ) throws -> [ObjectID] {
        guard try extend(reader, limit: limit) else { throw tooOld(try reader.head()) }
        return differing(entity, slots)
    }

    private func differing(_ entity: EntityNumber, _ slots: SlotSet) -> [ObjectID] {
        objects[entity]?.differing(in: slots) ?? []
    }

    private func tooOld(_ head: Head) -> StoreError {
        .snapshotTooOld(revision: base, head: head.revision)
    }

    /// Returns the objects that have changed at an end of references.
    mutating func references(
        at end: MemberEnd, _ reader: borrowing StoreReader, limit: Int
    ) throws -> References {
        guard try extend(reader, limit: limit) else { throw tooOld(try reader.head()) }
        if let known = references[end.number] { return known }
        var found = References()
        let entity = reader.file.schema.entities[end.member]
        for id in differing(end.member, SlotSet([end.slot])) {
            found.members.insert(id)
            _ = try reader.withRecord(ofEntity: end.member, id, asOf: base) { record in
                let body = try RecordBody(record.body, of: entity)
                guard let owner = try body.reference(end.slot) else { return }
                found.lists[owner, default: 0] += 1
                let place = MemberPlace(try body.position(end.slot), id)
                found.places[owner, default: []].append(place)
            }
            _ = try reader.withRecord(ofEntity: end.member, id, asOf: self.end) { record in
                let body = try RecordBody(record.body, of: entity)
                if let owner = try body.reference(end.slot) { found.lists[owner, default: 0] -= 1 }
            }
        }
        references[end.number] = found
        return found
    }

    /// Returns the keys that the changed objects had in an index; nil when more than `limit`
    /// objects have changed.
    ///
    /// - Throws: `StoreError.Code.snapshotTooOld` when commits since `base` were trimmed.
    /// - Complexity: O(1) unless anything was written since the last call for the index.
    mutating func keys(
        of index: NumberedIndex, _ reader: borrowing StoreReader, limit: Int
    ) throws -> FormerKeys? {
        // The former keys are in the journal, also of changes that are known.
        if try base < reader.floor() { throw tooOld(try reader.head()) }
        guard try extend(reader, limit: limit) else { return nil }
        records.use(in: reader)
        if let known = records.keys[index.number] { return known }
        let changed = differing(index.entity, index.slots(in: reader.file.schema))
        let found = try FormerKeys(of: index, ofObjects: changed, asOf: base, reader)
        records.keys[index.number] = found
        return found
    }

    /// Returns the lists at an end that may have changed; nil when more than `limit` objects have
    /// changed, or as many lists of links, or some of these changes were trimmed.
    ///
    /// - Throws: `StoreError.Code.snapshotTooOld` when commits since `base` were trimmed.
    /// - Complexity: O(changes since the last call); the first call for links examines all commits
    ///   since `base` again.
    mutating func lists(
        at end: MemberEnd, _ reader: borrowing StoreReader, limit: Int
    ) throws -> Lists? {
        guard try extend(reader, limit: limit) else { return nil }
        if end.isReference { return try references(at: end, reader, limit: limit).lists }
        if try endOfLinks < reader.floor() { return nil }
        let limit = min(limit, Self.listLimit)
        while endOfLinks < self.end, listCount <= limit {
            try addLinks(endOfLinks.next, reader)
            endOfLinks = endOfLinks.next
        }
        return listCount <= limit ? lists[end.number] ?? [:] : nil
    }

    /// The most lists of links that are remembered.
    private static let listLimit = 1_000_000

    private var listCount: Int { lists.values.reduce(0) { $0 + $1.count } }

    /// The number of objects and of lists that are remembered.
    var changeCount: Int { references.values.reduce(count + listCount) { $0 + $1.members.count } }

    /// Returns whether other changes since the same revision include these.
    package func areIncluded(in other: ForeignChanges) -> Bool {
        end <= other.end && endOfLinks <= other.endOfLinks
    }

    /// Examines the commits until the last one; returns false when they have changed more than
    /// `limit` objects.
    private mutating func extend(_ reader: borrowing StoreReader, limit: Int) throws -> Bool {
        let last = try reader.head()
        if try end < reader.floor() { throw tooOld(last) }
        let head = last.revision
        // Another read of the same view may have been of a later commit.
        if end > head { self = ForeignChanges(since: base) }
        if end < head { (references, records) = ([:], FormerRecords()) }
        while end < head, count <= limit {
            try addObjects(end.next, reader)
            end = end.next
        }
        return count <= limit
    }

    /// Adds the objects that a commit has changed.
    private mutating func addObjects(
        _ revision: Revision, _ reader: borrowing StoreReader
    ) throws {
        let commit = try reader.unverifiedCommit(revision)
        try commit.forEachChange(ofEntitiesIn: reader.file.schema) { change in
            guard change.changesRecord else { return }
            // An earlier schema numbers its slots differently.
            let slots = commit.isOfPresentSchema ? try change.changedSlots() : .all
            if objects[change.entity, default: Objects()].add(slots, of: change.id) { count += 1 }
        }
    }

    /// Adds the lists whose links a commit has changed.
    private mutating func addLinks(_ revision: Revision, _ reader: borrowing StoreReader) throws {
        let schema = reader.file.schema
        // Each counts, so none is counted before all are read.
        var changed: [LinkChange] = []
        try reader.unverifiedCommit(revision).forEachChange(ofEntitiesIn: schema) { change in
            changed += try change.links()
        }
        for link in changed {
            guard let ends = schema.ends(ofLink: link.key.link) else { continue }
            let more = (link.before.isPresent ? 1 : 0) - (link.after.isPresent ? 1 : 0)
            lists[ends.targets.number, default: [:]][link.key.source, default: 0] += more
            lists[ends.sources.number, default: [:]][link.key.target, default: 0] += more
        }
    }
}

import StetStore

/// The objects of a context, loaded or not, as delete rules read and change them.
struct ContextGraph: DeletionGraph {
    let core: ContextCore
    /// The relationship by which a delete rule has changed an object, by the object's id.
    private(set) var deleteRulePaths: [ObjectID: String] = [:]

    init(_ core: ContextCore) { self.core = core }

    var schema: Schema { core.schema }

    func isDeleted(_ object: ObjectKey) throws -> Bool {
        if core.state.isDeleted(object) { return true }
        return try core.load(object)?._$flags.contains(.deleted) ?? true
    }

    /// Returns the members that are not deleted; links to deleted ones are removed, whatever the
    /// rule.
    func members(of owner: ObjectKey, at end: MemberEnd) throws -> [ObjectID] {
        let members = try core.store.file.read { reader in
            try core.state.members(
                of: owner.id, at: end, hidesDeleted: end.isReference, reader
            ).map(\.id)
        }
        if end.isReference { return members }
        return try members.filter { member in
            guard core.state.isDeleted(ObjectKey(end.member, member)),
                let key = end.linkKey(owner.id, member)
            else { return true }
            try core.pending.setLink(
                key, to: .absent, below: try core.membershipBelow(of: key))
            return false
        }
    }

    func target(of object: ObjectKey, slot: Slot) throws -> ObjectID? {
        guard let id = try core.load(object)?._$reference(in: slot), id != .none else {
            return nil
        }
        return id
    }

    mutating func delete(_ object: ObjectKey, path: String) throws {
        guard let found = try core.load(object) else { return }
        core.pending.delete(found)
        if found._$flags.contains(.deleted), !path.isEmpty { deleteRulePaths[object.id] = path }
    }

    mutating func remove(_ membership: MembershipKey, path: String?) throws {
        let end = membership.end
        if let key = end.linkKey(membership.owner, membership.member) {
            return try core.pending.setLink(
                key, to: .absent, below: try core.membershipBelow(of: key))
        }
        guard let member = try core.load(ObjectKey(end.member, membership.member)) else { return }
        core.pending.refer(member, end, to: .none)
        if let path { deleteRulePaths[member.id] = path }
    }

    /// Deletes the objects that were removed from their owner, where the relationship removes
    /// orphans.
    mutating func removeOrphans(among objects: [any Model]) throws {
        for object in objects where !object._$flags.contains(.deleted) && !object._$isNew {
            try removeIfOrphan(object)
        }
    }

    private mutating func removeIfOrphan(_ object: some Model) throws {
        guard let entry = core.pending[object] else { return }
        for relationship in core.store.relationships.removingOrphans(
            ofEntity: object._$entityNumber)
        where object._$reference(in: relationship.end.slot) == .none {
            if core.pending.placeBelow(object, entry, relationship.end).owner == .none { continue }
            let owner = schema.entities[relationship.end.owner].name
            return try delete(object._$key, path: "\(owner).\(relationship.name)")
        }
    }
}

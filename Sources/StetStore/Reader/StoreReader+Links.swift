import StetLMDB

// Links as they were at earlier revisions.

extension StoreReader {
    /// Returns the state of a link at a revision, and the revision of its last change until then.
    ///
    /// - Complexity: one read, plus one or a few for each change of the link since `revision`.
    package func link(
        _ key: LinkKey, asOf revision: Revision
    ) throws -> (membership: Membership, revision: Revision) {
        let now = try link(key)
        return try link(key, now.membership, now.revision, asOf: revision)
    }

    /// Walks the changes of a link back to a revision.
    private func link(
        _ key: LinkKey, _ membership: Membership, _ last: Revision, asOf revision: Revision
    ) throws -> (membership: Membership, revision: Revision) {
        var membership = membership
        var last = last
        while last > revision {
            guard let change = try linkChange(key, at: last), change.previous < last else {
                throw DecodingFailure("the chain of changes of a link breaks at revision \(last)")
            }
            membership = change.before
            last = change.previous
        }
        return (membership, last)
    }

    /// Returns the change of a link by a commit, in the current schema; nil when there is none.
    func linkChange(_ key: LinkKey, at revision: Revision) throws -> LinkChange? {
        guard let ends = file.schema.ends(ofLink: key.link),
            let type = file.schema.link(numbered: key.link)
        else { return nil }
        return try file.journal.withChange(
            ofEntity: ends.targets.owner, key.source, at: revision, in: transaction
        ) { change, _ in
            // A change of position alone may be none in the current schema.
            try change.links().first { $0.key == key }.map { change in
                LinkChange(
                    key, before: change.before.upcast(to: type),
                    after: change.after.upcast(to: type), previous: change.previous)
            }
        } ?? nil
    }

    /// Returns the members of an owner at an end of links at a revision, in order.
    ///
    /// - Complexity: O(members), plus one read or a few for each membership changed since
    ///   `revision`.
    package func linkedMembers(
        of owner: ObjectID, at end: MemberEnd, asOf revision: Revision
    ) throws -> [MemberPlace] {
        var members: [MemberPlace] = []
        var isMoved = false
        try file.projection.members.forEachEntry(of: owner, at: end, in: transaction) { entry in
            var membership = try entry.membership
            if entry.revision > revision, let key = end.linkKey(owner, entry.id) {
                membership = try link(key, membership, entry.revision, asOf: revision).membership
                isMoved = true
            }
            if membership.isPresent { members.append(MemberPlace(membership, entry.id)) }
            return true
        }
        if !end.layout.isOrdered {
            // The positions belong to the other end.
            members = members.map { MemberPlace(nil, $0.id) }
        } else if isMoved {
            members.sort()
        }
        return members
    }

    /// Returns the revisions of the changes of all links whose source is an object, as far as the
    /// journal contains them, in ascending order.
    func linkRevisions(ofEntity entity: EntityNumber, _ source: ObjectID) throws -> [Revision] {
        var revisions: Set<Revision> = []
        let floor = try floor()
        for end in file.schema.ends(ofOwner: entity) {
            guard case .targets = end.source else { continue }
            try file.projection.members.forEachEntry(of: source, at: end, in: transaction) {
                entry in
                guard let key = end.linkKey(source, entry.id) else { return true }
                var next = entry.revision
                while next > floor {
                    revisions.insert(next)
                    guard let change = try linkChange(key, at: next), change.previous < next else {
                        throw DecodingFailure(
                            "the chain of changes of a link breaks at revision \(next)")
                    }
                    next = change.previous
                }
                return true
            }
        }
        return revisions.sorted()
    }
}

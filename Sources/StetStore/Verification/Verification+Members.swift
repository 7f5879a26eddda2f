import StetLMDB

// The lists of members that follow from references and links, compared with the stored ones.

extension Verification {
    /// The state of one link according to the journal.
    struct LinkState: Hashable {
        var revision: Revision
        var membership: Membership
    }

    /// An entry that a list must contain.
    private struct Listing: Hashable {
        let end: EndNumber
        let owner: ObjectID
        let member: ObjectID
        var revision = Revision.zero
        let membership: Membership
    }

    // MARK: Links in the journal

    mutating func foldLinks(of change: JournalChange, _ revision: Revision) throws {
        for link in try change.links() {
            guard era.current.ends(ofLink: link.key.link)?.targets.owner == change.entity else {
                throw DecodingFailure("a change of links that the object does not have")
            }
            let state = links[link.key]
            if link.previous != state?.revision ?? .zero {
                note("The chain of a link of \(change.id) breaks at revision \(revision).")
            }
            if link.before != state?.membership ?? .absent {
                note("Revision \(revision) changes a link of \(change.id) from another state.")
            }
            links[link.key] = LinkState(revision: revision, membership: link.after)
        }
    }

    /// Returns the changed links of a change whose type has not been removed since.
    func presentLinks(of change: JournalChange) throws -> [LinkChange] {
        try change.links().filter { file.schema.link(numbered: $0.key.link) != nil }
    }

    /// Converts links to the form of a later schema.
    mutating func migrateLinks(to schema: Schema) {
        for (key, state) in links {
            links[key] = schema.link(numbered: key.link).map { type in
                LinkState(revision: state.revision, membership: state.membership.upcast(to: type))
            }
        }
    }

    // MARK: Comparison

    mutating func compareMembers() throws {
        var expected: Set<Listing> = []
        try expectReferences(&expected)
        if floor != nil { try walkLinksBack() }
        expectLinks(&expected)
        try compareLists(&expected)
        for listing in expected.sorted(by: { ($0.owner, $0.member) < ($1.owner, $1.member) }) {
            note(
                "The members of \(listing.owner) lack \(listing.member), which belongs to them.")
        }
    }

    private mutating func expectReferences(_ expected: inout Set<Listing>) throws {
        for (number, objects) in states.numbered {
            let entity = file.schema.entities[number]
            let ends = file.schema.referenceEnds(ofMember: number)
            if ends.isEmpty { continue }
            for (id, state) in objects {
                guard let body = try values(of: state, number, file.history) else { continue }
                try body.withUnsafeBytes { bytes in
                    let body = try RecordBody(bytes, of: entity)
                    for end in ends {
                        guard let target = try body.reference(end.slot) else { continue }
                        report.referenceCount += 1
                        expected.insert(
                            Listing(
                                end: end.number, owner: target, member: id,
                                membership: .present(try body.position(end.slot))))
                        if !exists(target, entity.properties[end.slot].target) {
                            note("\(entity.name) \(id) refers to \(target), which does not exist.")
                        }
                    }
                }
            }
        }
    }

    private mutating func expectLinks(_ expected: inout Set<Listing>) {
        for (key, state) in links {
            guard let ends = file.schema.ends(ofLink: key.link),
                let type = file.schema.link(numbered: key.link)
            else { continue }
            if state.membership.isPresent {
                report.linkCount += 1
                for (id, entity) in [(key.source, type.source), (key.target, type.target)]
                where !exists(id, entity) {
                    note("A link of \(type.name) connects \(id), which does not exist.")
                }
            }
            func listing(_ end: MemberEnd, _ owner: ObjectID, _ member: ObjectID) -> Listing {
                Listing(
                    end: end.number, owner: owner, member: member, revision: state.revision,
                    membership: state.membership)
            }
            expected.insert(listing(ends.targets, key.source, key.target))
            expected.insert(listing(ends.sources, key.target, key.source))
        }
    }

    /// Removes the stored entries from the expected ones.
    private mutating func compareLists(_ expected: inout Set<Listing>) throws {
        let transaction = transaction.shared()
        try transaction.scan(file.projection.members.table) { key, value in
            do {
                let (number, owner) = try MemberKey.decode(key)
                guard let end = file.schema.end(numbered: number) else {
                    note("There are members of \(owner) at an end that does not exist.")
                    return true
                }
                let chunk = try MemberChunk(decoding: value, at: key, end.layout)
                try compare(chunk, of: owner, end, key, &expected)
            } catch {
                note("Members: \(error).")
            }
            return true
        }
    }

    private mutating func compare(
        _ chunk: MemberChunk, of owner: ObjectID, _ end: MemberEnd, _ key: UnsafeRawBufferPointer,
        _ expected: inout Set<Listing>
    ) throws(DecodingFailure) {
        var entries = chunk.entries
        var count = 0
        var presentCount = 0
        var last = Array(key)
        while let entry = try entries.next() {
            count += 1
            if !entry.isRemoved { presentCount += 1 }
            let listing = Listing(
                end: end.number, owner: owner, member: entry.id, revision: entry.revision,
                membership: try entry.membership)
            if expected.remove(listing) == nil {
                note("The members of \(owner) name \(entry.id), which does not belong to them so.")
            }
            var place = MemberKey.prefix(end.number, owner)
            MemberKey.appendPlace(entry.id, entry.position, end.layout, to: &place)
            if place.lexicographicallyPrecedes(last) {
                note("The members of \(owner) are out of order.")
            }
            last = place
        }
        if count != chunk.entryCount || presentCount != chunk.presentCount {
            note("The members of \(owner) are miscounted.")
        }
    }

    // MARK: Where the journal begins later

    /// Walks each link back along its changes to the beginning of the journal; the result must have
    /// the digest of the floor.
    private mutating func walkLinksBack() throws {
        guard let floor else { return }
        var changeCount = 0
        let transaction = transaction.shared()
        try transaction.scan(file.projection.members.table) { key, value in
            let (number, owner) = try MemberKey.decode(key)
            guard let end = file.schema.end(numbered: number), case .sources = end.source else {
                return true
            }
            do {
                var entries = try MemberChunk(decoding: value, at: key, end.layout).entries
                while let entry = try entries.next() {
                    guard let link = end.linkKey(owner, entry.id) else { continue }
                    let state = LinkState(
                        revision: entry.revision, membership: try entry.membership)
                    links[link] = state
                    changeCount += try walkBack(link, state, to: floor.revision)
                }
            } catch let failure as DecodingFailure {
                note("Members of \(owner): \(failure).")
            }
            return true
        }
        if changeCount != presentLinkChangeCount {
            note("The journal has changes of links that no list leads back to.")
        }
    }

    /// Walks a link back to the floor; returns the number of its changes on the way.
    private mutating func walkBack(
        _ key: LinkKey, _ state: LinkState, to floor: Revision
    ) throws -> Int {
        let reader = StoreReader(transaction, file)
        var state = state
        var count = 0
        while state.revision > floor {
            guard let change = try reader.linkChange(key, at: state.revision),
                change.previous < state.revision, change.after == state.membership
            else {
                note("A link of \(key.source) is not what revision \(state.revision) made it.")
                return count
            }
            count += 1
            state = LinkState(revision: change.previous, membership: change.before)
        }
        reachedDigest += StateDigest.link(key, state.membership, state.revision)
        return count
    }
}

import StetLMDB

/// The store as it will be after commits were inverted: objects, links and lists of members.
struct UndoneState: ~Copyable {
    let file: StoreFile
    let transaction: ReadTransaction
    private(set) var objects: [ObjectKey: Object] = [:]
    private(set) var links: [LinkKey: Link] = [:]
    /// The lists of members as they will be.
    let members: WorkingState
    /// True when something has changed since its consequences were examined.
    var hasChanged = false

    var reader: StoreReader { StoreReader(transaction, file) }
    private var schema: Schema { file.schema }

    /// An object during the inversion of commits.
    struct Object {
        /// The revision of its record, or of its tombstone.
        let revision: Revision
        /// Whether it exists in the store.
        let isStored: Bool
        /// Its future values; nil when it will not exist.
        var body: EncodedBody?
        /// False while it equals the stored object.
        var isTouched = false
    }

    /// A link during the inversion of commits.
    struct Link {
        let revision: Revision
        let stored: Membership
        var membership: Membership
    }

    init(_ file: StoreFile, _ transaction: borrowing ReadTransaction) throws {
        self.file = file
        self.transaction = transaction.shared()
        members = WorkingState(file.schema, at: try Head.read(in: transaction).revision)
    }

    private func entity(_ key: ObjectKey) -> Entity { schema.entities[key.entity] }

    /// Reserves room for a number of further objects.
    mutating func reserve(_ count: Int) { objects.reserveCapacity(objects.count + count) }

    // MARK: Objects

    /// Returns an object with its body, from the store unless it has changed already.
    mutating func object(_ key: ObjectKey) throws -> Object {
        if let object = objects[key] { return object }
        let object = try read(key)
        objects[key] = object
        return object
    }

    private func read(_ key: ObjectKey) throws -> Object {
        guard let (header, stored) = try reader.stored(key.entity, key.id) else {
            return Object(revision: .zero, isStored: false, body: nil)
        }
        if header.isTombstone {
            return Object(revision: header.revision, isStored: false, body: nil)
        }
        let body = try reader.withBody(header, stored, key.entity) { EncodedBody($0) }
        return Object(revision: header.revision, isStored: true, body: body)
    }

    /// Returns the body of an object in the store; nil when it does not exist there.
    func storedBody(_ key: ObjectKey) throws -> EncodedBody? { try read(key).body }

    /// Returns the future body of an object; nil when it will not exist.
    func body(_ key: ObjectKey) throws -> EncodedBody? {
        if let object = objects[key] { return object.body }
        return try read(key).body
    }

    func exists(_ key: ObjectKey) throws -> Bool {
        if let object = objects[key] { return object.body != nil }
        return try reader.stored(key.entity, key.id).map { !$0.0.isTombstone } ?? false
    }

    /// Sets the body of an object, or removes it, and updates the lists of members.
    mutating func set(_ body: EncodedBody?, of key: ObjectKey) throws {
        let present = try object(key).body
        if present == body { return }
        try moveReferences(of: key, from: present, to: body)
        objects[key]?.body = body
        objects[key]?.isTouched = true
        if body == nil {
            members.pending.deleted.insert(key)
        } else {
            members.pending.deleted.remove(key)
        }
        hasChanged = true
    }

    /// Sets a property of an object; a reference without a position becomes the last member.
    mutating func set(_ value: Value, _ slot: Slot, of key: ObjectKey) throws {
        guard let body = try object(key).body else { return }
        var value = value
        if case .reference(let owner) = value,
            let end = schema.end(ofEntity: key.entity, slot: slot), end.isOrdered
        {
            let last = try members.lastPosition(of: owner, at: end, reader)
            value = .placed(owner, ListPosition.between(last, nil) ?? .first)
        }
        try set(try body.replacing(value, slot: slot, of: entity(key)), of: key)
    }

    /// Updates the lists of members after a change of an object's references.
    private mutating func moveReferences(
        of key: ObjectKey, from old: EncodedBody?, to new: EncodedBody?
    ) throws {
        let ends = schema.referenceEnds(ofMember: key.entity)
        if ends.isEmpty { return }
        let entity = entity(key)
        for end in ends {
            let before = try old?.read(as: entity) { try $0.place(end.slot) } ?? nil
            let after = try new?.read(as: entity) { try $0.place(end.slot) } ?? nil
            if let before, let after, before == after { continue }
            if let before, before.owner != after?.owner {
                members.pending.members.set(.absent, of: key.id, in: before.owner, at: end)
            }
            if let after {
                members.pending.members.set(
                    .present(after.position), of: key.id, in: after.owner, at: end)
            }
        }
    }

    // MARK: Links

    mutating func link(_ key: LinkKey) throws -> Link {
        if let link = links[key] { return link }
        let (membership, revision) = try reader.link(key)
        let link = Link(revision: revision, stored: membership, membership: membership)
        links[key] = link
        return link
    }

    mutating func set(_ membership: Membership, of key: LinkKey) throws {
        if try link(key).membership == membership { return }
        links[key]?.membership = membership
        guard let ends = schema.ends(ofLink: key.link) else { return }
        members.pending.members.set(membership, of: key.target, in: key.source, at: ends.targets)
        members.pending.members.set(membership, of: key.source, in: key.target, at: ends.sources)
        hasChanged = true
    }

    // MARK: Result

    /// Appends the objects that will differ from the stored ones, in order.
    func appendObjects(to net: inout ChangeSetBuilder) throws {
        for (key, object) in objects.sorted(by: { $0.key < $1.key }) where object.isTouched {
            let stored = try storedBody(key)
            if stored == object.body { continue }
            let before = stored.map { body in body.bytes.withUnsafeBytes { net.copy($0) } }
            let after = object.body.map { body in body.bytes.withUnsafeBytes { net.copy($0) } }
            net.append(
                ChangeSetBuilder.Item(
                    kind: before == nil ? .insert : after == nil ? .delete : .update,
                    entity: key.entity, id: key.id, base: object.revision, before: before ?? 0..<0,
                    after: after ?? 0..<0))
        }
    }

    /// Appends the links that will differ from the stored ones.
    func appendLinks(to net: inout ChangeSetBuilder) {
        for (key, link) in links where link.membership != link.stored {
            net.append(
                LinkChange(
                    key, before: link.stored, after: link.membership, previous: link.revision))
        }
    }
}

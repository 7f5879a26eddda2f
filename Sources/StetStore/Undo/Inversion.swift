import StetLMDB

/// Takes commits back one after the other, on encoded bodies in memory, by the three-way rule.
///
/// A cell that is as the commit left it gets the value of before; one that has that value already
/// stays; anything else is a conflict, which the policy decides.
struct Inversion: ~Copyable {
    let file: StoreFile
    let transaction: ReadTransaction
    private let policy: UndoPolicy
    /// The commits that are taken back, the last one first.
    var subjects: [Revision] = []
    var objects: [ObjectKey: Working] = [:]
    var links: [LinkKey: WorkingLink] = [:]
    /// The lists of members as they will be.
    let state: WorkingState
    private(set) var conflicts: [UndoConflict] = []
    private(set) var skipped: [UndoConflict] = []
    /// The conflicts that the policy was asked about.
    private var answers: [Question: Decision] = [:]
    /// Objects whose insertion the policy keeps.
    var kept: Set<ObjectKey> = []
    /// Objects that were to be restored, and are not.
    var leftOut: Set<ObjectKey> = []
    /// True when something has changed since its consequences were looked at.
    var hasMoved = false

    var reader: StoreReader { StoreReader(transaction, file) }
    var schema: Schema { file.schema }

    /// An object while commits are taken back.
    struct Working {
        /// The revision of its record, or of its tombstone.
        let revision: Revision
        /// Whether it exists in the store.
        let isStored: Bool
        /// Its values as they will be; nil when it will not exist.
        var body: EncodedBody?
        /// False while it is as it is stored.
        var isTouched = false
    }

    /// A link while commits are taken back.
    struct WorkingLink {
        let revision: Revision
        let stored: Membership
        var membership: Membership
    }

    /// What has been decided about a conflict.
    enum Decision {
        case failed, keep, restore
        case set([Slot: Value])
    }

    private struct Question: Hashable {
        let kind: UndoConflict.Kind
        let object: ObjectID
        let property: String?
        let before: Value
        let subject: Revision
    }

    init(_ file: StoreFile, _ transaction: borrowing ReadTransaction, _ policy: UndoPolicy) throws {
        self.file = file
        self.transaction = transaction.shared()
        self.policy = policy
        state = WorkingState(file.schema, at: try Head.read(in: transaction).revision)
    }

    func entity(_ key: ObjectKey) -> Entity { schema.entities[key.entity] }

    // MARK: Objects

    /// An object with its body, from the store where nothing has changed it yet.
    mutating func object(_ key: ObjectKey) throws -> Working {
        if let object = objects[key] { return object }
        let object = try read(key)
        objects[key] = object
        return object
    }

    private func read(_ key: ObjectKey) throws -> Working {
        guard let (header, stored) = try reader.stored(key.entity, key.id) else {
            return Working(revision: .zero, isStored: false, body: nil)
        }
        if header.isTombstone {
            return Working(revision: header.revision, isStored: false, body: nil)
        }
        let body = try reader.withBody(header, stored, key.entity) { EncodedBody($0) }
        return Working(revision: header.revision, isStored: true, body: body)
    }

    /// The body of an object in the store; nil when it does not exist there.
    func storedBody(_ key: ObjectKey) throws -> EncodedBody? { try read(key).body }

    /// The body that an object will have; nil when it will not exist.
    func body(_ key: ObjectKey) throws -> EncodedBody? {
        if let object = objects[key] { return object.body }
        return try read(key).body
    }

    func exists(_ key: ObjectKey) throws -> Bool {
        if let object = objects[key] { return object.body != nil }
        return try reader.stored(key.entity, key.id).map { !$0.0.isTombstone } ?? false
    }

    /// Gives an object a body, or none, and lets the lists of members follow.
    mutating func set(_ body: EncodedBody?, of key: ObjectKey) throws {
        let present = try object(key).body
        if present == body { return }
        try moveReferences(of: key, from: present, to: body)
        objects[key]?.body = body
        objects[key]?.isTouched = true
        if body == nil {
            state.pending.deleted.insert(key)
        } else {
            state.pending.deleted.remove(key)
        }
        hasMoved = true
    }

    /// Gives a property of an object a value; a reference without a position puts it last.
    mutating func set(_ value: Value, _ slot: Slot, of key: ObjectKey) throws {
        guard let body = try object(key).body else { return }
        var value = value
        if case .reference(let owner) = value,
            let end = schema.end(ofEntity: key.entity, slot: slot), end.isOrdered
        {
            let last = try state.lastPosition(of: owner, at: end, reader)
            value = .placed(owner, ListPosition.between(last, nil) ?? .first)
        }
        try set(try body.replacing(value, slot: slot, of: entity(key)), of: key)
    }

    /// Lets the lists of members follow the references of an object.
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
                state.pending.members.set(.absent, of: key.id, in: before.owner, at: end)
            }
            if let after {
                state.pending.members.set(
                    .present(after.position), of: key.id, in: after.owner, at: end)
            }
        }
    }

    // MARK: Links

    mutating func link(_ key: LinkKey) throws -> WorkingLink {
        if let link = links[key] { return link }
        let (membership, revision) = try reader.link(key)
        let link = WorkingLink(revision: revision, stored: membership, membership: membership)
        links[key] = link
        return link
    }

    mutating func set(_ membership: Membership, of key: LinkKey) throws {
        if try link(key).membership == membership { return }
        links[key]?.membership = membership
        guard let ends = schema.ends(ofLink: key.link) else { return }
        state.pending.members.set(membership, of: key.target, in: key.source, at: ends.targets)
        state.pending.members.set(membership, of: key.source, in: key.target, at: ends.sources)
        hasMoved = true
    }

    // MARK: Conflicts

    /// What a conflict can be answered with beside `.fail`.
    enum Answer { case keep, restore, set }

    mutating func decide(
        _ kind: UndoConflict.Kind, of key: ObjectKey, property: String? = nil,
        before: Value = .null, after: Value = .null, current: Value = .null,
        others: [ObjectID] = [], allows allowed: Set<Answer>, subject: Revision? = nil
    ) throws -> Decision {
        let subject = subject ?? subjects.last ?? .zero
        let hasLater = [.changed, .gone, .modified].contains(kind)
        return try decide(
            UndoConflict(
                kind: kind, entity: entity(key).name, object: key.id, property: property,
                before: before, after: after, current: current,
                later: hasLater ? try later(key, property, subject) : nil, others: others),
            allows: allowed, subject: subject)
    }

    /// Asks the policy about a conflict that it was not asked about before.
    mutating func decide(
        _ conflict: UndoConflict, allows allowed: Set<Answer>, subject: Revision
    ) throws -> Decision {
        let question = Question(
            kind: conflict.kind, object: conflict.object, property: conflict.property,
            before: conflict.before, subject: subject)
        if let known = answers[question] { return known }
        let decision: Decision
        switch policy.answer(conflict) {
        case .keep where allowed.contains(.keep): decision = .keep
        case .restore where allowed.contains(.restore): decision = .restore
        case .set(let values) where allowed.contains(.set):
            decision = slots(values, conflict.entity).map(Decision.set) ?? .failed
        default: decision = .failed
        }
        switch decision {
        case .failed: conflicts.append(conflict)
        case .keep: skipped.append(conflict)
        case .restore, .set: break
        }
        answers[question] = decision
        return decision
    }

    /// Notes that an answer has not helped.
    mutating func fail(_ conflict: UndoConflict) {
        if !conflicts.contains(conflict) { conflicts.append(conflict) }
    }

    /// Reports a value that the present schema has no place for.
    mutating func skip(_ conflict: UndoConflict) { skipped.append(conflict) }

    /// Values by slot; nil when one does not fit its property.
    private func slots(_ values: [String: Value], _ name: String) -> [Slot: Value]? {
        guard let entity = schema.entity(named: name) else { return nil }
        var slots: [Slot: Value] = [:]
        for (name, value) in values {
            // Who answers knows owners, and need not know positions.
            guard let slot = entity.slot(of: name),
                entity.properties[slot].accepts(value)
                    || entity.properties[slot].withPosition(false).accepts(value),
                (try? EncodedBody([value])) != nil
            else { return nil }
            slots[slot] = value
        }
        return slots
    }

    /// The last commit after a subject that has written to a property of an object, or to the
    /// object.
    private func later(
        _ key: ObjectKey, _ property: String?, _ subject: Revision
    ) throws -> UndoConflict.Later? {
        guard let (header, _) = try reader.stored(key.entity, key.id) else { return nil }
        var revision = header.revision
        while revision > subject {
            let found: (change: ObjectChange, previous: Revision)? = try file.journal.withChange(
                ofEntity: key.entity, key.id, at: revision, in: transaction
            ) { change, revision in
                (try ObjectChange(change, file.history, from: revision), change.previous)
            }
            guard let found, found.previous < revision else { return nil }
            if property == nil || found.change[property ?? ""] != nil {
                let attributes = try file.journal.description(of: revision, in: transaction)
                    .attributes
                return UndoConflict.Later(
                    revision: revision, author: attributes.author, label: attributes.label)
            }
            revision = found.previous
        }
        return nil
    }
}

extension RecordBody {
    /// The owner in whose list a reference puts the object, and its position there.
    func place(
        _ slot: Slot
    ) throws(DecodingFailure) -> (owner: ObjectID, position: ListPosition?)? {
        guard let owner = try reference(slot) else { return nil }
        return (owner, try position(slot))
    }
}

extension Property {
    /// True when nil is not a value of it.
    var isRequired: Bool { !isOptional || rules.contains(.required) }
}

import StetLMDB

/// Takes commits back one after the other, on values in memory: the three-way rule.
///
/// A cell that is as the commit has left it gets the value of before; one that has that value
/// already stays; anything else is a conflict, which the policy decides.
struct Inversion {
    let file: StoreFile
    let transaction: ReadTransaction
    private let policy: UndoPolicy
    /// What is taken back, the last commit first.
    private(set) var subjects: [Revision] = []
    var objects: [ObjectKey: Working] = [:]
    private(set) var conflicts: [UndoConflict] = []
    private(set) var skipped: [UndoConflict] = []
    /// What was asked already.
    private var answers: [Question: Decision] = [:]
    /// Objects that were to be restored, and are not.
    var leftOut: Set<ObjectKey> = []
    /// True when something was changed since a look at what depends on it.
    var hasMoved = false

    var reader: StoreReader { StoreReader(transaction, file) }
    var schema: Schema { file.schema }

    /// Entity and id.
    struct ObjectKey: Hashable, Comparable {
        let entity: Int
        let id: ObjectID

        static func < (one: ObjectKey, other: ObjectKey) -> Bool {
            (one.entity, one.id) < (other.entity, other.id)
        }
    }

    /// An object while commits are taken back.
    struct Working {
        /// The revision of its record, or of its tombstone.
        let revision: Revision
        /// The body of its record; nil when it does not exist.
        let body: [UInt8]?
        let stored: [Value]?
        var values: [Value]?
    }

    /// What has been decided about a conflict.
    enum Decision {
        case failed, keep, restore
        case set([Int: Value])
    }

    private struct Question: Hashable {
        let kind: UndoConflict.Kind
        let object: ObjectID
        let property: String?
        let subject: Revision
    }

    init(_ file: StoreFile, _ transaction: ReadTransaction, _ policy: UndoPolicy) {
        self.file = file
        self.transaction = transaction
        self.policy = policy
    }

    /// The objects that are others now, in order.
    var changedObjects: [Inverse.Object] {
        objects.filter { $0.value.values != $0.value.stored }.sorted { $0.key < $1.key }
            .map { key, object in
                Inverse.Object(
                    entity: key.entity, id: key.id, revision: object.revision, before: object.body,
                    after: object.values)
            }
    }

    func entity(_ key: ObjectKey) -> Entity { schema.entities[key.entity - 1] }

    mutating func object(_ key: ObjectKey) throws -> Working {
        if let object = objects[key] { return object }
        let object = try read(key)
        objects[key] = object
        return object
    }

    private func read(_ key: ObjectKey) throws -> Working {
        let found = try reader.withRecord(ofEntity: key.entity, key.id, asOf: .last) { record in
            let values = try RecordBody(record.body, of: entity(key)).values()
            return Working(
                revision: record.revision, body: Array(record.body), stored: values, values: values)
        }
        if let found { return found }
        let tombstone = try reader.stored(key.entity, key.id)?.0
        return Working(
            revision: tombstone?.revision ?? .zero, body: nil, stored: nil, values: nil)
    }

    /// What an object will be; nil when it will not exist.
    func values(_ key: ObjectKey) throws -> [Value]? {
        if let object = objects[key] { return object.values }
        return try read(key).stored
    }

    func exists(_ key: ObjectKey) throws -> Bool {
        if let object = objects[key] { return object.values != nil }
        return try reader.stored(key.entity, key.id).map { !$0.0.isTombstone } ?? false
    }

    // MARK: The rule of cells

    mutating func invert(_ commit: Commit) throws {
        subjects.append(commit.revision)
        objects.reserveCapacity(objects.count + commit.changeCount)
        try commit.forEachChange { change in
            guard schema.entity(numbered: change.entity) != nil else {
                let former = commit.schema.entities.element(at: change.entity - 1)?.name ?? ""
                _ = try decide(
                    .schema, entity: former, change.id, allows: [.keep], subject: commit.revision)
                return
            }
            try noteRemovedProperties(of: change, commit)
            let key = ObjectKey(entity: change.entity, id: change.id)
            let present = try ObjectChange(
                change, file.history, from: Int(commit.envelope.schemaRevision))
            switch change.kind {
            case .insert: try takeBackInsertion(of: key, present, commit.revision)
            case .update: try takeBackUpdate(of: key, present, commit.revision)
            case .delete: try takeBackDeletion(of: key, present, commit.revision)
            }
        }
    }

    /// Tells the values that would come back if the models still had a place for them.
    private mutating func noteRemovedProperties(
        of change: JournalChange, _ commit: Commit
    ) throws {
        guard change.kind != .insert,
            let upcast = try file.history.upcast(
                ofEntity: change.entity, from: Int(commit.envelope.schemaRevision))
        else { return }
        for property in try ObjectChange(change, commit.schema).properties {
            let slot = upcast.from.slot(of: property.name)
            if upcast.slots.contains(slot) || property.old == .null { continue }
            skipped.append(
                UndoConflict(
                    kind: .schema, entity: upcast.to.name, object: change.id,
                    property: property.name, before: property.old, after: property.new))
        }
    }

    private mutating func takeBackUpdate(
        of key: ObjectKey, _ change: ObjectChange, _ subject: Revision
    ) throws {
        guard var values = try object(key).values else {
            _ = try decide(.gone, of: key, allows: [.keep], subject: subject)
            return
        }
        let entity = entity(key)
        for property in change.properties {
            guard let slot = entity.slot(of: property.name) else { continue }
            #if STET_FAULTS
                let isNullified = property.new == .null && property.old.type == .reference
                if isNullified, file.planted.contains("nullifiedReferenceStaysNil") { continue }
            #endif
            if values[slot] == property.new {
                values[slot] = property.old
            } else if values[slot] != property.old, !isWeak(slot, of: entity) {
                #if STET_FAULTS
                    if file.planted.contains("undoOverConflicts") {
                        values[slot] = property.old
                        continue
                    }
                #endif
                let decision = try decide(
                    .changed, of: key, slot, property, current: values[slot], subject: subject)
                switch decision {
                case .restore: values[slot] = property.old
                case .set(let others): for (slot, value) in others { values[slot] = value }
                case .keep, .failed: break
                }
            }
        }
        objects[key]?.values = values
    }

    private mutating func takeBackInsertion(
        of key: ObjectKey, _ change: ObjectChange, _ subject: Revision
    ) throws {
        guard let values = try object(key).values else { return }
        let entity = entity(key)
        let isModified = change.properties.contains { property in
            guard let slot = entity.slot(of: property.name) else { return false }
            return values[slot] != property.new && !isWeak(slot, of: entity)
        }
        #if STET_FAULTS
            if file.planted.contains("modifiedObjectDeleted") {
                objects[key]?.values = nil
                return
            }
        #endif
        if isModified {
            let allowed: Set<Answer> = [.keep, .restore]
            let decision = try decide(.modified, of: key, allows: allowed, subject: subject)
            if case .keep = decision { return }
        }
        objects[key]?.values = nil
    }

    private mutating func takeBackDeletion(
        of key: ObjectKey, _ change: ObjectChange, _ subject: Revision
    ) throws {
        let entity = entity(key)
        var restored = [Value](repeating: .null, count: entity.properties.count)
        for property in change.properties {
            if let slot = entity.slot(of: property.name) { restored[slot] = property.old }
        }
        guard var values = try object(key).values else {
            objects[key]?.values = restored
            return
        }
        // Somebody has brought it back already.
        for (slot, property) in entity.properties.enumerated()
        where values[slot] != restored[slot] && !isWeak(slot, of: entity) {
            let cell = PropertyChange(name: property.name, old: restored[slot], new: .null)
            let decision = try decide(
                .changed, of: key, slot, cell, current: values[slot], subject: subject)
            switch decision {
            case .restore: values[slot] = restored[slot]
            case .set(let others): for (slot, value) in others { values[slot] = value }
            case .keep, .failed: break
            }
        }
        objects[key]?.values = values
    }

    /// True for a cell that every writer changes, and for the place among the members of a
    /// relationship: they follow where they can, and are never in conflict.
    private func isWeak(_ slot: Int, of entity: Entity) -> Bool {
        entity.properties[slot].stamp != nil
            || (entity.isLink && slot == Entity.LinkSlot.position)
    }

    // MARK: Conflicts

    /// What a conflict can be answered with beside `.fail`.
    enum Answer { case keep, restore, set }

    private mutating func decide(
        _ kind: UndoConflict.Kind, of key: ObjectKey, _ slot: Int, _ property: PropertyChange,
        current: Value, subject: Revision
    ) throws -> Decision {
        try decide(
            kind, entity: entity(key).name, key.id, property: property.name, before: property.old,
            after: property.new, current: current, later: try later(key, property.name, subject),
            allows: [.keep, .restore, .set], subject: subject)
    }

    mutating func decide(
        _ kind: UndoConflict.Kind, of key: ObjectKey, property: String? = nil,
        before: Value = .null, others: [ObjectID] = [], allows allowed: Set<Answer>,
        subject: Revision? = nil
    ) throws -> Decision {
        let subject = subject ?? subjects.last ?? .zero
        let isLater = [.gone, .modified].contains(kind)
        return try decide(
            kind, entity: entity(key).name, key.id, property: property, before: before,
            later: isLater ? try later(key, nil, subject) : nil, others: others, allows: allowed,
            subject: subject)
    }

    /// Asks the policy about a conflict that was not asked about before.
    private mutating func decide(
        _ kind: UndoConflict.Kind, entity: String, _ id: ObjectID, property: String? = nil,
        before: Value = .null, after: Value = .null, current: Value = .null,
        later: UndoConflict.Later? = nil, others: [ObjectID] = [], allows allowed: Set<Answer>,
        subject: Revision
    ) throws -> Decision {
        let question = Question(kind: kind, object: id, property: property, subject: subject)
        if let known = answers[question] { return known }
        let conflict = UndoConflict(
            kind: kind, entity: entity, object: id, property: property, before: before,
            after: after, current: current, later: later, others: others)
        let decision: Decision
        switch policy.answer(conflict) {
        case .keep where allowed.contains(.keep): decision = .keep
        case .restore where allowed.contains(.restore): decision = .restore
        case .set(let values) where allowed.contains(.set):
            decision = slots(values, schema.entity(named: entity)).map(Decision.set) ?? .failed
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
    mutating func fail(_ conflict: UndoConflict) { conflicts.append(conflict) }

    /// Values by slot; nil when one does not fit its property.
    private func slots(_ values: [String: Value], _ entity: Entity?) -> [Int: Value]? {
        guard let entity else { return nil }
        var slots: [Int: Value] = [:]
        for (name, value) in values {
            guard let slot = entity.slot(of: name), entity.properties[slot].accepts(value) else {
                return nil
            }
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

#if STET_FAULTS
    extension Inversion {
        /// A planted bug: the last of several restored objects is forgotten.
        mutating func loseObject() {
            let restored = objects.filter { $0.value.stored == nil && $0.value.values != nil }.keys
            if restored.count > 1, let last = restored.max() { objects[last]?.values = nil }
        }
    }
#endif

extension RecordBody {
    /// The values of all properties.
    func values() throws -> [Value] {
        try zip(entity.properties, cells()).map { try Value($1, type: $0.type) }
    }
}

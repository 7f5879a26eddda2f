import StetLMDB
import StetStore

extension ObjectKey {
    init(_ entity: EntityNumber, _ number: Int) { self.init(entity, .fixed(number)) }
}

extension Schema {
    /// The membership of an object in the list of the one that it refers to in a slot.
    func membership(of source: ObjectKey, in target: ObjectID, slot: Slot) -> MembershipKey {
        guard let end = end(ofEntity: source.entity, slot: slot) else {
            preconditionFailure("no reference in slot \(slot)")
        }
        return MembershipKey(end, target, source.id)
    }
}

/// One object's change as a test states it: values before and after, and the revision that it is
/// based on.
struct Edit: Sendable {
    var key: ObjectKey
    var before: [Value]?
    var after: [Value]?
    var base: Revision

    init(_ key: ObjectKey, from before: [Value]?, to after: [Value]?, base: Revision = .zero) {
        self.key = key
        self.before = before
        self.after = after
        self.base = base
    }

    var kind: ChangeKind { before == nil ? .insert : after == nil ? .delete : .update }
}

/// The label of a commit, and the fields that are otherwise random.
struct EditNote {
    var author: String?
    var scope: String?
    var label: String?
    var time = 1_000.0
    var token: UInt64 = 7
    var base = Revision.zero
}

extension StoreFile {
    func commit(
        _ edits: [Edit], links: [LinkChange] = [], _ note: EditNote = EditNote()
    ) throws -> Commit {
        try commit(try encode(edits, links: links, note))
    }

    func encode(
        _ edits: [Edit], links: [LinkChange] = [], _ note: EditNote = EditNote(),
        limits: ChangeSetBuilder.SizeLimits = ChangeSetBuilder.SizeLimits()
    ) throws -> EncodedChangeSet {
        var changes = ChangeSetBuilder(schema: schema)
        changes.limits = limits
        for edit in edits {
            let entity = edit.key.entity
            let before = edit.before.map { changes.encode($0, entity: entity) }
            let after = edit.after.map { changes.encode($0, entity: entity) }
            changes.append(
                ChangeSetBuilder.Item(
                    kind: edit.kind, entity: entity, id: edit.key.id, base: edit.base,
                    before: before ?? 0..<0, after: after ?? 0..<0))
        }
        for link in links { changes.append(link) }
        changes.sort()
        return try changes.encoded(
            attributes: CommitAttributes(
                author: note.author, scope: note.scope, label: note.label),
            base: note.base, token: note.token, time: note.time)
    }

    /// The named tables of a store, and the table without a name.
    func table(_ name: String?) throws -> Table {
        guard let name else { return .unnamed }
        guard let table = try environment.tables([name]).first.flatMap({ $0 }) else {
            throw DecodingFailure("no table \(name)")
        }
        return table
    }

    /// Every key and value of every table, read without the store's own readers.
    func dump() throws -> [String: [[UInt8]: [UInt8]]] {
        let indexes = schema.entities.allSatisfy(\.indexes.isEmpty) ? [] : ["indexes"]
        let names =
            ["journal", "members"] + indexes
            + schema.entities.indices.map { "records.\($0 + 1)" }
        let tables = try names.map { ($0, try table($0)) } + [("", Table.unnamed)]
        return try environment.read { transaction in
            var dump: [String: [[UInt8]: [UInt8]]] = [:]
            for (name, table) in tables {
                dump[name] = [:]
                try transaction.scan(table) { key, value in
                    dump[name]?[Array(key)] = Array(value)
                    return true
                }
            }
            return dump
        }
    }

    /// Sets or removes an entry behind the store's back.
    func tamper(_ table: String?, _ key: [UInt8], _ value: [UInt8]?) throws {
        let table = try self.table(table)
        try environment.write { transaction in
            try key.withUnsafeBytes { key in
                guard let value else {
                    try transaction.delete(key, in: table)
                    return
                }
                try value.withUnsafeBytes { try transaction.put($0, for: key, in: table) }
            }
        }
    }
}

/// The contents of one object in a store.
struct Shown: Hashable {
    var revision: Revision
    var cells: [OwnedCell?]
}

extension StoreFile {
    /// All objects at a revision, read by scanning.
    func objects(asOf revision: Revision) throws -> [ObjectKey: Shown] {
        var objects: [ObjectKey: Shown] = [:]
        try read { reader in
            for number in schema.entities.numbers {
                var last: ObjectID?
                try reader.forEachRecord(ofEntity: number, asOf: revision) { id, record in
                    guard last.map({ $0 < id }) ?? true else { throw DecodingFailure("order") }
                    last = id
                    objects[ObjectKey(number, id)] = try shown(record, number)
                    return true
                }
            }
        }
        return objects
    }

    func object(_ key: ObjectKey, asOf revision: Revision) throws -> Shown? {
        try read { reader in
            try reader.withRecord(ofEntity: key.entity, key.id, asOf: revision) { record in
                try shown(record, key.entity)
            }
        }
    }

    private func shown(_ record: StoreReader.Record, _ entity: EntityNumber) throws -> Shown {
        let body = try RecordBody(record.body, of: schema.entities[entity])
        let cells = try body.entity.properties.slots.map { slot in
            try body.cell(slot).map(OwnedCell.init)
        }
        return Shown(revision: record.revision, cells: cells)
    }

    /// The members of a relationship of an object, in their order.
    func members(of owner: ObjectKey, _ name: String) throws -> [ObjectID] {
        let entity = schema.entities[owner.entity]
        guard let relationship = entity.relationships.first(where: { $0.name == name }),
            let end = schema.membersEnd(of: relationship)
        else { throw DecodingFailure("no relationship \(name)") }
        var members: [ObjectID] = []
        try read { reader in
            try reader.forEachMember(of: owner.id, at: end) { member, _ in
                members.append(member)
                return true
            }
            guard try reader.memberCount(of: owner.id, at: end) == members.count else {
                throw DecodingFailure("members are miscounted")
            }
        }
        return members
    }

    /// The stored references to an object.
    func references(to id: ObjectID) throws -> [MembershipKey] {
        var keys: [MembershipKey] = []
        try read { reader in
            for entity in schema.entities.numbers {
                try reader.forEachReference(to: id, ofEntity: entity) { keys.append($0) }
            }
        }
        return keys
    }

    /// All stored references, from the entries of the tree of members.
    func references() throws -> Set<MembershipKey> {
        var keys: Set<MembershipKey> = []
        for (key, value) in try dump()["members"] ?? [:] {
            try key.withUnsafeBytes { key in
                try value.withUnsafeBytes { value in
                    let (number, owner) = try MemberKey.decode(key)
                    guard let end = schema.end(numbered: number) else {
                        throw DecodingFailure("no end \(number)")
                    }
                    var entries = try MemberChunk(decoding: value, at: key, end.layout).entries
                    while let entry = try entries.next() {
                        keys.insert(MembershipKey(end, owner, entry.id))
                    }
                }
            }
        }
        return keys
    }
}

/// A store, and beside it a plain array of what it must have contained at each revision.
final class Library {
    struct State {
        var values: [ObjectKey: [Value]] = [:]
        /// The revision of each object's last change, a deletion included.
        var revisions: [ObjectKey: Revision] = [:]
    }

    let directory: StoreDirectory
    private(set) var file: StoreFile
    /// The states; the index is the number of the revision.
    private(set) var states = [State()]
    private(set) var commits: [Commit] = []

    var now: State { states[states.count - 1] }
    var revision: Revision { Revision(UInt64(states.count - 1)) }

    init(schema: Schema = .library) throws {
        directory = try StoreDirectory()
        file = try directory.openUnsynced(schema: schema)
    }

    func reopen() throws {
        file.close()
        file = try directory.open(schema: file.schema)
    }

    /// The change of an object from what it is to `values`; nil deletes it.
    func edit(_ key: ObjectKey, _ values: [Value]?) -> Edit {
        Edit(key, from: now.values[key], to: values, base: now.revisions[key] ?? .zero)
    }

    @discardableResult
    func commit(_ edits: [Edit], _ note: EditNote = EditNote()) throws -> Commit {
        let commit = try file.commit(edits, note)
        var state = now
        for edit in edits {
            state.values[edit.key] = edit.after
            state.revisions[edit.key] = commit.revision
        }
        states.append(state)
        commits.append(commit)
        return commit
    }

    /// The objects that the store must show at a revision.
    func expected(asOf revision: Revision) -> [ObjectKey: Shown] {
        let state = states[Int(revision.number)]
        return Dictionary(
            uniqueKeysWithValues: state.values.map { key, values in
                (key, Shown(revision: state.revisions[key] ?? .zero, cells: values.map(\.cell)))
            })
    }

    /// The references that the store must have now.
    var expectedReferences: Set<MembershipKey> {
        Set(
            now.values.flatMap { key, values in
                values.slotted.compactMap { slot, value in
                    value.target.map { file.schema.membership(of: key, in: $0, slot: slot) }
                }
            })
    }
}

/// A cell that owns its bytes, to be compared outside of a transaction.
enum OwnedCell: Hashable, Sendable {
    case word(UInt64)
    case bytes([UInt8])

    init(_ cell: Cell) {
        switch cell {
        case .word(let word): self = .word(word)
        case .bytes(let bytes): self = .bytes(Array(bytes))
        }
    }
}

import Foundation
import Stet
import StetStore

/// The mapping between objects of the library and labels.
final class Registry {
    private(set) var ids: [Label: ObjectID] = [:]
    private(set) var labels: [ObjectID: Label] = [:]
    private(set) var kinds: [Label: Kind] = [:]

    func name(_ object: any Thing, _ label: Label, _ kind: Kind) {
        ids[label] = object.id
        labels[object.id] = label
        kinds[label] = kind
    }

    /// The secrets whose bytes were read before their keys were destroyed.
    private var secrets: [Value: Secret] = [:]
    var destroyed: Set<Label> = []

    func label(of id: ObjectID) -> Label { labels[id] ?? -1 }
    func label(of object: any Thing) -> Label { label(of: object.id) }

    /// Returns a sealed number; -1 instead of one that should be readable and is not, or the other
    /// way round.
    func secret(_ value: Value) -> Secret {
        guard let sealed = Sealed<Int>(_value: value), case .data(let data) = value else {
            return Secret(number: -1)
        }
        let bytes = SealedBytes(bytes: Array(data))
        guard let place = bytes.place else {
            return Secret(number: (try? sealed.value) ?? -1)
        }
        let owner = label(of: place.owner)
        if sealed.isErased != destroyed.contains(owner) { return Secret(number: -1, owner: owner) }
        let secret =
            secrets[value]
            ?? Secret(
                number: (try? sealed.value) ?? -1, owner: owner, version: bytes.keyRank)
        secrets[value] = secret
        return secret
    }

    /// Returns the number of a sealed value, which a merge compares; other values as they are.
    func withoutSeal(_ value: Value) -> Value {
        guard case .data(let data) = value, SealedBytes(bytes: Array(data)).isSaved else {
            return value
        }
        return .int(secret(value).number)
    }
}

/// A difference between the library and the reference.
struct Difference: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The error that makes an edit fail.
struct Thrown: Error {}

/// A context of the library, and the objects of it that are kept alive.
@MainActor final class Stage {
    private(set) var context: ManagedContext
    let registry: Registry
    private var held: [Label: any Thing] = [:]
    private let contents: [LargeData]
    var snapshots: [Int: ManagedContext.Snapshot] = [:]
    /// The members of the lists at targets, collected while everything is read.
    var others: [List: [Label: Set<Label>]] = [:]
    /// The derived numbers of the objects that were read last.
    var totals: [Label: Int] = [:]

    init(
        _ store: Store, _ registry: Registry, author: String, contents: [LargeData] = []
    ) {
        self.contents = contents
        context = store.context(author: author)
        self.registry = registry
    }

    /// Replaces the context with a new one.
    func renew() {
        context = context.store.context(author: context.author)
        held = [:]
        snapshots = [:]
    }

    /// Releases all objects except those that no read returns.
    func letGo() { held = held.filter { $0.value.isDeleted } }

    /// Returns an object of the context; nil if there is none.
    func find(_ label: Label) throws -> (any Thing)? {
        guard let id = registry.ids[label], let kind = registry.kinds[label] else { return nil }
        func read<M: Thing>(_ type: M.Type) throws -> (any Thing)? {
            try context.object(type, id: id)
        }
        return try read(kind.model)
    }

    private func object(_ label: Label) throws -> any Thing {
        if let object = held[label], object.context === context { return object }
        guard let object = try find(label) else { throw Difference("\(label) cannot be found") }
        held[label] = object
        return object
    }

    // MARK: Edits

    func apply(_ step: Step) throws {
        switch step {
        case .insert(let label, let kind, let name, let references):
            try insert(kind.model.init(name: name), label, kind, references)
        case .name(let label, let name): try setName(try object(label), name)
        case .number(let label, let number): try setNumber(try object(label), number)
        case .count(let label, let increment): try increase(try object(label), by: increment)
        case .key(let label, let key): try setKey(try object(label), key)
        case .file(let label, let number): try setFile(try object(label), number)
        case .secret(let label, let number): try setSecret(try object(label), number)
        case .parts(let label, let parts): try setParts(try object(label), parts)
        case .trail(let label, let trail): try setTrail(try object(label), trail)
        case .spot(let label, let spot, let byMember):
            try setSpot(try object(label), spot, byMember)
        case .pose(let label, let pose, let byMember):
            try setPose(try object(label), pose, byMember)
        case .refer(let relation, let source, let target):
            ReferenceAccess.all[relation]!.set(try object(source), try target.map(object))
        case .append(let list, let owner, let member):
            ListAccess.all[list]!.append(try object(owner), try object(member))
        case .remove(let list, let owner, let member):
            ListAccess.all[list]!.remove(try object(owner), try object(member))
        case .place(let list, let owner, let member, let index):
            ListAccess.all[list]!.insert(try object(owner), try object(member), index)
        case .move(let list, let owner, let from, let to):
            ListAccess.all[list]!.move(try object(owner), from, to)
        case .assign(let list, let owner, let members):
            ListAccess.all[list]!.assign(try object(owner), try members.map(object))
        case .delete(let label): try delete(try object(label))
        case .reinsert(let label): try insertAgain(label)
        case .rollBackObject(let label): try rollBack(label)
        default: break
        }
    }

    private func setName(_ object: some Thing, _ name: String) throws { object.name = name }
    private func setNumber(_ object: some Thing, _ number: Int) throws { object.number = number }
    private func increase(_ object: some Thing, by increment: Int) throws {
        object.count += increment
    }
    private func setKey(_ object: some Thing, _ key: String?) throws { object.key = key }
    private func setFile(_ object: some Thing, _ number: Int?) throws {
        object.file = number.map { contents[$0] }
    }
    private func setSecret(_ object: some Thing, _ number: Int?) throws {
        object.secret = number.map { Sealed($0) }
    }
    private func setParts(_ object: some Thing, _ parts: [Part]) throws {
        object.parts = parts.map { Piece(id: $0.id, size: $0.size, note: $0.note) }
    }
    private func setTrail(_ object: some Thing, _ trail: [Spot]) throws {
        object.trail = trail.map { Mark(row: $0.row, mark: $0.mark) }
    }
    private func setSpot(_ object: some Thing, _ spot: Spot, _ byMember: Bool) throws {
        if !byMember { return object.spot = Place(spot) }
        object.spot.row = spot.row
        object.spot.mark = spot.mark
    }
    private func setPose(_ object: some Thing, _ pose: Spot?, _ byMember: Bool) throws {
        if !byMember { return object.pose = pose.map(Place.init) }
        guard let pose else { return }
        object.pose?.row = pose.row
        object.pose?.mark = pose.mark
    }
    private func delete(_ object: some Thing) throws { context.delete(object) }

    private func insert(
        _ object: some Thing, _ label: Label, _ kind: Kind, _ references: [Relation: Label]
    ) throws {
        registry.name(object, label, kind)
        for relation in Relation.references {
            if let target = references[relation] {
                ReferenceAccess.all[relation]!.set(object, try self.object(target))
            }
        }
        context.insert(object)
        held[label] = object
    }

    /// Finds the object with a key, a leaf with a number, too, or inserts one with a label; returns
    /// the label of the object.
    func upsert(
        _ label: Label, _ kind: Kind, _ key: String, _ number: Int, _ name: String
    ) throws -> Label {
        func make<M: Thing>(_ type: M.Type) -> M {
            let object = M(name: name)
            object.key = key
            object.number = number
            registry.name(object, label, kind)
            return object
        }
        let object: any Thing
        switch kind {
        case .box:
            object = try context.upsert(
                Box.self, where: \.key, is: key, inserting: make(Box.self))
        case .item:
            object = try context.upsert(
                Item.self, where: \.key, is: key, inserting: make(Item.self))
        case .leaf:
            // Not in the order of the index.
            object = try context.upsert(
                Leaf.self, where: \.number, \.key, is: number, Optional(key),
                inserting: make(Leaf.self))
        case .tag: throw Difference("keys of tags are not looked up")
        }
        object.name = name
        let found = registry.label(of: object)
        held[found] = object
        return found
    }

    /// Returns an object that is deleted but not saved, which no read returns.
    private func deleted(_ label: Label) throws -> (any Thing)? {
        if let object = held[label], object.context === context { return object }
        return nil
    }

    private func insertAgain(_ label: Label) throws {
        guard let object = try deleted(label) else {
            throw Difference("\(label) was deleted and not held")
        }
        context.insert(object)
    }

    private func rollBack(_ label: Label) throws {
        let object = try deleted(label) ?? find(label)
        if let object { context.rollback(object) }
    }
}

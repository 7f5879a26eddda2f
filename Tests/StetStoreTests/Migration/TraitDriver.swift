import Foundation
import StetStore
import StetTestSupport

/// A store whose properties take other forms at random, and what it must show of each revision.
struct TraitDriver {
    typealias Object = [Int: Value]
    typealias State = [ObjectKey: Object]

    /// The entity A, whose objects refer to those of B.
    var entities: [TraitEntity]
    /// The objects after each revision, in the present version.
    var states: [State] = [[:]]
    private(set) var revisions: [[ObjectKey: Revision]] = [[:]]
    var generator: SeededGenerator
    /// The values that objects of earlier versions get, by trait.
    var defaults: [Int: Value] = [:]
    /// The traits that the version has added, and those whose form it has changed.
    var added: Set<Int> = []
    var settled: Set<Int> = []
    var log: [String] = []
    private var pastModels: [[Entity]] = []
    private var nameCount = 0
    private var idCount = 0
    private let directory: StoreDirectory
    private let keys: KeyFile
    private(set) var file: StoreFile

    init(seed: UInt64) async throws {
        generator = SeededGenerator(seed: seed)
        directory = try StoreDirectory()
        try directory.write(Data(repeating: 7, count: 32), to: "key")
        keys = try await KeyFile.open(
            at: directory.file("keys"), provider: .file(directory.file("key")))
        entities = TraitEntity.first
        nameCount = 100
        file = try directory.open(
            schema: try Schema(entities: Self.models(of: entities)))
        pastModels = [models]
    }

    static func models(of entities: [TraitEntity]) -> [Entity] {
        [entities[0].entity(reading: entities[1]), entities[1].entity(reading: nil)]
    }

    var models: [Entity] { Self.models(of: entities) }

    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.randomElement(using: &generator)
    }

    mutating func chance(_ number: Int) -> Bool {
        Int.random(in: 0..<number, using: &generator) == 0
    }

    mutating func newID() -> Int {
        nameCount += 1
        return nameCount
    }

    // MARK: Edits

    /// Returns a random value of a trait, of an object.
    mutating func value(_ trait: Trait, of id: ObjectID?) throws -> Value {
        if trait.isOptional, chance(3) { return .null }
        switch trait.kind {
        case .number: return .int(Int.random(in: -9...9, using: &generator))
        case .text:
            return .string(pick(["", "e\u{301}", "text", "a longer text that goes on"]) ?? "")
        case .embedded: return .bool(true)
        case .array:
            return .list(
                try (0..<Int.random(in: 0...3, using: &generator)).map { number in
                    var members: [Value: Value] = [:]
                    for member in trait.members {
                        members[.int(member.id)] = try value(member, of: nil)
                        if member.id == trait.identity, !chance(8) {
                            members[.int(member.id)] =
                                member.kind == .text ? .string("\(number)") : .int(number)
                        }
                    }
                    return .dictionary(members)
                })
        case .large:
            let writer = try LargeValueWriter(file)
            let bytes = [UInt8](repeating: UInt8(pick([1, 2, 3]) ?? 1), count: 40)
            try bytes.withUnsafeBytes(writer.append)
            return .data(Data(try writer.finish().stored))
        case .sealed:
            guard let id else { return .null }
            try keys.makeKeys(for: [id])
            let label = SealedBytes.Place.label(ofProperty: trait.name)
            let place = SealedBytes.Place(owner: id, object: id, label: label)
            let text = Array("sealed \(Int.random(in: 0..<3, using: &generator))".utf8)
            return .data(Data(try SealedBytes(text, at: place, by: keys).bytes))
        case .reference:
            let targets = states[states.count - 1].keys.filter { $0.entity == 2 }.sorted()
            return pick(targets).map { .reference($0.id) } ?? .null
        }
    }

    private mutating func object(_ number: EntityNumber, _ id: ObjectID) throws -> Object {
        var object: Object = [:]
        for trait in entities[number].traits {
            object[trait.id] = try value(trait, of: id)
            guard trait.kind == .embedded, object[trait.id] == .bool(true) else { continue }
            for member in trait.members { object[member.id] = try value(member, of: nil) }
        }
        return object
    }

    mutating func commit() throws {
        var state = states[states.count - 1]
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let number: EntityNumber = chance(3) ? 2 : 1
            let mine = states[states.count - 1].keys.filter { $0.entity == number }.sorted()
            guard let key = pick(mine), chance(2) else {
                idCount += 1
                let key = ObjectKey(number, idCount)
                state[key] = try object(number, key.id)
                continue
            }
            guard state[key] != nil else { continue }
            let isReferred = state.values.contains { $0[1] == .reference(key.id) }
            if chance(3), !isReferred {
                state[key] = nil
            } else {
                state[key] = try object(number, key.id)
            }
        }
        // A later edit of the same commit must not refer to a deleted object.
        for (key, object) in state {
            guard case .reference(let id)? = object[1], state[ObjectKey(2, id)] == nil
            else { continue }
            state[key]?[1] = .null
        }
        derive(&state)
        try commit(state)
    }

    private mutating func commit(_ state: State) throws {
        let (old, changed) = (states[states.count - 1], revisions[revisions.count - 1])
        var edits: [Edit] = []
        for key in Set(old.keys).union(state.keys).sorted() {
            let entity = entities[key.entity]
            let (before, after) = (old[key].map(entity.values), state[key].map(entity.values))
            if before == after { continue }
            edits.append(Edit(key, from: before, to: after, base: changed[key] ?? .zero))
        }
        if edits.isEmpty { return }
        let commit = try file.commit(edits)
        note(state, edits.map(\.key), commit.revision)
    }

    private mutating func note(_ state: State, _ keys: [ObjectKey], _ revision: Revision) {
        var changed = revisions[revisions.count - 1]
        for key in keys { changed[key] = revision }
        states.append(state)
        revisions.append(changed)
    }

    // MARK: Derived attributes

    /// Gives the derived attributes of objects, of an entity or of both, their values.
    func derive(_ state: inout State, only number: EntityNumber? = nil) {
        for key in state.keys where number.map({ $0 == key.entity }) ?? true {
            for trait in entities[key.entity].traits {
                guard let expression = trait.expression else { continue }
                let value = result(expression, trait, key, state)
                state[key]?[trait.id] = value
            }
        }
    }

    private func result(
        _ expression: Trait.Expression, _ trait: Trait, _ key: ObjectKey, _ state: State
    ) -> Value {
        var source = key
        if expression.crossesReference {
            guard case .reference(let id)? = state[key]?[1] else {
                return expression.fallback ?? .null
            }
            source = ObjectKey(2, id)
        }
        let entity = entities[source.entity]
        let places = entity.places
        guard let object = state[source],
            let slot = places.firstIndex(where: {
                !$0.isPresence && $0.trait.id == expression.input
            })
        else { return expression.fallback ?? .null }
        switch entity.values(object)[slot] {
        case .null: return expression.fallback ?? .null
        case .int(let number): return .int(number + 1)
        case let value: return value
        }
    }

    // MARK: Migrations

    mutating func migrate() throws {
        file.close()
        let before = self
        (log, defaults, added, settled) = ([], [:], [], [])
        for _ in 0..<Int.random(in: 2...7, using: &generator) { try mutate() }
        if pastModels.contains(models), models != before.models {
            // Opening a store with earlier models again is refused.
            let (generator, nameCount) = (generator, nameCount)
            self = before
            (self.generator, self.nameCount, log) = (generator, nameCount, [])
        }
        pastModels.append(models)
        file = try open(models, origins(since: before.entities))
        guard models != before.models else { return }
        // A migration is a commit without changes.
        note(states[states.count - 1], [], .zero)
        for number: EntityNumber in [1, 2] {
            let old = states[states.count - 1]
            var state = old
            derive(&state, only: number)
            let entity = entities[number]
            let keys = state.keys.filter { key in
                key.entity == number
                    && entity.values(state[key] ?? [:]) != entity.values(old[key] ?? [:])
            }
            if !keys.isEmpty { note(state, Array(keys), Revision(UInt64(states.count))) }
        }
    }

    func open(_ models: [Entity], _ origins: SchemaOrigins = SchemaOrigins()) throws -> StoreFile {
        try StoreFile.open(
            at: directory.file(), schema: try Schema(entities: models), origins: origins, .small())
    }

    mutating func reopen() throws {
        file.close()
        file = try open(models)
    }

    /// Returns the names and values by which the store of earlier models becomes one of these.
    private func origins(since former: [TraitEntity]) -> SchemaOrigins {
        var origins = SchemaOrigins()
        func add(_ entity: String, _ old: String?, _ new: String, _ id: Int) {
            if let old, old != new { origins.propertyNames[entity, default: [:]][new] = [old] }
            if let value = defaults[id] {
                origins.defaults[entity, default: [:]][new] = { value }
            }
        }
        for (old, new) in zip(former, entities) {
            let places = old.places
            for place in new.places {
                let match = places.first {
                    $0.trait.id == place.trait.id && $0.isPresence == place.isPresence
                }
                add(new.name, match?.name, place.name, place.trait.id)
                guard place.trait.kind == .array else { continue }
                for member in place.trait.members {
                    let former = match?.trait.members.first { $0.id == member.id }
                    add("\(new.name).\(place.name)", former?.name, member.name, member.id)
                }
            }
        }
        return origins
    }
}

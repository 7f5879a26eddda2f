import Foundation
import StetStore
import StetTestSupport

/// A store whose models change at random, and what it must show of each revision.
struct MigrationDriver {
    /// The entities by number; nil for one that was removed.
    var entities: [Entity?]
    /// The values after each revision, in the present version.
    var states: [[ObjectKey: [Value]]] = [[:]]
    private(set) var revisions: [[ObjectKey: Revision]] = [[:]]
    var generator: SeededGenerator
    var origins = SchemaOrigins()
    /// The properties whose default values are settled in the version.
    var settled: Set<String> = []
    /// The entities of all versions.
    private var pastEntities: [[Entity?]] = []
    private var nameCount = 0
    private var idCount = 0
    var log: [String] = []
    private let directory: StoreDirectory
    private(set) var file: StoreFile

    var migrationCount: Int { file.schema.revision - 1 }

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        directory = try StoreDirectory()
        entities = [
            Entity(
                name: "A",
                properties: [
                    Property(name: "n", type: .int8), Property(name: "s", type: .string),
                    Property(name: "a", type: .reference, isOptional: true, target: "A"),
                    Property(name: "b", type: .reference, isOptional: true, target: "B"),
                ], indexes: [EntityIndex(0), EntityIndex(1, 0)]),
            Entity(
                name: "B",
                properties: [
                    Property(name: "s", type: .string, isOptional: true),
                    Property(name: "a", type: .reference, isOptional: true, target: "A"),
                ]),
        ]
        file = try directory.open(schema: try Schema(entities: entities.compactMap { $0 }))
        pastEntities = [entities]
    }

    private mutating func open() throws {
        let schema = try Schema(entities: entities.compactMap { $0 }.shuffled(using: &generator))
        file = try StoreFile.open(
            at: directory.file(), schema: schema, origins: origins, .small())
    }

    mutating func reopen() throws {
        file.close()
        try open()
    }

    // MARK: Edits

    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.randomElement(using: &generator)
    }

    var live: [EntityNumber] { entities.numbers.filter { entities[$0] != nil } }

    private mutating func value(_ property: Property) -> Value {
        if property.isOptional, Bool.random(using: &generator) { return .null }
        switch property.type {
        case .reference:
            let target = entities.numbers.first { entities[$0]?.name == property.target }
            let keys = states[states.count - 1].keys.filter { $0.entity == target }.sorted()
            return pick(keys).map { .reference($0.id) } ?? .null
        case .string:
            return .string(pick(["", "e\u{301}", "text", "a longer text that goes on"]) ?? "")
        case .double: return .double(Double(Int.random(in: -9...9, using: &generator)))
        default: return .int(Int.random(in: -9...9, using: &generator))
        }
    }

    private mutating func values(_ entity: Entity) -> [Value] {
        entity.properties.map { value($0) }
    }

    mutating func commit() throws {
        var state = states[states.count - 1]
        var changed = revisions[revisions.count - 1]
        var edits: [ObjectKey: Edit] = [:]
        let before = state
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            guard let number = pick(live), let entity = entities[number] else { continue }
            let mine = before.keys.filter { $0.entity == number }.sorted()
            if let key = pick(mine), Bool.random(using: &generator) {
                guard edits[key] == nil, let old = before[key] else { continue }
                let isReferred = state.values.contains { $0.contains(.reference(key.id)) }
                let isNeeded = edits.values.contains {
                    $0.after?.contains(.reference(key.id)) ?? false
                }
                let deletes = !isReferred && !isNeeded && Bool.random(using: &generator)
                let new = deletes ? nil : values(entity)
                if new == old { continue }
                edits[key] = Edit(key, from: old, to: new, base: changed[key] ?? .zero)
                state[key] = new
            } else {
                idCount += 1
                let key = ObjectKey(number, idCount)
                let new = values(entity)
                edits[key] = Edit(key, from: nil, to: new)
                state[key] = new
            }
        }
        // A later edit of the same commit must not refer to a deleted object.
        let gone = Set(edits.values.filter { $0.after == nil }.map(\.key.id))
        let refers = state.values.contains { values in
            values.contains { if case .reference(let id) = $0 { gone.contains(id) } else { false } }
        }
        if edits.isEmpty || refers { return }
        let commit = try file.commit(Array(edits.values))
        for key in edits.keys { changed[key] = commit.revision }
        states.append(state)
        revisions.append(changed)
    }

    // MARK: Migrations

    mutating func migrate() throws {
        file.close()
        origins = SchemaOrigins()
        let (before, values) = (entities, states)
        log = []
        settled = []
        for _ in 0..<Int.random(in: 1...4, using: &generator) { mutate() }
        if pastEntities.contains(entities), entities != before {
            // Opening a store with earlier models again is refused.
            (entities, states, origins, log) = (before, values, SchemaOrigins(), [])
        }
        pastEntities.append(entities)
        try open()
        if entities != before {
            // A migration is a commit without changes.
            states.append(states[states.count - 1])
            revisions.append(revisions[revisions.count - 1])
        }
    }

    /// Replaces an entity, and in all states the values of its objects.
    mutating func replace(
        _ number: EntityNumber, _ properties: [Property], indexes: [EntityIndex]? = nil,
        _ map: ([Value]) -> [Value]
    ) {
        guard let old = entities[number] else { return }
        // An index of a moved property is declared anew, or dropped.
        let kept = (indexes ?? old.indexes).filter { index in
            index.slots.allSatisfy {
                $0.index < properties.count && (!index.hasLists || properties[$0].type == .string)
            }
        }
        entities[number] = Entity(name: old.name, properties: properties, indexes: kept)
        for index in states.indices {
            for (key, values) in states[index] where key.entity == number {
                states[index][key] = map(values)
            }
        }
    }

    mutating func newName() -> String {
        nameCount += 1
        // In the order of their numbers, as the store orders entities that are added at once.
        return "x\(nameCount + 100)"
    }

    private mutating func mutate() {
        guard let number = pick(live), let entity = entities[number] else { return }
        var properties = entity.properties
        let slot = properties.slots.randomElement(using: &generator)
        switch Int.random(in: 0..<10, using: &generator) {
        case 9: toggleCounter(number, entity)
        case 0: add(to: number, entity)
        case 1:
            guard let slot else { return }
            log.append("remove \(entity.name).\(properties[slot].name)")
            properties.remove(at: slot.index)
            replace(number, properties) { values in
                var values = values
                values.remove(at: slot.index)
                return values
            }
        case 2:
            // A property can be renamed once per version.
            guard let slot, origins.propertyNames[entity.name] == nil,
                !properties[slot].name.hasPrefix("new")
            else { return }
            // Sometimes the property becomes a member of an embedded value, or is one no longer.
            let name = (Bool.random(using: &generator) ? "" : "\(newName()).") + newName()
            log.append("rename \(entity.name).\(properties[slot].name) to \(name)")
            origins.propertyNames[entity.name] = [name: [properties[slot].name]]
            let value = origins.defaults[entity.name]?.removeValue(forKey: properties[slot].name)
            if let value { origins.defaults[entity.name]?[name] = value }
            settled.insert(name)
            properties[slot] = properties[slot].with(name: name)
            replace(number, properties) { $0 }
        case 3:
            guard let slot, properties[slot].type != .reference else { return }
            changeOptionality(number, entity, slot)
        case 4:
            guard let slot = properties.slots.first(where: { properties[$0].type.next != nil }),
                let type = properties[slot].type.next, !settled.contains(properties[slot].name)
            else { return }
            log.append("widen \(entity.name).\(properties[slot].name)")
            properties[slot] = properties[slot].with(type: type)
            replace(number, properties) { values in
                var values = values
                if type == .double, case .int(let number) = values[slot] {
                    values[slot] = .double(Double(number))
                }
                return values
            }
        case 5:
            let order = properties.slots.shuffled(using: &generator)
            log.append("reorder \(entity.name)")
            replace(number, order.map { properties[$0] }) { values in order.map { values[$0] } }
        case 6: addOrRemoveEntity()
        case 7:
            guard origins.entityNames.isEmpty, !entity.name.hasPrefix("new") else { return }
            rename(number, entity)
        default:
            guard let slot, properties[slot].type != .reference else { return }
            index(number, entity, slot)
        }
    }
}

extension ValueType {
    /// The type to which the test widens this one.
    fileprivate var next: ValueType? {
        switch self {
        case .int8: .int16
        case .int16: .int32
        case .int32: .double
        default: nil
        }
    }
}

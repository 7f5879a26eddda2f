import Foundation
import Stet

/// The state that results from applying the change sets of the journal in order.
///
/// Each change must begin with the state that the previous ones have left.
struct JournalFold {
    private var values: [ObjectID: [String: Value]] = [:]
    private var entities: [ObjectID: String] = [:]
    private var members: [ObjectID: [String: [ObjectID: Membership]]] = [:]

    mutating func add(_ changes: ChangeSet) throws {
        for change in changes.changes {
            try add(change)
            for relationship in change.relationships {
                try add(relationship, of: change)
            }
        }
        for change in changes.changes where change.kind == .delete {
            let left = members.removeValue(forKey: change.id)?.values.contains { !$0.isEmpty }
            if left == true { throw Difference("the journal leaves links of what is deleted") }
        }
    }

    private mutating func add(_ change: ObjectChange) throws {
        let known = values[change.id]
        if change.kind == .insert ? known != nil : known == nil {
            throw Difference("the journal has \(change), of an object that is \(known as Any)")
        }
        if change.kind == .update, change.properties.isEmpty, change.relationships.isEmpty {
            throw Difference("the journal has a change of nothing: \(change)")
        }
        for property in change.properties {
            let before = known?[property.name] ?? .null
            if property.old != before || change.kind == .update && property.new == before {
                throw Difference("the journal has \(change), where \(property.name) is \(before)")
            }
            values[change.id, default: [:]][property.name] = property.new
        }
        entities[change.id] = change.entity
        if change.kind == .delete { values[change.id] = nil }
    }

    private mutating func add(_ relationship: RelationshipChange, of change: ObjectChange) throws {
        for member in relationship.members {
            let before = members[change.id]?[relationship.name]?[member.id] ?? .absent
            if member.old != before || member.new == before {
                throw Difference("the journal has \(change), where a member was \(before)")
            }
            members[change.id, default: [:]][relationship.name, default: [:]][member.id] =
                member.new.isPresent ? member.new : nil
        }
    }

    /// Returns the values of all objects without counters and stamps.
    func cells(_ registry: Registry) -> [Label: [String: Value]] {
        func cells(_ values: [String: Value]) -> [String: Value] {
            values.filter { !["count", "stamp", "total"].contains($0.key) && $0.value != .null }
                .mapValues(registry.withoutSeal)
        }
        return Dictionary(
            uniqueKeysWithValues: values.map { (registry.label(of: $0), cells($1)) })
    }

    /// Returns the derived numbers that the commits have written.
    func totals(_ registry: Registry) -> [Label: Int] {
        Dictionary(
            uniqueKeysWithValues: values.compactMap { id, values in
                guard case .int(let total)? = values["total"] else { return nil }
                return (registry.label(of: id), total)
            })
    }

    /// Returns the state in the terms of the reference.
    func world(_ registry: Registry) -> World {
        var world = World()
        var places: [OwnedList: [(ListPosition, ObjectID)]] = [:]
        for (id, values) in values {
            guard let kind = Kind(rawValue: entities[id] ?? "") else { continue }
            var object = World.Object(kind: kind)
            for (name, value) in values {
                object.set(name, value, registry)
                guard let relation = Relation.named(name, of: kind) else { continue }
                switch value {
                case .reference(let target):
                    object.references[relation] = registry.label(of: target)
                case .placed(let target, let position):
                    let owner = registry.label(of: target)
                    object.references[relation] = owner
                    let list = List(relation: relation, isAtSource: false)
                    places[OwnedList(list: list, owner: owner), default: []].append(
                        (position, id))
                default: break
                }
            }
            world.objects[registry.label(of: id)] = object
        }
        for (source, properties) in members {
            guard let kind = Kind(rawValue: entities[source] ?? "") else { continue }
            let owner = registry.label(of: source)
            for (name, members) in properties {
                guard let relation = Relation.named(name, of: kind) else { continue }
                for (target, membership) in members {
                    world.links[relation, default: []].insert(
                        Pair(source: owner, target: registry.label(of: target)))
                    guard let position = membership.position else { continue }
                    let list = List(relation: relation, isAtSource: true)
                    places[OwnedList(list: list, owner: owner), default: []].append(
                        (position, target))
                }
            }
        }
        for (list, members) in places {
            world.order[list] = members.sorted { $0 < $1 }.map { registry.label(of: $0.1) }
        }
        return world
    }
}

extension World.Object {
    /// Adopts a value that is not a reference.
    fileprivate mutating func set(_ property: String, _ value: Value, _ registry: Registry) {
        switch (property, value) {
        case ("name", .string(let text)): name = text
        case ("key", .string(let text)): key = text
        case ("file", .data(let data)): file = Contents.number(ofStored: data)
        case ("parts", .list(let elements)): parts = elements.compactMap(Part.init(stored:))
        case ("trail", .list(let elements)): trail = elements.compactMap(Spot.init(stored:))
        case ("secret", .data): secret = registry.secret(value)
        case ("number", .int(let number)): self.number = number
        case ("count", .int(let number)): count = number
        case ("spot.row", .int(let row)): spot.row = row
        case ("spot.mark", .string(let mark)): spot.mark = mark
        case ("pose", _), ("pose.row", _), ("pose.mark", _): setPose(property, value)
        case ("stamp", .date(let date)): stamp = Int(date.timeIntervalSinceReferenceDate)
        default: break
        }
    }
    private mutating func setPose(_ property: String, _ value: Value) {
        if value == .null { return }
        var spot = pose ?? Spot()
        if case .int(let row) = value { spot.row = row }
        if case .string(let mark) = value { spot.mark = mark }
        pose = spot
    }
}

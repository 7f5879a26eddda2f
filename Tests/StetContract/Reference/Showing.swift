import Foundation
import Stet

extension Stage {
    /// Returns the state that the context shows, read from both ends of each relationship.
    ///
    /// - Throws: `Difference` if the context contradicts itself.
    func shown() throws -> World {
        var world = World()
        var objects: [Label: any Thing] = [:]
        totals = [:]
        for kind in Kind.allCases {
            for object in try fetch(kind.model) {
                let label = registry.label(of: object)
                guard objects.updateValue(object, forKey: label) == nil else {
                    throw Difference("\(label) is fetched twice")
                }
                world.objects[label] = try values(of: object, kind)
                if try find(label) !== object {
                    throw Difference("\(label) is there as another object by its id")
                }
            }
        }
        for kind in Kind.allCases {
            for key in StepGenerator.keys {
                for number in kind == .leaf ? [0, 1] : [0] {
                    try lookUp(key, number, kind, in: world)
                }
            }
        }
        for list in List.all {
            for (label, object) in objects where world.objects[label]?.kind == list.owner {
                try read(list, of: object, label, into: &world)
            }
        }
        try compareEnds(&world)
        return world
    }

    private func fetch<M: Thing>(_ type: M.Type) throws -> [any Thing] {
        try context.fetch(type).all()
    }

    /// Looks up an object by its key, and a leaf by key and number; objects with pending changes
    /// may share them until they are saved.
    private func lookUp(_ key: String, _ number: Int, _ kind: Kind, in world: World) throws {
        let found: (any Thing)?
        switch kind {
        case .box: found = try context.object(Box.self, where: \.key, is: key)
        case .item: found = try context.object(Item.self, where: \.key, is: key)
        case .leaf: found = try context.object(Leaf.self, where: \.key, \.number, is: key, number)
        case .tag: return
        }
        let label = found.map { registry.label(of: $0) }
        let claim = World.Object(kind: kind, key: key, number: number).claim
        let labels = world.objects.filter { $0.value.kind == kind && $0.value.claim == claim }.keys
        if label.map({ !labels.contains($0) }) ?? !labels.isEmpty {
            throw Difference(
                "\(kind) with the key \(key) \(number): \(label.map { "\($0)" } ?? "nil"), "
                    + "and not one of \(labels.sorted())")
        }
    }

    private func values(of object: some Thing, _ kind: Kind) throws -> World.Object {
        if object.isDeleted || object.context !== context {
            throw Difference("\(registry.label(of: object)) is fetched though it is not there")
        }
        var values = World.Object(
            kind: kind, name: object.name, key: object.key,
            file: object.file.map(Contents.number),
            secret: object.secret.map { registry.secret($0._value) }, number: object.number)
        values.parts = object.parts.map { Part(id: $0.id, size: $0.size, note: $0.note) }
        values.trail = object.trail.map { Spot(row: $0.row, mark: $0.mark) }
        values.spot = object.spot.spot
        values.pose = object.pose?.spot
        totals[registry.label(of: object)] = object.total
        values.count = object.count
        values.stamp = object.stamp.map { Int($0.timeIntervalSinceReferenceDate) }
        for relation in Relation.references where relation.source == kind {
            values.references[relation] = ReferenceAccess.all[relation]!.get(object)
                .map { registry.label(of: $0) }
        }
        return values
    }

    private func read(
        _ list: List, of owner: any Thing, _ label: Label, into world: inout World
    ) throws {
        let access = ListAccess.all[list]!
        let name = "\(label).\(list.property)"
        let members = access.members(owner)
        let labels = members.map { registry.label(of: $0) }
        if Set(labels).count != labels.count { throw Difference("\(name) has \(labels)") }
        if access.count(owner) != members.count {
            throw Difference("\(name) has \(labels), its count is \(access.count(owner))")
        }
        for member in members {
            if member.isDeleted { throw Difference("\(name) has what is deleted: \(labels)") }
            if !access.contains(owner, member) {
                throw Difference("\(name) has \(labels), and contains one of them not")
            }
        }
        if !access.isConsistent(owner, members) {
            throw Difference("\(name) has \(labels), and other indexes")
        }
        if list.isOrdered, !labels.isEmpty {
            world.order[OwnedList(list: list, owner: label)] = labels
        }
        if list.isAtSource {
            for target in labels {
                world.links[list.relation, default: []].insert(
                    Pair(source: label, target: target))
            }
        } else {
            others[list, default: [:]][label] = Set(labels)
        }
    }

    /// Checks that lists at targets agree with the references to the targets.
    private func compareEnds(_ world: inout World) throws {
        defer { others = [:] }
        for (list, owners) in others {
            for (owner, members) in owners {
                let expected: Set<Label> =
                    list.relation.isLink
                    ? Set(
                        (world.links[list.relation] ?? []).compactMap {
                            $0.target == owner ? $0.source : nil
                        })
                    : Set(
                        world.objects.filter { $1.references[list.relation] == owner }.keys)
                if members != expected {
                    throw Difference(
                        "\(owner).\(list.property) has \(members.sorted()), but "
                            + "\(expected.sorted()) refer to it")
                }
            }
        }
    }
}

extension World {
    /// Returns a description of the first differences from the expected state; nil if there are
    /// none.
    func difference(from expected: World, ignoring lists: Set<OwnedList> = []) -> String? {
        var lines: [String] = []
        for label in Set(objects.keys).union(expected.objects.keys).sorted() {
            let (one, other) = (objects[label], expected.objects[label])
            if one != other {
                lines.append(
                    "object \(label) is \(one?.description ?? "not there"), "
                        + "not \(other?.description ?? "away")")
            }
        }
        for relation in Relation.links {
            let (one, other) = (links[relation] ?? [], expected.links[relation] ?? [])
            for pair in one.subtracting(other) {
                lines.append("\(pair.source).\(relation.property) has \(pair.target)")
            }
            for pair in other.subtracting(one) {
                lines.append("\(pair.source).\(relation.property) has no \(pair.target)")
            }
        }
        for list in Set(order.keys).union(expected.order.keys) where !lists.contains(list) {
            let (one, other) = (order[list] ?? [], expected.order[list] ?? [])
            if one != other {
                lines.append("\(list.owner).\(list.list.property) is \(one), not \(other)")
            }
        }
        return lines.isEmpty ? nil : lines.joined(separator: "\n  ")
    }
}

extension World.Object: CustomStringConvertible {
    var description: String {
        let references = references.map { "\($0.property): \($1)" }.sorted()
        return "\(kind.rawValue)(\"\(name)\" key \(key ?? "nil") number \(number) "
            + "file \(file.map(String.init) ?? "nil") "
            + "secret \(secret.map(\.description) ?? "nil") "
            + "spot \(spot) pose \(pose?.description ?? "nil") "
            + "parts \(parts) trail \(trail) count \(count) "
            + "stamp \(stamp.map(String.init) ?? "nil") "
            + "\(references.joined(separator: " ")))"
    }
}

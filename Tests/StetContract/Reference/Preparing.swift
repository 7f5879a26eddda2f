/// A rule that a save would break.
struct Breach: Hashable, Comparable, CustomStringConvertible {
    let code: Int
    let object: Label
    let property: String

    var description: String { "\(code) \(property) of \(object)" }

    static func < (one: Breach, other: Breach) -> Bool {
        (one.object, one.property, one.code) < (other.object, other.property, other.code)
    }
}

extension World {
    /// Returns the state that a save makes of the pending changes, and the rules that it breaks;
    /// the code of each rule follows the sentence of the contract.
    func prepared(
        since base: World, moved: Set<Label> = [], _ keys: Keys
    ) -> (world: World, breaches: Set<Breach>) {
        var next = self
        next.normalize(since: base)
        next.settle(since: base)
        var breaches = next.denials()
        breaches.formUnion(next.seal(since: base, moved: moved, keys))
        breaches.formUnion(next.brokenRules(since: base))
        next.bury()
        return (next, breaches)
    }

    mutating func normalize(since base: World) {
        for label in objects.keys where isAlive(label) {
            let name = objects[label]!.name
            let before = base.objects[label]
            if name != before?.name { objects[label]?.name = name.trimmed }
            if let mark = objects[label]!.spot.mark, mark != before?.spot.mark {
                objects[label]?.spot.mark = mark.trimmed
            }
            let trail = objects[label]!.trail
            if trail != before?.trail {
                objects[label]?.trail = trail.map { Spot(row: $0.row, mark: $0.mark?.trimmed) }
            }
            if let mark = objects[label]!.pose?.mark, mark != before?.pose?.mark {
                objects[label]?.pose?.mark = mark.trimmed
            }
        }
    }

    /// Applies delete rules and removes orphans until nothing changes.
    private mutating func settle(since base: World) {
        while true {
            let count = dead.count
            for (label, object) in objects {
                for relation in Relation.references
                where relation.removesOrphans && object.references[relation] == nil
                    && base.objects[label]?.references[relation] != nil
                {
                    dead.insert(label)
                }
            }
            for label in dead { cascade(label) }
            for (label, object) in objects where !dead.contains(label) {
                for (relation, target) in object.references
                where dead.contains(target) && relation.targetRule == .nullify {
                    refer(relation, label, to: nil)
                }
            }
            let hasOrphans = objects.contains { label, object in
                !dead.contains(label)
                    && Relation.references.contains {
                        $0.removesOrphans && object.references[$0] == nil
                            && base.objects[label]?.references[$0] != nil
                    }
            }
            if dead.count == count, !hasOrphans { return }
        }
    }

    private mutating func cascade(_ label: Label) {
        guard let object = objects[label] else { return }
        for (relation, target) in object.references where relation.sourceRule == .cascade {
            dead.insert(target)
        }
        for (source, other) in objects {
            for (relation, target) in other.references
            where target == label && relation.targetRule == .cascade {
                dead.insert(source)
            }
        }
        for relation in Relation.links where relation.sourceRule == .cascade {
            for pair in links[relation] ?? [] where pair.source == label {
                dead.insert(pair.target)
            }
        }
    }

    private func denials() -> Set<Breach> {
        var breaches: Set<Breach> = []
        for (label, object) in objects {
            for (relation, target) in object.references {
                if dead.contains(label), isAlive(target), relation.sourceRule == .deny {
                    breaches.insert(
                        Breach(code: 1600, object: label, property: relation.property))
                }
                if !dead.contains(label), dead.contains(target),
                    [.deny, .none].contains(relation.targetRule), let inverse = relation.inverse
                {
                    breaches.insert(Breach(code: 1600, object: target, property: inverse))
                }
            }
        }
        for relation in Relation.links where relation.sourceRule == .deny {
            for pair in links[relation] ?? []
            where dead.contains(pair.source) && isAlive(pair.target) {
                breaches.insert(
                    Breach(code: 1600, object: pair.source, property: relation.property))
            }
        }
        return breaches
    }

    private func brokenRules(since base: World) -> Set<Breach> {
        var breaches: Set<Breach> = []
        for (label, object) in objects where isAlive(label) && object != base.objects[label] {
            if object.name.count > 12 {
                breaches.insert(Breach(code: 1660, object: label, property: "name"))
            }
            for (property, number) in object.numbers where !property.range.contains(number) {
                let code = number > property.range.upperBound ? 1610 : 1620
                breaches.insert(Breach(code: code, object: label, property: property.name))
            }
            if let claim = object.claim, claim != base.objects[label]?.claim,
                objects.contains(where: {
                    $0 != label && isAlive($0) && $1.kind == object.kind && $1.claim == claim
                })
            {
                // A rule of several properties names none.
                let property = object.kind == .leaf ? "" : "key"
                breaches.insert(Breach(code: 1551, object: label, property: property))
            }
        }
        for list in List.all {
            guard let most = list.relation.mostMembers else { continue }
            for owner in alive(list.owner) where members(list, of: owner).count > most {
                breaches.insert(Breach(code: 1590, object: owner, property: list.property))
            }
        }
        return breaches
    }
}

extension World.Object {
    /// The numbers that have a range.
    fileprivate var numbers: [(property: (name: String, range: ClosedRange<Int>), Int)] {
        [
            (("number", 0...9), number), (("count", -9...9), count),
            (("spot.row", 0...9), spot.row), (("pose.row", 0...9), pose?.row ?? 0),
        ] + trail.enumerated().map { index, mark in (("trail[\(index)].row", 0...9), mark.row) }
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop(while: { $0 == " " }).reversed().drop(while: { $0 == " " }).reversed())
    }
}

import Foundation
import Stet
import StetStore
import StetTestSupport

/// Generates random conditions and orders of the query language.
struct LiveNodes {
    /// An object to which a node can apply.
    private struct Subject {
        let object: QueryObject
        let entity: String
    }

    private let schema: Schema
    var random: SeededGenerator
    /// True once a generated node reads objects other than the one being tested.
    var readsOthers = false

    init(_ schema: Schema, _ random: SeededGenerator) {
        self.schema = schema
        self.random = random
    }

    mutating func pick<T>(_ values: [T]) -> T { values.randomElement(using: &random)! }
    mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &random) == 0 }

    // MARK: Values

    static let numbers: [Int] = [.min, -1, 0, 1, 2, 3, .max]
    static let smalls: [Int8] = [-128, -1, 0, 1, 127]
    static let wholes: [UInt] = [0, 1, 2, .max]
    static let reals: [Double] = [-.infinity, -1.5, -0.0, 0.0, 0.5, 2, .infinity, .nan]
    static let texts = [
        "", "a", "A", "ab", "a ab", "ab one a", "one two one", "e\u{301}", "\u{e9}",
        "E\u{301}te", "a\u{0}b", "stra\u{df}e",
        String(repeating: "x", count: 600), String(repeating: "x", count: 600) + "a",
    ]
    static let searches = [
        "a", "ab -a", "one", "\"a ab\"", "o*", "one -ab", "e\u{301}", "\"a one\"~1", "\"one tw\"*",
        "",
    ]
    static let names = ["one", "two", "three", "four"]
    static let dates = [-1, 0, 0.25, 1e9].map { Date(timeIntervalSinceReferenceDate: $0) }
    static let prices = [Decimal(-2), Decimal(0), Decimal(1) / Decimal(10), Decimal(3)]

    private static let textNames = ["text", "note", "name", "card", "main.note", "spare.note"]

    /// Returns a random value of the type of a property, to compare it with.
    private mutating func constant(_ name: String) -> Value {
        switch name {
        case "number", "rank", "size", "boxRank", "main.size", "spare.size":
            .int(pick(Self.numbers))
        case "hits": .int(pick([-1, 0, 1, 2]))
        case "small": .int(Int(pick(Self.smalls)))
        case "whole": .uint(UInt64(pick(Self.wholes)))
        case "real": .double(pick(Self.reals))
        case "name", "main.note", "spare.note": .string(pick(Self.names))
        case "date": .date(pick(Self.dates))
        case "flag": .bool(chance(2))
        case "price": .decimal(pick(Self.prices))
        default: .string(pick(Self.texts))
        }
    }

    // MARK: Subjects and terms

    private func node(_ name: String, of subject: Subject) -> QueryNode {
        guard let slot = schema.entity(named: subject.entity)?.slot(of: name) else {
            trap("\(subject.entity) has no \(name)")
        }
        return .property(subject.object, slot: slot)
    }

    /// Returns the subject itself, or an object to which it refers.
    private mutating func place(from subject: Subject, ownOnly: Bool) -> Subject {
        guard !ownOnly, chance(3) else { return subject }
        readsOthers = true
        let (name, entity) =
            subject.entity == "LiveBox"
            ? ("parent", "LiveBox")
            : pick([("box", "LiveBox"), ("next", "LiveSample"), ("shelf", "LiveBox")])
        if subject.entity == "LiveTag" { return subject }
        guard let slot = schema.entity(named: subject.entity)?.slot(of: name) else {
            trap("\(subject.entity) has no \(name)")
        }
        return Subject(
            object: .target(subject.object, slot: slot, entity: entity), entity: entity)
    }

    private mutating func name(in entity: String) -> String {
        switch entity {
        case "LiveBox": pick(["name", "rank"])
        case "LiveTag": "name"
        default:
            pick([
                "number", "number", "small", "whole", "real", "size", "text", "text", "note",
                "date", "flag", "price", "hits", "boxRank", "boxRank", "card", "main.size",
                "main.note", "spare.size", "spare.note",
            ])
        }
    }

    // MARK: Conditions

    /// Returns a condition for the objects of an entity.
    mutating func condition(_ entity: String, ownOnly: Bool) -> QueryNode {
        condition(Subject(object: .root, entity: entity), ownOnly: ownOnly, depth: 0)
    }

    private mutating func condition(
        _ subject: Subject, ownOnly: Bool, depth: Int
    ) -> QueryNode {
        if depth < 3, chance(2) {
            let parts = (0..<pick([1, 2, 2, 3])).map { _ in
                condition(subject, ownOnly: ownOnly, depth: depth + 1)
            }
            return switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: .all(parts)
            case 2, 3: .any(parts)
            default: .not(parts[0])
            }
        }
        if subject.entity == "LiveSample", chance(8) { return elements(subject) }
        if !ownOnly, chance(4), subject.entity != "LiveTag" { return members(subject, depth) }
        return leaf(subject, ownOnly: ownOnly)
    }

    private mutating func leaf(_ subject: Subject, ownOnly: Bool) -> QueryNode {
        let subject = place(from: subject, ownOnly: ownOnly)
        let name = name(in: subject.entity)
        let plain = node(name, of: subject)
        let value = constant(name)
        let isText = Self.textNames.contains(name)
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return .comparison(pick([.equal, .notEqual]), plain, .constant(.null))
        case 1: return .isIn(plain, (0..<3).map { _ in constant(name) })
        case 2 where isText:
            return .text(pick([.prefix, .suffix, .anywhere]), plain, .constant(value))
        case 3 where isText:
            let folding: TextFolding = pick([
                .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
            ])
            return .comparison(pick([.equal, .less]), .folded(plain, folding), .constant(value))
        case 4
        where ["number", "whole", "real", "price", "size", "hits", "boxRank"].contains(name):
            let operation: QueryNode.Arithmetic = pick([.add, .subtract, .multiply, .divide])
            return .comparison(
                pick([.less, .greaterOrEqual]),
                .arithmetic(operation, plain, .constant(constant(name))), .constant(value))
        case 5:
            return .comparison(
                pick([.equal, .greater]), .coalesced(plain, .constant(constant(name))),
                .constant(value))
        case 6 where name == "flag": return plain
        case 7 where subject.entity == "LiveSample":
            return .comparison(
                pick([.equal, .notEqual]), node(pick(["box", "spare"]), of: subject),
                .constant(.null))
        default:
            let isEquality = name == "flag"
            return .comparison(
                isEquality
                    ? pick([.equal, .notEqual])
                    : pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]),
                plain, .constant(value))
        }
    }

    /// Returns a condition of the elements of an array.
    private mutating func elements(_ subject: Subject) -> QueryNode {
        guard let properties = schema.entity(named: subject.entity)?.properties,
            let slot = schema.entity(named: subject.entity)?.slot(of: "parts"),
            let part = properties[slot].embedded?.entity, let size = part.slot(of: "size"),
            let note = part.slot(of: "note")
        else { trap("\(subject.entity) has no parts") }
        let scope = QueryScopes.next()
        let array = QueryElements(owner: subject.object, slot: slot, scope: scope)
        let element = QueryObject.element(scope: scope)
        let isOfSize = QueryNode.comparison(
            pick([.equal, .less, .greater]), .property(element, slot: size),
            .constant(.int(pick(Self.numbers))))
        let isOfNote = QueryNode.comparison(
            pick([.equal, .notEqual]), .property(element, slot: note),
            .constant(chance(3) ? .null : .string(pick(Self.names))))
        let condition: QueryNode = pick([
            isOfSize, isOfNote, .all([isOfSize, isOfNote]), .everything,
        ])
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .elements(.any, array, condition)
        case 1: return .elements(.all, array, condition)
        case 2:
            let value = QueryNode.property(element, slot: size)
            return .comparison(
                pick([.greater, .equal, .less]),
                .elements(.aggregate(pick([.sum, .least, .greatest]), value), array, condition),
                .constant(.int(pick(Self.numbers))))
        default:
            return .comparison(
                pick([.greater, .equal, .less]), .elements(.count, array, condition),
                .constant(.int(pick([0, 1, 2]))))
        }
    }

    private mutating func members(_ subject: Subject, _ depth: Int) -> QueryNode {
        readsOthers = true
        guard let entity = schema.entity(named: subject.entity) else {
            trap("there is no \(subject.entity)")
        }
        let relationships = entity.relationships.indices.filter { place in
            schema.membersEnd(of: entity.relationships[place]) != nil
                && ["samples", "shelf", "tags", "others"].contains(entity.relationships[place].name)
        }
        let place = pick(Array(relationships))
        let scope = QueryScopes.next()
        let member = Subject(
            object: .member(scope: scope), entity: entity.relationships[place].target)
        let list = QueryMembers(
            owner: subject.object, entity: subject.entity, relationship: place, scope: scope)
        let inner =
            depth > 1
            ? leaf(member, ownOnly: true)
            : condition(member, ownOnly: chance(2), depth: 3)
        let condition: QueryNode = chance(2) ? .everything : inner
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return .members(.any, list, inner)
        case 1: return .members(.all, list, inner)
        case 2: return aggregate(member, list, condition)
        default:
            return .comparison(
                pick([.greater, .equal, .less]), .members(.count, list, condition),
                .constant(.int(pick([0, 1, 2]))))
        }
    }

    private mutating func aggregate(
        _ member: Subject, _ list: QueryMembers, _ condition: QueryNode
    ) -> QueryNode {
        let name =
            ["LiveBox": "rank", "LiveTag": "name"][member.entity]
            ?? pick(["number", "size", "text"])
        let isText = ["text", "name"].contains(name)
        let aggregate: QueryNode.Aggregate =
            isText ? pick([.least, .greatest]) : pick([.sum, .least, .greatest])
        return .comparison(
            pick([.greater, .equal, .less]),
            .members(.aggregate(aggregate, node(name, of: member)), list, condition),
            .constant(constant(name)))
    }

    // MARK: Order

    /// Returns the sort keys for the objects of an entity.
    mutating func order(_ entity: String, ownOnly: Bool) -> [QueryOrder] {
        (0..<pick([0, 1, 1, 2])).map { _ in
            QueryOrder(term(entity, ownOnly: ownOnly), isDescending: chance(2))
        }
    }

    /// Returns an integer property of the objects of an entity, which may be nil.
    mutating func number(_ entity: String) -> QueryNode {
        let root = Subject(object: .root, entity: entity)
        let subject = place(from: root, ownOnly: chance(2))
        return node(
            subject.entity == "LiveBox" ? "rank" : pick(["number", "size", "hits", "boxRank"]),
            of: subject)
    }

    /// Returns a value of the objects of an entity.
    mutating func term(_ entity: String, ownOnly: Bool) -> QueryNode {
        let subject = place(from: Subject(object: .root, entity: entity), ownOnly: ownOnly)
        let name = name(in: subject.entity)
        let plain = node(name, of: subject)
        if Self.textNames.contains(name), chance(3) {
            return .folded(plain, .caseInsensitive)
        }
        return plain
    }
}

import Foundation
import StetStore
import StetTestSupport

/// Generates random conditions and orders, each as a query and as a closure.
struct QueryMaker {
    var random: SeededGenerator
    /// The objects that a condition can refer to at this place.
    private(set) var samples: [QuerySubject<Sample>] = []
    private(set) var boxes: [QuerySubject<Box>] = []
    private(set) var parts: [QuerySubject<Part>] = []
    private let sampleIDs: ValueKind<ObjectID>
    private let boxIDs: ValueKind<ObjectID>
    private var depth = 0
    /// The number of objects of each kind that a closure has at this place.
    var sampleCount: Int
    var boxCount: Int
    private(set) var partCount = 0
    var lastScope = 0
    /// The maximum nesting of conditions of members: each is evaluated for each member of the one
    /// around it.
    let deepest: Int

    /// Creates a generator of conditions of a sample, or of a box.
    init(_ random: SeededGenerator, _ world: QueryWorld, ofSamples: Bool) {
        self.random = random
        let count = world.sampleIDs.count
        deepest = count > 1_000 ? 1 : count > 100 ? 2 : 3
        // Ids of missing objects.
        let none = ObjectID(high: 7, low: 7)
        sampleIDs = .reference(world.sampleIDs.suffix(12) + world.sampleIDs.prefix(12) + [none])
        boxIDs = .reference(world.boxIDs + [none])
        sampleCount = ofSamples ? 1 : 0
        boxCount = ofSamples ? 0 : 1
        if ofSamples {
            samples = [QuerySubject(node: .root) { $0.samples[0] }]
        } else {
            boxes = [QuerySubject(node: .root) { $0.boxes[0] }]
        }
    }

    mutating func condition() -> QueryClause {
        depth += 1
        defer { depth -= 1 }
        if depth > 3 || random.chance(2) { return leaf() }
        let count = random.chance(4) ? 3 : 2
        return switch Int.random(in: 0..<5, using: &random) {
        case 0, 1: .all((0..<count).map { _ in condition() })
        case 2, 3: .any((0..<count).map { _ in condition() })
        default: .not(condition())
        }
    }

    private mutating func leaf() -> QueryClause {
        switch Int.random(in: 0..<24, using: &random) {
        case 0: random.chance(2) ? .all([]) : .any([])
        case 1...3 where sampleCount + boxCount <= deepest: members()
        case 4,
            5 where partCount < 2:
            elements()
        case 6: secret()
        default:
            // The planner combines several conditions on one value.
            term().clauses(random.chance(4) ? 2 : 1, &self)
        }
    }

    // MARK: Objects

    /// Returns one of the objects of a kind, or one that another refers to; nil if there is none.
    mutating func sample() -> QuerySubject<Sample>? {
        guard let sample = samples.randomElement(using: &random) else { return nil }
        if !random.chance(5) { return sample }
        return random.chance(3) ? sample.next.next : sample.next
    }

    mutating func box() -> QuerySubject<Box>? {
        let sample = random.chance(boxes.isEmpty ? 1 : 2) ? self.sample() : nil
        guard let box = sample?.box ?? boxes.randomElement(using: &random) else { return nil }
        return random.chance(4) ? box.parent : box
    }

    // MARK: Terms

    /// Returns a value of an object.
    mutating func term() -> any AnyQueryTerm {
        if !parts.isEmpty, random.chance(2), let part = parts.randomElement(using: &random) {
            return term(of: part)
        }
        if random.chance(40), let aggregate = aggregate() { return aggregate }
        if samples.isEmpty || random.chance(5), let box = self.box() { return term(of: box) }
        guard let sample = self.sample() else { return constant }
        return random.chance(8) ? arithmetic(of: sample) : term(of: sample)
    }

    /// Returns the values of a sample that an index contains in this order; nil for a box.
    mutating func termsOfAnIndex() -> [any AnyQueryTerm]? {
        guard let sample = samples.first, sample.node == .root else { return nil }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return [sample.term(0, .truth) { $0.flag }, sample.term(1, .integer) { $0.number }]
        case 1:
            return [
                sample.term(15, .truth) { $0.mark }, sample.term(8, .text) { $0.text },
                sample.term(1, .integer) { $0.number },
            ]
        case 2:
            return [sample.term(6, .decimal) { $0.price }, sample.term(16, .real) { $0.weight }]
        case 3: return [sample.term(8, .text) { $0.text }, sample.term(17, .key) { $0.key }]
        case 4:
            return [
                sample.term(4, .float) { $0.ratio }, sample.term(7, .date) { $0.date },
                sample.term(3, .natural) { $0.whole },
            ]
        default: return [sample.term(14, .texts) { $0.tags }, sample.term(2, .small) { $0.small }]
        }
    }

    /// Returns a condition of a sealed number of a sample.
    private mutating func secret() -> QueryClause {
        guard let sample = self.sample() else { return .any([]) }
        let (number, box) = (random.pick(SecretNumber.numbers), random.pick(boxIDs.pool))
        return QueryClause(.sealed(sample.node, slot: 22, SecretNumber.match(number, of: box))) {
            guard let tested = sample.find($0), let secret = tested.secret else { return false }
            return secret.number == number && (secret.owner ?? tested.box) == box
        }
    }

    /// Returns a search for words in the samples that a query is for.
    mutating func search() -> QueryClause {
        let search = WordSearch(&random)
        return QueryClause(search.node) { scope in
            search.finds(heading: scope.samples[0].heading, phrase: scope.samples[0].phrase)
        }
    }

    private var constant: QueryTerm<Bool> {
        QueryTerm(node: .constant(.bool(true)), kind: .truth) { _ in true }
    }

    private mutating func term(of box: QuerySubject<Box>) -> any AnyQueryTerm {
        switch Int.random(in: 0..<8, using: &random) {
        case 0...2: folded(box.term(0, .name) { $0.name })
        case 3, 4: box.term(1, .rank) { $0.rank }
        case 5: box.term(2, boxIDs) { $0.parent }
        case 6: QueryTerm(node: .id(box.node), kind: boxIDs) { box.find($0)?.id }
        default: coalesced(box.term(1, .rank) { $0.rank })
        }
    }

    private mutating func term(of part: QuerySubject<Part>) -> any AnyQueryTerm {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: part.term(0, .integer) { $0.number }
        case 1: part.term(2, .real) { $0.weight }
        case 2: coalesced(part.term(1, .text) { $0.note })
        default: folded(part.term(1, .text) { $0.note })
        }
    }

    private mutating func term(of sample: QuerySubject<Sample>) -> any AnyQueryTerm {
        switch Int.random(in: 0..<34, using: &random) {
        case 30, 31: return sample.term(QuerySchema.boxRank, .rank) { $0.boxRank }
        case 32: return sample.term(26, .rank) { $0.hits }
        case 0: return sample.term(0, .truth) { $0.flag }
        case 1, 2: return sample.term(1, .integer) { $0.number }
        case 3: return sample.term(2, .small) { $0.small }
        case 4: return sample.term(3, .natural) { $0.whole }
        case 5: return sample.term(4, .float) { $0.ratio }
        case 6, 7: return sample.term(5, .real) { $0.real }
        case 8, 9: return sample.term(6, .decimal) { $0.price }
        case 10: return sample.term(7, .date) { $0.date }
        case 11...13: return folded(sample.term(8, .text) { $0.text })
        case 14, 15: return folded(sample.term(9, .text) { $0.note })
        case 16: return sample.term(10, .rank) { $0.size }
        case 17: return sample.term(11, .data) { $0.bytes }
        case 18: return sample.term(12, .uuid) { $0.code }
        case 19: return sample.term(13, .url) { $0.link }
        case 20: return sample.term(14, .texts) { $0.tags }
        case 21: return sample.term(15, .truth) { $0.mark }
        case 22: return sample.term(16, .real) { $0.weight }
        case 23: return sample.term(17, .key) { $0.key }
        case 24: return sample.term(18, boxIDs) { $0.box }
        case 25: return sample.term(19, sampleIDs) { $0.next }
        case 26: return QueryTerm(node: .id(sample.node), kind: sampleIDs) { sample.find($0)?.id }
        case 28: return sample.term(21, .large) { $0.file }
        case 27: return coalesced(folded(sample.term(9, .text) { $0.note }))
        default: return coalesced(sample.term(16, .real) { $0.weight })
        }
    }

    private mutating func folded(_ term: QueryTerm<String>) -> QueryTerm<String> {
        if !random.chance(3) { return term }
        return term.folded(TextFolding(rawValue: random.pick([1, 2, 3])))
    }

    private mutating func coalesced<Content: Sendable>(_ term: QueryTerm<Content>) -> QueryTerm<
        Content
    > {
        let other = random.pick(term.kind.pool)
        return QueryTerm(
            node: .coalesced(term.node, .constant(term.kind.value(other))), kind: term.kind
        ) { term.find($0) ?? other }
    }

    // MARK: Members

    private mutating func members() -> QueryClause {
        let test = random.pick([QueryNode.MemberTest.any, .any, .all, .count])
        lastScope += 1
        if let box = random.chance(3) || samples.isEmpty ? self.box() : nil {
            let relationship = random.pick([0, 1])
            let members = QueryMembers(
                owner: box.node, entity: "Box", relationship: relationship, scope: lastScope)
            if relationship == 0 {
                return ofSamples(test, members) { scope in
                    box.find(scope).map { scope.scene.contents($0.id) } ?? []
                }
            }
            return ofBoxes(test, members) { scope in
                box.find(scope).map { scope.scene.children($0.id) } ?? []
            }
        }
        guard let sample = self.sample() else { return .any([]) }
        let relationship = random.pick([0, 1, 2])
        let members = QueryMembers(
            owner: sample.node, entity: "Sample", relationship: relationship, scope: lastScope)
        return ofSamples(test, members) { scope in
            sample.find(scope).map { scope.scene.members($0.id, relationship) } ?? []
        }
    }

    private mutating func ofSamples(
        _ test: QueryNode.MemberTest, _ members: QueryMembers,
        _ find: @escaping (QueryScope) -> [Sample]
    ) -> QueryClause {
        let place = sampleCount
        sampleCount += 1
        let member = QuerySubject<Sample>(node: .member(scope: members.scope)) { $0.samples[place] }
        let inner = inside([member], [])
        sampleCount -= 1
        return clause(test, .members(test, members, inner.node), inner) { scope in
            scope.entering(find(scope), \.samples)
        }
    }

    private mutating func ofBoxes(
        _ test: QueryNode.MemberTest, _ members: QueryMembers,
        _ find: @escaping (QueryScope) -> [Box]
    ) -> QueryClause {
        let place = boxCount
        boxCount += 1
        let member = QuerySubject<Box>(node: .member(scope: members.scope)) { $0.boxes[place] }
        let inner = inside([], [member])
        boxCount -= 1
        return clause(test, .members(test, members, inner.node), inner) { scope in
            scope.entering(find(scope), \.boxes)
        }
    }

    /// Returns a condition of the elements of an array, which may also test the objects around it.
    private mutating func elements() -> QueryClause {
        guard let sample = self.sample() else { return .any([]) }
        let test = random.pick([QueryNode.MemberTest.any, .any, .all, .count])
        lastScope += 1
        let scope = lastScope
        let place = partCount
        let inner = ofParts([QuerySubject<Part>(node: .element(scope: scope)) { $0.parts[place] }])
        let elements = QueryElements(owner: sample.node, slot: 20, scope: scope)
        return clause(test, .elements(test, elements, inner.node), inner) { scope in
            scope.entering(sample.find(scope)?.parts ?? [], \.parts)
        }
    }

    /// Returns a condition of elements, and of the objects around them.
    mutating func ofParts(_ part: [QuerySubject<Part>]) -> QueryClause {
        if random.chance(6) { return .all([]) }
        let around = parts
        partCount += 1
        parts += part
        defer {
            parts = around
            partCount -= 1
        }
        return condition()
    }

    /// Returns a condition of members; often only of them, which an index can answer.
    mutating func inside(
        _ member: [QuerySubject<Sample>], _ box: [QuerySubject<Box>]
    ) -> QueryClause {
        if random.chance(6) { return .all([]) }
        let around = (samples, boxes)
        defer { (samples, boxes) = around }
        (samples, boxes) = random.chance(2) ? (member, box) : (samples + member, boxes + box)
        return condition()
    }

    private mutating func clause(
        _ test: QueryNode.MemberTest, _ node: QueryNode, _ inner: QueryClause,
        _ find: @escaping (QueryScope) -> [QueryScope]
    ) -> QueryClause {
        switch test {
        case .any: return QueryClause(node) { find($0).contains(where: inner.test) }
        case .all: return QueryClause(node) { find($0).allSatisfy(inner.test) }
        case .count, .aggregate:
            let count = QueryTerm(node: node, kind: .rank) { find($0).count(where: inner.test) }
            return count.clauses(1, &self)
        }
    }
}

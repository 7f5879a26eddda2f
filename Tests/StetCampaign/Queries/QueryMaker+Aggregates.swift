import StetStore

// Aggregates of members and elements, as values that conditions, orders and results read.

extension QueryMaker {
    /// Returns an aggregate of a number of members or elements; nil where conditions of members are
    /// nested deeply, or there is no object that has any.
    mutating func aggregate() -> (any AnyQueryTerm)? {
        guard sampleCount + boxCount <= deepest else { return nil }
        lastScope += 1
        let scope = lastScope
        guard let sample = sample() else { return aggregateOfChildren(scope) }
        if random.chance(3), partCount < 2 { return aggregateOfParts(sample, scope) }
        let relationship = random.pick([0, 1, 2])
        let list = QueryMembers(
            owner: sample.node, entity: "Sample", relationship: relationship, scope: scope)
        let place = sampleCount
        let member = QuerySubject<Sample>(node: .member(scope: scope)) { $0.samples[place] }
        sampleCount += 1
        let inner = random.chance(2) ? .all([]) : inside([member], [])
        sampleCount -= 1
        func members(_ around: QueryScope) -> [QueryScope] {
            let found = sample.find(around).map { around.scene.members($0.id, relationship) } ?? []
            return around.entering(found, \.samples).filter(inner.test)
        }
        func node(_ test: QueryNode.MemberTest) -> QueryNode { .members(test, list, inner.node) }
        return random.chance(2)
            ? aggregate(of: member.term(1, .integer) { $0.number }, node, members)
            : aggregate(
                of: member.term(2, .small) { $0.small }, within: -128...127, node, members)
    }

    private mutating func aggregateOfChildren(_ scope: Int) -> (any AnyQueryTerm)? {
        guard let box = box() else { return nil }
        let members = QueryMembers(owner: box.node, entity: "Box", relationship: 1, scope: scope)
        let place = boxCount
        let member = QuerySubject<Box>(node: .member(scope: scope)) { $0.boxes[place] }
        boxCount += 1
        let inner = random.chance(2) ? .all([]) : inside([], [member])
        boxCount -= 1
        func children(_ around: QueryScope) -> [QueryScope] {
            let found = box.find(around).map { around.scene.children($0.id) } ?? []
            return around.entering(found, \.boxes).filter(inner.test)
        }
        let rank = member.term(1, .rank) { $0.rank }
        return aggregate(of: rank, { .members($0, members, inner.node) }, children)
    }

    private mutating func aggregateOfParts(
        _ sample: QuerySubject<Sample>, _ scope: Int
    ) -> any AnyQueryTerm {
        let elements = QueryElements(owner: sample.node, slot: 20, scope: scope)
        let place = partCount
        let part = QuerySubject<Part>(node: .element(scope: scope)) { $0.parts[place] }
        let inner = ofParts([part])
        func parts(_ around: QueryScope) -> [QueryScope] {
            around.entering(sample.find(around)?.parts ?? [], \.parts).filter(inner.test)
        }
        let number = part.term(0, .integer) { $0.number }
        return aggregate(of: number, { .elements($0, elements, inner.node) }, parts)
    }

    /// Returns an aggregate of numbers whose sums have no value outside of a range.
    private mutating func aggregate(
        of value: QueryTerm<Int>, within range: ClosedRange<Int> = .min ... .max,
        _ node: (QueryNode.MemberTest) -> QueryNode,
        _ scopes: @escaping (QueryScope) -> [QueryScope]
    ) -> any AnyQueryTerm {
        func numbers(_ scope: QueryScope) -> [Int] { scopes(scope).compactMap(value.find) }
        func sum(_ numbers: [Int]) -> Int128 { numbers.reduce(0) { $0 + Int128($1) } }
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            return QueryTerm(node: node(.aggregate(.sum, value.node)), kind: value.kind) {
                Int(exactly: sum(numbers($0))).flatMap { range.contains($0) ? $0 : nil }
            }
        case 1:
            return QueryTerm(node: node(.aggregate(.least, value.node)), kind: value.kind) {
                numbers($0).min()
            }
        case 2:
            return QueryTerm(node: node(.aggregate(.greatest, value.node)), kind: value.kind) {
                numbers($0).max()
            }
        default:
            return QueryTerm(node: node(.aggregate(.average, value.node)), kind: .real) {
                let numbers = numbers($0)
                return numbers.isEmpty ? nil : Double(sum(numbers)) / Double(numbers.count)
            }
        }
    }
}

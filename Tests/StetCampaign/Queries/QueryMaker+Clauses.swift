import Foundation
import StetStore
import StetTestSupport

/// A term of any type.
protocol AnyQueryTerm {
    var node: QueryNode { get }
    /// False if queries compare such values for equality only.
    var isComparable: Bool { get }
    func value(_ scope: QueryScope) -> Value
    func order(_ one: QueryScope, _ other: QueryScope) -> Int
    /// Returns `count` conditions of the value, of which all or any must be satisfied.
    func clauses(_ count: Int, _ maker: inout QueryMaker) -> QueryClause
}

extension QuerySubject {
    /// Returns the value of a property.
    func term<Content: Sendable>(
        _ slot: Slot, _ kind: ValueKind<Content>, _ content: @escaping (Object) -> Content?
    ) -> QueryTerm<Content> {
        QueryTerm(node: .property(node, slot: slot), kind: kind) { [find] in
            find($0).flatMap(content)
        }
    }
}

extension QueryTerm: AnyQueryTerm {
    var isComparable: Bool { kind.isComparable }

    func clauses(_ count: Int, _ maker: inout QueryMaker) -> QueryClause {
        if count == 1 { return clause(&maker) }
        let parts = (0..<count).map { _ in clause(&maker) }
        return maker.random.chance(2) ? .all(parts) : .any(parts)
    }

    private func clause(_ maker: inout QueryMaker) -> QueryClause {
        if let text = self as? QueryTerm<String>, maker.random.chance(2) {
            return text.search(&maker)
        }
        if let truth = self as? QueryTerm<Bool>, maker.random.chance(2) {
            let clause = QueryClause(node) { truth.find($0) == true }
            return maker.random.chance(2) ? clause : .not(clause)
        }
        switch Int.random(in: 0..<10, using: &maker.random) {
        case 0: return isNull(&maker)
        case 1, 2: return isIn(&maker)
        default: break
        }
        // Only terms of the same type can be compared.
        if maker.random.chance(8), let other = maker.term() as? Self {
            return comparison(other, &maker)
        }
        let content = maker.random.pick(kind.pool)
        let constant = Self(node: .constant(kind.value(content)), kind: kind) { _ in content }
        return maker.random.chance(4)
            ? constant.comparison(self, &maker) : comparison(constant, &maker)
    }

    private func isNull(_ maker: inout QueryMaker) -> QueryClause {
        let clause =
            maker.random.chance(2)
            ? QueryClause(.comparison(.equal, node, .constant(.null))) { find($0) == nil }
            : QueryClause(.comparison(.notEqual, .constant(.null), node)) { find($0) != nil }
        return maker.random.chance(3) ? .not(clause) : clause
    }

    private func isIn(_ maker: inout QueryMaker) -> QueryClause {
        let contents = (0..<maker.random.pick([0, 1, 2, 3, 6])).map { _ in
            maker.random.pick(kind.pool)
        }
        let hasNull = maker.random.chance(5)
        let values = contents.map(kind.value) + (hasNull ? [.null] : [])
        let others = contents.map { kind.folded($0, folding) }
        return QueryClause(.isIn(node, values)) { scope in
            guard let content = find(scope) else { return hasNull }
            return others.contains { kind.isEqual(content, $0) }
        }
    }

    private func comparison(_ other: Self, _ maker: inout QueryMaker) -> QueryClause {
        let comparisons: [QueryNode.Comparison] =
            [.equal, .notEqual] + (kind.isComparable ? [.less, .lessOrEqual, .greater] : [])
            + (kind.isComparable ? [.greaterOrEqual] : [])
        let comparison = maker.random.pick(comparisons)
        let both = folding.union(other.folding)
        let (left, right) = (compared(both), other.compared(both))
        return QueryClause(.comparison(comparison, node, other.node)) { scope in
            holds(comparison, left(scope), right(scope))
        }
    }

    private func holds(
        _ comparison: QueryNode.Comparison, _ left: Content?, _ right: Content?
    ) -> Bool {
        guard let left, let right else {
            return switch comparison {
            case .equal: left == nil && right == nil
            case .notEqual: left != nil || right != nil
            default: false
            }
        }
        return switch comparison {
        case .equal: kind.isEqual(left, right)
        case .notEqual: !kind.isEqual(left, right)
        case .less: kind.isLess(left, right)
        case .lessOrEqual: kind.isLess(left, right) || kind.isEqual(left, right)
        case .greater: kind.isLess(right, left)
        case .greaterOrEqual: kind.isLess(right, left) || kind.isEqual(left, right)
        }
    }
}

extension QueryTerm<String> {
    fileprivate func search(_ maker: inout QueryMaker) -> QueryClause {
        let search = maker.random.pick([QueryNode.TextSearch.prefix, .suffix, .anywhere])
        if maker.random.chance(8), let other = maker.term() as? Self {
            return self.search(search, other)
        }
        var part = maker.random.pick(kind.pool)
        if maker.random.chance(3) { part = String(part.prefix(2)) }
        return self.search(
            search, QueryTerm(node: .constant(.string(part)), kind: kind) { _ in part })
    }

    private func search(_ search: QueryNode.TextSearch, _ part: Self) -> QueryClause {
        let both = folding.union(part.folding)
        let (whole, sought) = (compared(both), part.compared(both))
        return QueryClause(.text(search, node, part.node)) { scope in
            guard let text = whole(scope), let part = sought(scope) else { return false }
            return ReferenceText.finds(search, part, in: text)
        }
    }
}

// MARK: - Numbers

extension QueryMaker {
    mutating func arithmetic(of sample: QuerySubject<Sample>) -> any AnyQueryTerm {
        let operations: [QueryNode.Arithmetic] = [.add, .subtract, .multiply, .divide, .remainder]
        let operation = random.pick(operations)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return made(operation, sample.term(1, .integer) { $0.number }, whole(operation))
        case 1: return made(operation, sample.term(10, .rank) { $0.size }, whole(operation))
        case 2: return made(operation, sample.term(3, .natural) { $0.whole }, whole(operation))
        case 3: return made(operation, sample.term(16, .real) { $0.weight }, real(operation))
        default:
            return made(
                random.pick(operations.dropLast()), sample.term(6, .decimal) { $0.price })
        }
    }

    /// Combines a term with a constant at either side, or with itself.
    private mutating func made<Content: Sendable>(
        _ operation: QueryNode.Arithmetic, _ term: QueryTerm<Content>,
        _ result: @escaping (Content, Content) -> Content?
    ) -> QueryTerm<Content> {
        let content = random.pick(term.kind.pool)
        let constant = QueryTerm(
            node: .constant(term.kind.value(content)), kind: term.kind
        ) { _ in content }
        var sides = [term, random.chance(5) ? term : constant]
        if random.chance(3) { sides.reverse() }
        let (left, right) = (sides[0], sides[1])
        return QueryTerm(node: .arithmetic(operation, left.node, right.node), kind: term.kind) {
            guard let left = left.find($0), let right = right.find($0) else { return nil }
            return result(left, right)
        }
    }

    private mutating func made(
        _ operation: QueryNode.Arithmetic, _ term: QueryTerm<Decimal>
    ) -> QueryTerm<Decimal> {
        made(operation, term) { left, right in
            if left.isNaN || right.isNaN { return .nan }
            let result: Decimal? =
                switch operation {
                case .add: left + right
                case .subtract: left - right
                case .multiply: left * right
                default: right == 0 ? nil : left / right
                }
            // An overflow gives no value.
            return result.flatMap { $0.isNaN ? nil : $0 }
        }
    }

    private func whole<Number: FixedWidthInteger>(
        _ operation: QueryNode.Arithmetic
    ) -> (Number, Number) -> Number? {
        { left, right in
            // Computes exactly with twice the bits, then checks the range.
            let (one, other) = (Int128(left), Int128(right))
            if other == 0, operation == .divide || operation == .remainder { return nil }
            let (exact, overflows): (Int128, Bool) =
                switch operation {
                case .add: (one + other, false)
                case .subtract: (one - other, false)
                case .multiply: one.multipliedReportingOverflow(by: other)
                case .divide: (one / other, false)
                case .remainder: (one % other, Number(exactly: one / other) == nil)
                }
            return overflows ? nil : Number(exactly: exact)
        }
    }

    private func real(_ operation: QueryNode.Arithmetic) -> (Double, Double) -> Double? {
        { left, right in
            switch operation {
            case .add: left + right
            case .subtract: left - right
            case .multiply: left * right
            case .divide: left / right
            case .remainder: left.truncatingRemainder(dividingBy: right)
            }
        }
    }
}

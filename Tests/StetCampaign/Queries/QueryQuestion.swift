import Foundation
import StetStore
import StetTestSupport

/// A query, and the closures that compute its result.
struct QueryQuestion {
    /// An object to which the query applies.
    struct Candidate {
        let id: ObjectID
        let scope: QueryScope
    }

    struct Key {
        let term: any AnyQueryTerm
        let isDescending: Bool
    }

    let entity: EntityNumber
    var clause: QueryClause
    var order: [Key]
    var limit: Int?
    var offset: Int
    /// The object after which the page begins, with its body.
    var after: (candidate: Candidate, body: [UInt8])?
    /// The value that is computed for each object in the result.
    let value: any AnyQueryTerm

    init(_ maker: inout QueryMaker, _ entity: EntityNumber) {
        self.entity = entity
        clause = maker.condition()
        order = (0..<maker.random.pick([0, 1, 1, 2])).map { _ in
            Key(term: maker.term(), isDescending: maker.random.chance(2))
        }
        // An index can provide this order without another seek: all keys in one direction.
        if maker.random.chance(2), let first = order.first {
            order = order.map { Key(term: $0.term, isDescending: first.isDescending) }
        }
        if maker.random.chance(4), let terms = maker.termsOfAnIndex() {
            order = terms.map { Key(term: $0, isDescending: maker.random.chance(2)) }
        }
        limit = maker.random.pick([nil, nil, 0, 1, 3, 8, 20, 200, .max])
        offset = maker.random.pick([0, 0, 0, 1, 5, 30])
        value = maker.term()
        if maker.random.chance(3) {
            // An index of one property may contain everything that is read.
            clause = value.clauses(maker.random.pick([1, 2]), &maker)
            order = order.prefix(1).map { Key(term: value, isDescending: $0.isDescending) }
        }
        if entity == QuerySchema.sample, maker.random.chance(6) {
            clause = .all(maker.random.chance(3) ? [maker.search()] : [clause, maker.search()])
        }
    }

    /// The query without its page.
    var plain: StoreQuery {
        var query = StoreQuery(entity: entity)
        query.condition = clause.node
        return query
    }

    var query: StoreQuery {
        var query = plain
        query.order = order.map { QueryOrder($0.term.node, isDescending: $0.isDescending) }
        query.limit = limit
        query.offset = offset
        query.after = after.map { StoreQuery.Position(id: $0.candidate.id, body: $0.body) }
        return query
    }

    /// The questions that have one part less.
    var simpler: [Self] {
        func changed(_ change: (inout Self) -> Void) -> Self {
            var simpler = self
            change(&simpler)
            return simpler
        }
        var found: [Self] = []
        if after != nil { found.append(changed { $0.after = nil }) }
        if limit != nil { found.append(changed { $0.limit = nil }) }
        if offset != 0 { found.append(changed { $0.offset = 0 }) }
        for place in order.indices { found.append(changed { $0.order.remove(at: place) }) }
        return found + clause.simpler.map { clause in changed { $0.clause = clause } }
    }

    // MARK: The answer

    /// The result of the closures.
    struct Answer {
        /// The ids in ascending order.
        let matching: [ObjectID]
        let page: [ObjectID]
        /// The value of each object of the page.
        let values: [Value]
        /// The keys of the least and of the greatest value of all that match; nil where these
        /// are compared for equality only.
        let ends: [[UInt8]?]?
    }

    /// Returns the result of the closures for `candidates`, which are in ascending order of id.
    func answer(_ candidates: [Candidate]) -> Answer {
        let matching = candidates.filter { clause.test($0.scope) }
        var rest = matching
        if let (after, _) = after { rest.removeAll { !precedes(after, $0) } }
        if !order.isEmpty { rest.sort(by: precedes) }
        let page = rest.dropFirst(offset).prefix(limit ?? .max)
        return Answer(
            matching: matching.map(\.id), page: page.map(\.id),
            values: page.map { value.value($0.scope) },
            ends: value.isComparable ? ends(matching.map(\.scope)) : nil)
    }

    private func ends(_ scopes: [QueryScope]) -> [[UInt8]?] {
        let counted = scopes.filter { scope in
            switch value.value(scope) {
            case .null: false
            case .double(let number): !number.isNaN
            case .float(let number): !number.isNaN
            case .decimal(let number): !number.isNaN
            case .date(let date): !date.timeIntervalSinceReferenceDate.isNaN
            default: true
            }
        }
        let least = counted.min { value.order($0, $1) < 0 }
        let greatest = counted.max { value.order($0, $1) < 0 }
        return [least, greatest].map { key($0.map(value.value)) }
    }

    /// Returns the bytes that are equal for equal values.
    private func key(_ value: Value?) -> [UInt8]? {
        value.flatMap { OrderedKey([$0], byteLimit: .max)?.bytes }
    }

    private func precedes(_ one: Candidate, _ other: Candidate) -> Bool {
        for key in order {
            let order = key.term.order(one.scope, other.scope)
            if order != 0 { return key.isDescending ? order > 0 : order < 0 }
        }
        return order.last?.isDescending ?? false ? one.id > other.id : one.id < other.id
    }

    /// Returns a description of the difference between the engine and the closures; nil if there is
    /// none.
    func difference(_ state: QueryState, _ answer: Answer) throws -> String? {
        let plain = try QueryRun(state, plain)
        let paged = try QueryRun(state, query)
        var matching: [ObjectID] = []
        try plain.forEachMatch { row in
            matching.append(row.id)
            return true
        }
        var values: [Value] = []
        try paged.forEachValue(value.node) { value in
            values.append(value)
            return true
        }
        let ends = try [true, false].map { isLeast in
            key(try plain.extreme(value.node, isLeast: isLeast))
        }
        return try compare("matches", matching.sorted(), answer.matching)
            ?? compare("count of matches", plain.count(), answer.matching.count)
            ?? compare("rows", paged.rows().map(\.id), answer.page)
            ?? compare("count", paged.count(), answer.page.count)
            ?? compare("values", counts(values), counts(answer.values))
            ?? answer.ends.flatMap { compare("least and greatest value", ends, $0) }
    }

    private func compare<Found: Equatable>(
        _ what: String, _ found: Found, _ expected: Found
    ) -> String? {
        if found == expected { return nil }
        let texts = [found, expected].map { "\($0)".prefix(800) }
        return "\(what): found \(texts[0]), expected \(texts[1])"
    }

    /// Returns how often each value occurs; texts with equal characters count as the same value.
    private func counts(_ values: [Value]) -> [Value: Int] {
        values.reduce(into: [:]) { counts, value in
            if case .string(let text) = value {
                counts[.string(text.inNormalFormC), default: 0] += 1
            } else {
                counts[value, default: 0] += 1
            }
        }
    }
}

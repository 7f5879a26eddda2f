/// The members of a relationship, or the elements of an array, and the condition that each is
/// tested with.
protocol TestedList {
    /// Returns the number of those that satisfy the condition where it is known without reading
    /// them; otherwise nil.
    func knownCount(_ frame: inout QueryFrame) throws -> Int?

    /// Calls `body` with whether each satisfies the condition, and the value of it that is asked
    /// for, until it returns false; there are none without an owner.
    func forEach(_ frame: inout QueryFrame, _ body: (Bool, Value) throws -> Bool) throws
}

/// Tests whether any or all members or elements satisfy a condition.
final class ListCondition<List: TestedList>: QueryCondition {
    private let list: List
    private let isAny: Bool

    init(_ list: List, isAny: Bool) {
        self.list = list
        self.isAny = isAny
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        if isAny, let count = try list.knownCount(&frame) { return count > 0 }
        var answer = !isAny
        try list.forEach(&frame) { isMet, _ in
            if isMet == isAny { answer = isAny }
            return answer != isAny
        }
        return answer
    }
}

/// The number of members or elements that satisfy a condition.
final class ListCountOperand<List: TestedList>: QueryOperand {
    private let list: List

    init(_ list: List) { self.list = list }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        if let count = try list.knownCount(&frame) { return .int(count) }
        var count = 0
        try list.forEach(&frame) { isMet, _ in
            if isMet { count += 1 }
            return true
        }
        return .int(count)
    }
}

/// An aggregate of a value of the members or elements that satisfy a condition.
final class ListAggregateOperand<List: TestedList>: QueryOperand {
    private let list: List
    private let aggregate: QueryNode.Aggregate
    /// The type of a sum; nil for the widest one of integers.
    private let type: ValueType?

    init(_ list: List, _ aggregate: QueryNode.Aggregate, _ type: ValueType?) {
        self.list = list
        self.aggregate = aggregate
        self.type = type
    }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        switch aggregate {
        case .sum, .average:
            var sum = QuerySum()
            try forEachValue(&frame) { sum.add($0) }
            return aggregate == .sum
                ? sum.value(as: type) : sum.average.map(Value.double) ?? .null
        case .least, .greatest:
            var extreme = QueryExtreme(aggregate == .least ? .less : .greater)
            try forEachValue(&frame) { extreme.add($0) }
            return extreme.best ?? .null
        }
    }

    private func forEachValue(_ frame: inout QueryFrame, _ body: (Value) -> Void) throws {
        try list.forEach(&frame) { isMet, value in
            if isMet { body(value) }
            return true
        }
    }
}

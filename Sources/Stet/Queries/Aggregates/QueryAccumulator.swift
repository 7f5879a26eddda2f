import FoundationEssentials
import StetStore

/// An aggregate of values from which values can be removed again.
enum QueryAccumulator: Sendable {
    case count(Int)
    case sum(QuerySum)
    case extreme(QueryExtreme)

    mutating func add(_ value: Value) {
        switch self {
        case .count(let count): self = .count(count + 1)
        case .sum(var sum):
            sum.add(value)
            self = .sum(sum)
        case .extreme(var extreme):
            extreme.add(value)
            self = .extreme(extreme)
        }
    }

    /// Replaces values with others, as if it had been made from these; returns false when only all
    /// values together determine the aggregate, which must then be discarded.
    mutating func replace(_ removed: [Value], by added: [Value]) -> Bool {
        switch self {
        case .count(let count):
            self = .count(count - removed.count + added.count)
            return true
        case .sum(var sum):
            guard sum.isExact else { return false }
            for value in removed { sum.remove(value) }
            for value in added { sum.add(value) }
            self = .sum(sum)
            return sum.isExact
        case .extreme(var extreme):
            // Adds first: a removed value then matters only if it is still an extreme.
            for value in added { extreme.add(value) }
            let isKnown = removed.allSatisfy { extreme.remove($0) }
            self = .extreme(extreme)
            return isKnown
        }
    }
}

extension QuerySum {
    /// Returns the sum as a value of its type; 0 for no values.
    ///
    /// - Throws: `QueryError` (`.overflow`) when it does not fit.
    func result<T: NumericValue>() throws -> T {
        if isEmpty { return .zero }
        guard let value, let result = T(_value: value) else { throw QueryError.overflow(T.self) }
        return result
    }

    /// Returns the average; nil for no values.
    ///
    /// - Throws: `QueryError` (`.overflow`) when the sum does not fit `Decimal`.
    func checkedAverage() throws -> Double? {
        if overflows { throw QueryError.overflow(Decimal.self) }
        return average
    }
}

extension QueryExtreme {
    /// Returns the best value; nil for no values.
    func result<T: OrderedValue>() -> T? { best.flatMap { T(_value: $0) } }
}

import FoundationEssentials
import StetStore

/// An aggregate of values from which values can be removed again.
enum QueryAccumulator: Sendable {
    case count(Int)
    case sum(QuerySum)
    case extreme(QueryExtreme)

    mutating func add(_ value: Value) throws {
        switch self {
        case .count(let count): self = .count(count + 1)
        case .sum(var sum):
            try sum.add(value)
            self = .sum(sum)
        case .extreme(var extreme):
            extreme.add(value)
            self = .extreme(extreme)
        }
    }

    /// Replaces values with others, as if it had been made from these; returns false when only all
    /// values together determine the aggregate, which must then be discarded.
    mutating func replace(_ removed: [Value], by added: [Value]) throws -> Bool {
        switch self {
        case .count(let count):
            self = .count(count - removed.count + added.count)
            return true
        case .sum(var sum):
            guard sum.isExact else { return false }
            for value in removed { sum.remove(value) }
            for value in added { try sum.add(value) }
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

/// A sum of values of one type.
struct QuerySum: Sendable {
    private(set) var count = 0
    /// The sum of integers, wide enough for any number of them.
    private var whole: Int128 = 0
    private var real = 0.0
    private var decimal = Decimal.zero
    private var type: ValueType?

    init() {}

    /// False when the order of the values matters, because each addition rounds.
    var isExact: Bool {
        switch type {
        case .double, .float, .decimal: false
        default: true
        }
    }

    mutating func add(_ value: Value) throws {
        switch value {
        case .null: return
        case .int(let number): whole += Int128(number)
        case .uint(let number): whole += Int128(number)
        case .double(let number): real += number
        case .float(let number): real += Double(number)
        case .decimal(let number):
            let sum = decimal + number
            // `Decimal` returns NaN when the sum overflows.
            if sum.isNaN, !decimal.isNaN, !number.isNaN { throw QueryError.overflow(Decimal.self) }
            decimal = sum
        default: return
        }
        type = value.type
        count += 1
    }

    /// Removes a value that was added to an exact sum.
    mutating func remove(_ value: Value) {
        switch value {
        case .int(let number): whole -= Int128(number)
        case .uint(let number): whole -= Int128(number)
        default: return
        }
        count -= 1
    }

    /// Returns the sum as a value of its type; 0 for no values.
    ///
    /// - Throws: `QueryError` (`.overflow`) when it does not fit.
    func result<T: NumericValue>() throws -> T {
        if count == 0 { return .zero }
        guard let value, let result = T(_value: value) else { throw QueryError.overflow(T.self) }
        return result
    }

    /// The average; nil for no values.
    var average: Double? { count == 0 ? nil : double / Double(count) }

    /// The sum; nil when it does not fit its type.
    private var value: Value? {
        switch type {
        case .int: Int(exactly: whole).map(Value.int)
        case .uint: UInt64(exactly: whole).map(Value.uint)
        case .double: .double(real)
        case .float: .float(Float(real))
        case .decimal: .decimal(decimal)
        default: nil
        }
    }

    private var double: Double {
        switch type {
        case .int, .uint: Double(whole)
        case .decimal: Double("\(decimal)") ?? .nan
        default: real
        }
    }
}

/// The least or the greatest of some values.
struct QueryExtreme: Sendable {
    private let comparison: QueryNode.Comparison
    private var best: Value?
    /// The number of values that equal the best one.
    private var bestCount = 0

    /// Creates an aggregate of the least value for `.less`, of the greatest for `.greater`.
    init(_ comparison: QueryNode.Comparison) { self.comparison = comparison }

    mutating func add(_ value: Value) {
        guard counts(value) else { return }
        guard let best, !comparison.holds(value, best) else {
            best = value
            bestCount = 1
            return
        }
        if !comparison.holds(best, value) { bestCount += 1 }
    }

    /// Removes a value that was added; returns false when the best value is no longer known.
    mutating func remove(_ value: Value) -> Bool {
        guard counts(value), let best else { return true }
        if comparison.holds(best, value) { return true }
        bestCount -= 1
        return bestCount > 0
    }

    private func counts(_ value: Value) -> Bool { value != .null && !value.isNaN }

    /// Returns the best value; nil for no values.
    func result<T: OrderedValue>() -> T? { best.flatMap { T(_value: $0) } }
}

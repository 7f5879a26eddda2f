import FoundationEssentials

/// A sum of values of one type.
package struct QuerySum: Sendable {
    private var count = 0
    /// The sum of integers, wide enough for any number of them.
    private var whole: Int128 = 0
    private var real = 0.0
    private var decimal = Decimal.zero
    private var type: ValueType?
    /// True when a sum of decimals was too large.
    package private(set) var overflows = false

    package init() {}

    /// True when no number was added.
    package var isEmpty: Bool { count == 0 }

    /// False when the order of the values matters, because each addition rounds.
    package var isExact: Bool {
        switch type {
        case .double, .float, .decimal: false
        default: true
        }
    }

    /// Adds a number; other values do not count.
    package mutating func add(_ value: Value) {
        switch value {
        case .int(let number): whole += Int128(number)
        case .uint(let number): whole += Int128(number)
        case .double(let number): real += number
        case .float(let number): real += Double(number)
        case .decimal(let number):
            let sum = decimal + number
            // `Decimal` returns NaN when the sum overflows.
            if sum.isNaN, !decimal.isNaN, !number.isNaN { overflows = true }
            decimal = sum
        default: return
        }
        type = value.type
        count += 1
    }

    /// Removes a value that was added to an exact sum.
    package mutating func remove(_ value: Value) {
        switch value {
        case .int(let number): whole -= Int128(number)
        case .uint(let number): whole -= Int128(number)
        default: return
        }
        count -= 1
    }

    /// The sum; nil when it does not fit the widest type of its kind, and for no numbers.
    package var value: Value? {
        if overflows { return nil }
        return switch type {
        case .int: Int(exactly: whole).map(Value.int)
        case .uint: UInt64(exactly: whole).map(Value.uint)
        case .double: .double(real)
        case .float: .float(Float(real))
        case .decimal: .decimal(decimal)
        default: nil
        }
    }

    /// Returns the sum of numbers of a type, 0 for none; `.null` when it does not fit.
    func value(as type: ValueType?) -> Value {
        func int<Number: FixedWidthInteger>(_: Number.Type) -> Value {
            Number(exactly: whole).map { .int(Int($0)) } ?? .null
        }
        func uint<Number: FixedWidthInteger>(_: Number.Type) -> Value {
            Number(exactly: whole).map { .uint(UInt64($0)) } ?? .null
        }
        return switch type {
        case .int8: int(Int8.self)
        case .int16: int(Int16.self)
        case .int32: int(Int32.self)
        case .uint8: uint(UInt8.self)
        case .uint16: uint(UInt16.self)
        case .uint32: uint(UInt32.self)
        case .uint: uint(UInt64.self)
        case .double: .double(real)
        case .float: .float(Float(real))
        case .decimal: overflows ? .null : .decimal(decimal)
        default: int(Int.self)
        }
    }

    /// The average; nil for no numbers.
    package var average: Double? { count == 0 ? nil : double / Double(count) }

    private var double: Double {
        switch type {
        case .int, .uint: Double(whole)
        case .decimal: Double("\(decimal)") ?? .nan
        default: real
        }
    }
}

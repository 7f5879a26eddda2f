import FoundationEssentials

// The operands of a compiled query.

final class ConstantOperand: QueryOperand {
    let constant: Value

    init(_ constant: Value) { self.constant = constant }

    override func value(_ frame: inout QueryFrame) -> Value { constant }
}

final class PropertyOperand: QueryOperand {
    let place: QueryPlace
    let slot: Slot
    let type: ValueType
    let property: Property

    init(_ place: QueryPlace, slot: Slot, _ property: Property) {
        self.place = place
        self.slot = slot
        self.property = property
        type = property.type
    }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        guard let row = try place.row(&frame) else { return .null }
        return try property.value(try row.cell(slot, type))
    }

    override func appendKey(_ frame: inout QueryFrame, to bytes: inout [UInt8]) throws {
        let cell = try place.row(&frame)?.cell(slot, type)
        try OrderedKey.append(cell ?? nil, type, [], to: &bytes)
    }
}

final class IDOperand: QueryOperand {
    let place: QueryPlace

    init(_ place: QueryPlace) { self.place = place }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        try place.row(&frame).map { .reference($0.id) } ?? .null
    }
}

final class FoldedOperand: QueryOperand {
    let operand: QueryOperand
    let folding: TextFolding

    init(_ operand: QueryOperand, _ folding: TextFolding) {
        self.operand = operand
        self.folding = folding
    }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        try operand.value(&frame).folded(folding)
    }
}

final class CoalescedOperand: QueryOperand {
    let first: QueryOperand
    let second: QueryOperand

    init(_ first: QueryOperand, _ second: QueryOperand) {
        self.first = first
        self.second = second
    }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        let value = try first.value(&frame)
        return value == .null ? try second.value(&frame) : value
    }
}

/// A condition whose result is a value.
final class ConditionOperand: QueryOperand {
    let condition: QueryCondition

    init(_ condition: QueryCondition) { self.condition = condition }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        .bool(try condition.test(&frame))
    }
}

/// An operation on numbers of one type, or a concatenation of text; a result that does not fit the
/// type is nil.
final class ArithmeticOperand: QueryOperand {
    let operation: QueryNode.Arithmetic
    let type: ValueType?
    let left: QueryOperand
    let right: QueryOperand

    init(
        _ operation: QueryNode.Arithmetic, _ type: ValueType?, _ left: QueryOperand,
        _ right: QueryOperand
    ) {
        self.operation = operation
        self.type = type
        self.left = left
        self.right = right
    }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        switch (try left.value(&frame), try right.value(&frame)) {
        case (.int(let left), .int(let right)):
            switch type {
            case .int8: whole(left, right, as: Int8.self).map { .int(Int($0)) } ?? .null
            case .int16: whole(left, right, as: Int16.self).map { .int(Int($0)) } ?? .null
            case .int32: whole(left, right, as: Int32.self).map { .int(Int($0)) } ?? .null
            default: whole(left, right, as: Int.self).map(Value.int) ?? .null
            }
        case (.uint(let left), .uint(let right)):
            switch type {
            case .uint8: whole(left, right, as: UInt8.self).map { .uint(UInt64($0)) } ?? .null
            case .uint16: whole(left, right, as: UInt16.self).map { .uint(UInt64($0)) } ?? .null
            case .uint32: whole(left, right, as: UInt32.self).map { .uint(UInt64($0)) } ?? .null
            default: whole(left, right, as: UInt64.self).map(Value.uint) ?? .null
            }
        case (.double(let left), .double(let right)): .double(real(left, right))
        case (.float(let left), .float(let right)): .float(real(left, right))
        case (.decimal(let left), .decimal(let right)):
            decimal(left, right).map(Value.decimal) ?? .null
        case (.string(let left), .string(let right)) where operation == .add:
            .string(left + right)
        default: .null
        }
    }

    /// Returns the result; nil when it does not fit.
    private func whole<Operand: FixedWidthInteger, Number: FixedWidthInteger>(
        _ left: Operand, _ right: Operand, as type: Number.Type
    ) -> Number? {
        guard let left = Number(exactly: left), let right = Number(exactly: right) else {
            return nil
        }
        let (result, overflows) =
            switch operation {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            case .multiply: left.multipliedReportingOverflow(by: right)
            case .divide: left.dividedReportingOverflow(by: right)
            case .remainder: left.remainderReportingOverflow(dividingBy: right)
            }
        return overflows ? nil : result
    }

    private func real<Number: BinaryFloatingPoint>(_ left: Number, _ right: Number) -> Number {
        switch operation {
        case .add: left + right
        case .subtract: left - right
        case .multiply: left * right
        case .divide: left / right
        case .remainder: left.truncatingRemainder(dividingBy: right)
        }
    }

    /// Returns the result; nil when it does not fit, which `Decimal` represents as NaN.
    private func decimal(_ left: Decimal, _ right: Decimal) -> Decimal? {
        if left.isNaN || right.isNaN { return .nan }
        let result: Decimal? =
            switch operation {
            case .add: left + right
            case .subtract: left - right
            case .multiply: left.multiplied(by: right)
            case .divide: right == 0 ? nil : left / right
            case .remainder: nil
            }
        return result.flatMap { $0.isNaN ? nil : $0 }
    }
}

extension Decimal {
    /// Returns the product; nil where `*` would trap, because no `Decimal` has the sum of the
    /// exponents.
    fileprivate func multiplied(by other: Decimal) -> Decimal? {
        if self == 0 || other == 0 { return 0 }
        return Int8(exactly: exponent + other.exponent) == nil ? nil : self * other
    }
}

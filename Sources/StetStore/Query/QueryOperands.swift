import FoundationEssentials

// The parts of a compiled query that have values.

final class ConstantOperand: QueryOperand {
    let constant: Value

    init(_ constant: Value) { self.constant = constant }

    override func value(_ frame: inout QueryFrame) -> Value { constant }
}

final class PropertyOperand: QueryOperand {
    let place: QueryPlace
    let slot: Int
    let type: ValueType

    init(_ place: QueryPlace, slot: Int, type: ValueType) {
        self.place = place
        self.slot = slot
        self.type = type
    }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        guard let row = try place.row(&frame) else { return .null }
        return try Value(try row.cell(slot, type), type: type)
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

/// A condition whose answer is a value.
final class ConditionOperand: QueryOperand {
    let condition: QueryCondition

    init(_ condition: QueryCondition) { self.condition = condition }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        .bool(try condition.test(&frame))
    }
}

final class ArithmeticOperand: QueryOperand {
    let operation: QueryNode.Arithmetic
    let left: QueryOperand
    let right: QueryOperand

    init(_ operation: QueryNode.Arithmetic, _ left: QueryOperand, _ right: QueryOperand) {
        self.operation = operation
        self.left = left
        self.right = right
    }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        switch (try left.value(&frame), try right.value(&frame)) {
        case (.int(let left), .int(let right)): whole(left, right).map(Value.int) ?? .null
        case (.uint(let left), .uint(let right)): whole(left, right).map(Value.uint) ?? .null
        case (.double(let left), .double(let right)): .double(real(left, right))
        case (.float(let left), .float(let right)): .float(real(left, right))
        case (.decimal(let left), .decimal(let right)): decimal(left, right)
        default: .null
        }
    }

    /// Nil when the result does not fit.
    private func whole<Number: FixedWidthInteger>(_ left: Number, _ right: Number) -> Number? {
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

    private func decimal(_ left: Decimal, _ right: Decimal) -> Value {
        if left.isNaN || right.isNaN { return .decimal(.nan) }
        switch operation {
        case .add: return .decimal(left + right)
        case .subtract: return .decimal(left - right)
        case .multiply: return .decimal(left * right)
        case .divide: return right == 0 ? .null : .decimal(left / right)
        case .remainder: return .null
        }
    }
}

/// How many members meet a condition.
final class MemberCountOperand: QueryOperand {
    let members: MemberConditions

    init(_ members: MemberConditions) { self.members = members }

    override func value(_ frame: inout QueryFrame) throws -> Value {
        var count = 0
        try members.forEach(&frame) { isMet in
            if isMet { count += 1 }
            return true
        }
        return .int(count)
    }
}

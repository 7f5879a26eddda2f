import FoundationEssentials

// The conditions of a compiled query. Comparisons of a property of the object with a constant work
// on the stored bytes.

final class AllCondition: QueryCondition {
    let conditions: [QueryCondition]

    init(_ conditions: [QueryCondition]) { self.conditions = conditions }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        for condition in conditions where try !condition.test(&frame) { return false }
        return true
    }
}

final class AnyCondition: QueryCondition {
    let conditions: [QueryCondition]

    init(_ conditions: [QueryCondition]) { self.conditions = conditions }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        for condition in conditions where try condition.test(&frame) { return true }
        return false
    }
}

final class NotCondition: QueryCondition {
    let condition: QueryCondition

    init(_ condition: QueryCondition) { self.condition = condition }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        try !condition.test(&frame)
    }
}

/// Tests whether a property has no value, or has one.
final class NullCondition: QueryCondition {
    let slot: Slot
    let isNull: Bool

    init(slot: Slot, isNull: Bool) {
        self.slot = slot
        self.isNull = isNull
    }

    override func test(_ frame: inout QueryFrame) -> Bool {
        frame.root.reader.isNull(slot: slot) == isNull
    }
}

/// Compares the word of a property, read as a number, with a constant.
final class NumberCondition<Number: Comparable>: QueryCondition {
    let slot: Slot
    let comparison: QueryNode.Comparison
    let constant: Number
    let number: (UInt64) -> Number

    init(
        slot: Slot, _ comparison: QueryNode.Comparison, _ constant: Number,
        _ number: @escaping (UInt64) -> Number
    ) {
        self.slot = slot
        self.comparison = comparison
        self.constant = constant
        self.number = number
    }

    override func test(_ frame: inout QueryFrame) -> Bool {
        if frame.root.reader.isNull(slot: slot) { return comparison == .notEqual }
        return comparison.holds(number(frame.root.reader.word(slot: slot)), constant)
    }
}

/// Compares the id in a property with a constant.
final class IdentityCondition: QueryCondition {
    let slot: Slot
    let id: ObjectID
    let isEqual: Bool

    init(slot: Slot, _ id: ObjectID, isEqual: Bool) {
        self.slot = slot
        self.id = id
        self.isEqual = isEqual
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        (try frame.root.reference(slot) == id) == isEqual
    }
}

/// Compares the text of a property with a constant.
final class TextCondition: QueryCondition {
    let slot: Slot
    let comparison: QueryNode.Comparison
    let constant: String
    private let bytes: [UInt8]

    init(slot: Slot, _ comparison: QueryNode.Comparison, _ constant: String) {
        self.slot = slot
        self.comparison = comparison
        self.constant = constant
        bytes = Array(constant.inNormalFormC.utf8)
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        let row = frame.root
        guard case .bytes(let text)? = try row.cell(slot, .string) else {
            return comparison == .notEqual
        }
        guard row.reader.isNormalized(slot: slot) else {
            return comparison.holds(String(decoding: text, as: UTF8.self), constant)
        }
        return bytes.withUnsafeBytes { comparison.holds(text.order(to: $0)) }
    }
}

/// Searches for a constant in the text of a property.
final class TextSearchCondition: QueryCondition {
    let slot: Slot
    let pattern: TextPattern

    init(slot: Slot, _ pattern: TextPattern) {
        self.slot = slot
        self.pattern = pattern
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        let row = frame.root
        guard case .bytes(let text)? = try row.cell(slot, .string) else { return false }
        return pattern.matches(text, isNormalized: row.reader.isNormalized(slot: slot))
    }
}

/// Compares any two values.
final class ValueCondition: QueryCondition {
    let comparison: QueryNode.Comparison
    let left: QueryOperand
    let right: QueryOperand

    init(_ comparison: QueryNode.Comparison, _ left: QueryOperand, _ right: QueryOperand) {
        self.comparison = comparison
        self.left = left
        self.right = right
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        comparison.holds(try left.value(&frame), try right.value(&frame))
    }
}

/// Searches for any text in another.
final class ValueSearchCondition: QueryCondition {
    let search: QueryNode.TextSearch
    let text: QueryOperand
    let part: QueryOperand

    init(_ search: QueryNode.TextSearch, _ text: QueryOperand, _ part: QueryOperand) {
        self.search = search
        self.text = text
        self.part = part
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        guard case .string(let text) = try text.value(&frame),
            case .string(let part) = try part.value(&frame)
        else { return false }
        return TextPattern(search, part).matches(text)
    }
}

/// Tests whether a value is one of several.
final class MembershipCondition: QueryCondition {
    let operand: QueryOperand
    /// The keys of the values; equal values have equal keys.
    private let keys: Set<[UInt8]>
    private let hasNull: Bool
    /// The values with URLs, whose keys may be equal although the values are not.
    private let alike: [Value]
    private var key: [UInt8] = []

    init(_ operand: QueryOperand, _ values: [Value]) {
        self.operand = operand
        hasNull = values.contains(.null)
        alike = values.filter(\.hasURLs)
        keys = Set(
            values.compactMap { $0 == .null || $0.isNaN ? nil : OrderedKey([$0], byteLimit: .max) }
                .map(\.bytes))
    }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        key.removeAll(keepingCapacity: true)
        try operand.appendKey(&frame, to: &key)
        if key == OrderedKey.null { return hasNull }
        guard keys.contains(key) else { return false }
        if alike.isEmpty { return true }
        let value = try operand.value(&frame)
        return alike.contains { $0.isEqual(to: value) }
    }
}

extension Value {
    fileprivate var hasURLs: Bool {
        switch self {
        case .url: true
        case .list(let values): values.contains(where: \.hasURLs)
        default: false
        }
    }
}

/// Tests whether a value is true.
final class TruthCondition: QueryCondition {
    let operand: QueryOperand

    init(_ operand: QueryOperand) { self.operand = operand }

    override func test(_ frame: inout QueryFrame) throws -> Bool {
        try operand.value(&frame) == .bool(true)
    }
}

import Foundation
import StetStore

/// The properties of a type of values, and its comparison in Swift.
struct ValueKind<Content: Sendable>: Sendable {
    let value: @Sendable (Content) -> Value
    let pool: [Content]
    let isEqual: @Sendable (Content, Content) -> Bool
    let isLess: @Sendable (Content, Content) -> Bool
    /// The place in an order of values that are not numbers: below 0 before all others, above 0
    /// after them.
    var rank: @Sendable (Content) -> Int = { _ in 0 }
    var folded: @Sendable (Content, TextFolding) -> Content = { content, _ in content }
    /// False if queries compare such values for equality only.
    var isComparable = true
}

extension ValueKind where Content: Comparable {
    init(_ value: @escaping @Sendable (Content) -> Value, _ pool: [Content]) {
        self.init(value: value, pool: pool, isEqual: { $0 == $1 }, isLess: { $0 < $1 })
    }
}

extension ValueKind where Content: FloatingPoint {
    init(number value: @escaping @Sendable (Content) -> Value, _ pool: [Content]) {
        self.init(value, pool)
        rank = { $0.isNaN ? 1 : 0 }
    }
}

extension ValueKind<Bool> {
    static let truth = ValueKind(
        value: Value.bool, pool: [true, false], isEqual: ==, isLess: { !$0 && $1 })
}

extension ValueKind<Int> {
    static let integer = ValueKind(Value.int, ValuePools.integers)
    static let small = ValueKind(Value.int, ValuePools.smallIntegers)
    static let rank = ValueKind(Value.int, [0, 1, 2, 3])
    static let key = ValueKind(Value.int, Array(1...60))
}

extension ValueKind<UInt64> {
    static let natural = ValueKind(Value.uint, ValuePools.naturals)
}

extension ValueKind<Float> {
    static let float = ValueKind(number: Value.float, ValuePools.floats)
}

extension ValueKind<Double> {
    static let real = ValueKind(number: Value.double, ValuePools.reals)
}

extension ValueKind<Decimal> {
    static let decimal = ValueKind(
        value: Value.decimal, pool: ValuePools.decimals,
        isEqual: { !$0.isNaN && !$1.isNaN && $0 == $1 },
        isLess: { !$0.isNaN && !$1.isNaN && $0 < $1 }, rank: { $0.isNaN ? -1 : 0 })
}

extension ValueKind<Date> {
    static let date = ValueKind(
        value: Value.date, pool: ValuePools.dates,
        isEqual: { $0.timeIntervalSinceReferenceDate == $1.timeIntervalSinceReferenceDate },
        isLess: { $0.timeIntervalSinceReferenceDate < $1.timeIntervalSinceReferenceDate },
        rank: { $0.timeIntervalSinceReferenceDate.isNaN ? 1 : 0 })
}

extension ValueKind<String> {
    private static func text(_ pool: [String]) -> Self {
        var kind = ValueKind(Value.string, pool)
        kind.folded = ReferenceText.folded
        return kind
    }

    static let text = text(ValuePools.texts)
    static let name = text(ValuePools.names)
}

extension ValueKind<Data> {
    static let data = ValueKind(
        value: Value.data, pool: ValuePools.data, isEqual: ==,
        isLess: { $0.lexicographicallyPrecedes($1) })
}

extension ValueKind<Data> {
    /// Large data in its stored form, which queries compare for equality only.
    static let large = ValueKind(
        value: Value.data, pool: ValuePools.largeData, isEqual: ==,
        isLess: { $0.lexicographicallyPrecedes($1) }, isComparable: false)
}

extension ValueKind<UUID> {
    static let uuid = ValueKind(
        value: Value.uuid, pool: ValuePools.uuids, isEqual: ==,
        isLess: { $0.uuidString < $1.uuidString })
}

extension ValueKind<URL> {
    static let url = ValueKind(
        value: Value.url, pool: ValuePools.urls, isEqual: ==,
        isLess: { $0.absoluteString < $1.absoluteString }, isComparable: false)
}

extension ValueKind<[String]> {
    static let texts = ValueKind(
        value: { .list($0.map(Value.string)) }, pool: ValuePools.lists, isEqual: ==,
        isLess: { $0.lexicographicallyPrecedes($1) }, isComparable: false)
}

extension ValueKind<ObjectID> {
    static func reference(_ pool: [ObjectID]) -> ValueKind { ValueKind(Value.reference, pool) }
}

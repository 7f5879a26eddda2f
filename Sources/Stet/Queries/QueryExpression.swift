public import FoundationEssentials
public import StetStore

/// Something that a query computes for each object: the value of a property, what a reference leads
/// to, a sum; of `Bool`, a condition.
///
/// Operators mean what they mean in Swift: nil is equal to nil and neither above nor below
/// anything, NaN is equal to nothing, text is compared as `String` compares it. A number that does
/// not fit its type, and a quotient by 0, is no value.
public struct QueryExpression<Value>: Sendable {
    package let node: QueryNode

    package init(_ node: QueryNode) { self.node = node }
}

/// A value that is less than, equal to or greater than another, in queries too.
public protocol OrderedValue: StoredValue, Comparable {}
extension String: OrderedValue {}
extension ObjectID: OrderedValue {}

/// A number that queries can calculate with.
public protocol NumericValue: RangeBound, Numeric {}
extension Int: NumericValue {}
extension Int8: NumericValue {}
extension Int16: NumericValue {}
extension Int32: NumericValue {}
extension Int64: NumericValue {}
extension UInt: NumericValue {}
extension UInt8: NumericValue {}
extension UInt16: NumericValue {}
extension UInt32: NumericValue {}
extension UInt64: NumericValue {}
extension Float: NumericValue {}
extension Double: NumericValue {}
extension Decimal: NumericValue {}

// MARK: - Conditions

extension QueryExpression where Value == Bool {
    /// The condition that every object meets.
    public static var always: QueryExpression { QueryExpression(.everything) }

    /// Whether both conditions are met.
    public static func && (left: Self, right: Self) -> Self {
        QueryExpression(.both(left.node, right.node))
    }

    /// Whether one of two conditions is met.
    public static func || (left: Self, right: Self) -> Self {
        QueryExpression(.either(left.node, right.node))
    }

    /// Whether a condition is not met.
    public static prefix func ! (condition: Self) -> Self { QueryExpression(.not(condition.node)) }
}

extension QueryExpression {
    fileprivate static func compare(
        _ comparison: QueryNode.Comparison, _ left: QueryNode?, _ right: some StoredValue
    ) -> QueryExpression<Bool> {
        QueryExpression<Bool>(
            .comparison(comparison, left ?? .constant(.null), .constant(right._value)))
    }
}

extension QueryExpression where Value: StoredValue {
    /// Whether it is equal to a value.
    public static func == (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.equal, left.node, right)
    }

    /// Whether two are equal.
    public static func == (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.equal, left.node, right.node))
    }

    /// Whether it is not equal to a value.
    public static func != (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.notEqual, left.node, right)
    }

    /// Whether two are not equal.
    public static func != (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.notEqual, left.node, right.node))
    }
}

extension QueryExpression where Value: OrderedValue {
    /// Whether it is below a value.
    public static func < (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.less, left.node, right)
    }

    /// Whether it is below another.
    public static func < (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.less, left.node, right.node))
    }

    /// Whether it is at or below a value.
    public static func <= (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.lessOrEqual, left.node, right)
    }

    /// Whether it is at or below another.
    public static func <= (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.lessOrEqual, left.node, right.node))
    }

    /// Whether it is above a value.
    public static func > (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.greater, left.node, right)
    }

    /// Whether it is above another.
    public static func > (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.greater, left.node, right.node))
    }

    /// Whether it is at or above a value.
    public static func >= (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.greaterOrEqual, left.node, right)
    }

    /// Whether it is at or above another.
    public static func >= (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.greaterOrEqual, left.node, right.node))
    }
}

extension QueryExpression {
    /// Whether it is below a value; nil is not.
    public static func < <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Value == T? { compare(.less, left.node, right) }

    /// Whether it is at or below a value; nil is not.
    public static func <= <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Value == T? { compare(.lessOrEqual, left.node, right) }

    /// Whether it is above a value; nil is not.
    public static func > <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Value == T? { compare(.greater, left.node, right) }

    /// Whether it is at or above a value; nil is not.
    public static func >= <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Value == T? { compare(.greaterOrEqual, left.node, right) }

    /// What it is, or another value where it is nil.
    public static func ?? <T: StoredValue>(left: Self, right: T) -> QueryExpression<T>
    where Value == T? {
        QueryExpression<T>(.coalesced(left.node, .constant(right._value)))
    }
}

// MARK: - Behind a question mark

/// What stands behind `?`, as in `$0.notebook?.name`, is nil where the reference has no value.
extension Optional {
    /// Whether it is equal to a value.
    public static func == <T: StoredValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.equal, left?.node, right) }

    /// Whether it is not equal to a value.
    public static func != <T: StoredValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.notEqual, left?.node, right) }

    /// Whether there is no value.
    public static func == <T: StoredValue>(
        left: Self, right: _OptionalNilComparisonType
    ) -> QueryExpression<Bool> where Wrapped == QueryExpression<T> {
        Wrapped.compare(.equal, left?.node, T?.none)
    }

    /// Whether there is a value.
    public static func != <T: StoredValue>(
        left: Self, right: _OptionalNilComparisonType
    ) -> QueryExpression<Bool> where Wrapped == QueryExpression<T> {
        Wrapped.compare(.notEqual, left?.node, T?.none)
    }

    /// Whether it is below a value; nil is not.
    public static func < <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.less, left?.node, right) }

    /// Whether it is at or below a value; nil is not.
    public static func <= <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.lessOrEqual, left?.node, right) }

    /// Whether it is above a value; nil is not.
    public static func > <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.greater, left?.node, right) }

    /// Whether it is at or above a value; nil is not.
    public static func >= <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.greaterOrEqual, left?.node, right) }

    /// What it is, or another value where it is nil.
    public static func ?? <T: StoredValue>(left: Self, right: T) -> QueryExpression<T>
    where Wrapped == QueryExpression<T> {
        QueryExpression<T>(
            .coalesced(left?.node ?? .constant(.null), .constant(right._value)))
    }
}

// MARK: - References

extension Optional where Wrapped: ModelFields {
    /// Whether it refers to an object, or with nil to none.
    public static func == (left: Self, right: Wrapped.Object?) -> QueryExpression<Bool> {
        refers(left, to: right?.id, .equal)
    }

    /// Whether it refers to another object than this, or with nil to any.
    public static func != (left: Self, right: Wrapped.Object?) -> QueryExpression<Bool> {
        refers(left, to: right?.id, .notEqual)
    }

    /// Whether it refers to the object with an id.
    public static func == (left: Self, right: ObjectID) -> QueryExpression<Bool> {
        refers(left, to: right, .equal)
    }

    /// Whether it does not refer to the object with an id.
    public static func != (left: Self, right: ObjectID) -> QueryExpression<Bool> {
        refers(left, to: right, .notEqual)
    }

    private static func refers(
        _ fields: Self, to id: ObjectID?, _ comparison: QueryNode.Comparison
    ) -> QueryExpression<Bool> {
        let reference = fields?._object.reference ?? .constant(.null)
        return QueryExpression<Bool>(.comparison(comparison, reference, .constant(id._value)))
    }
}

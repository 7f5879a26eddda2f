public import FoundationEssentials
public import StetStore

/// An expression that a query evaluates for each object: the value of a property, a value behind a
/// reference, a sum; with a `Bool` value, a condition.
///
/// Operators mean what they mean in Swift: nil is equal to nil and neither above nor below
/// anything, NaN is equal to nothing, text is compared as `String` compares it. A number that does
/// not fit its type, and an integer or decimal divided by 0, have no value.
public struct QueryExpression<Value>: Sendable {
    package let node: QueryNode

    package init(_ node: QueryNode) { self.node = node }
}

/// A type whose values queries can compare by order.
public protocol OrderedValue: StoredValue, Comparable {}
extension String: OrderedValue {}
extension ObjectID: OrderedValue {}

/// A number type with which queries can calculate.
public protocol NumericValue: _RangeBound, Numeric {}
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
    /// A condition that every object satisfies.
    public static var always: QueryExpression { QueryExpression(.everything) }

    /// Returns a condition that is satisfied when both conditions are.
    public static func && (left: Self, right: Self) -> Self {
        QueryExpression(.both(left.node, right.node))
    }

    /// Returns a condition that is satisfied when at least one of two conditions is.
    public static func || (left: Self, right: Self) -> Self {
        QueryExpression(.either(left.node, right.node))
    }

    /// Returns a condition that is satisfied when another one is not.
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
    /// Returns whether the expression is equal to a value.
    public static func == (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.equal, left.node, right)
    }

    /// Returns whether two expressions are equal.
    public static func == (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.equal, left.node, right.node))
    }

    /// Returns whether the expression is not equal to a value.
    public static func != (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.notEqual, left.node, right)
    }

    /// Returns whether two expressions are not equal.
    public static func != (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.notEqual, left.node, right.node))
    }
}

extension QueryExpression where Value: OrderedValue {
    /// Returns whether the expression is less than a value.
    public static func < (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.less, left.node, right)
    }

    /// Returns whether the expression is less than another.
    public static func < (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.less, left.node, right.node))
    }

    /// Returns whether the expression is less than or equal to a value.
    public static func <= (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.lessOrEqual, left.node, right)
    }

    /// Returns whether the expression is less than or equal to another.
    public static func <= (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.lessOrEqual, left.node, right.node))
    }

    /// Returns whether the expression is greater than a value.
    public static func > (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.greater, left.node, right)
    }

    /// Returns whether the expression is greater than another.
    public static func > (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.greater, left.node, right.node))
    }

    /// Returns whether the expression is greater than or equal to a value.
    public static func >= (left: Self, right: Value) -> QueryExpression<Bool> {
        compare(.greaterOrEqual, left.node, right)
    }

    /// Returns whether the expression is greater than or equal to another.
    public static func >= (left: Self, right: Self) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.comparison(.greaterOrEqual, left.node, right.node))
    }
}

extension QueryExpression {
    /// Returns whether the expression is less than a value; false for nil.
    public static func < <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Value == T? { compare(.less, left.node, right) }

    /// Returns whether the expression is less than or equal to a value; false for nil.
    public static func <= <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Value == T? { compare(.lessOrEqual, left.node, right) }

    /// Returns whether the expression is greater than a value; false for nil.
    public static func > <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Value == T? { compare(.greater, left.node, right) }

    /// Returns whether the expression is greater than or equal to a value; false for nil.
    public static func >= <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Value == T? { compare(.greaterOrEqual, left.node, right) }

    /// Returns the value of the expression, or another value where it is nil.
    public static func ?? <T: StoredValue>(left: Self, right: T) -> QueryExpression<T>
    where Value == T? {
        QueryExpression<T>(.coalesced(left.node, .constant(right._value)))
    }
}

// MARK: - Behind a question mark

/// The operators for expressions behind a `?`, as in `$0.notebook?.name`: their value is nil where
/// the reference is nil.
extension Optional {
    /// Returns whether the expression is equal to a value; false for nil.
    public static func == <T: StoredValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.equal, left?.node, right) }

    /// Returns whether the expression is not equal to a value; true for nil.
    public static func != <T: StoredValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.notEqual, left?.node, right) }

    /// Returns whether the expression has no value.
    public static func == <T: StoredValue>(
        left: Self, right: _OptionalNilComparisonType
    ) -> QueryExpression<Bool> where Wrapped == QueryExpression<T> {
        Wrapped.compare(.equal, left?.node, T?.none)
    }

    /// Returns whether the expression has a value.
    public static func != <T: StoredValue>(
        left: Self, right: _OptionalNilComparisonType
    ) -> QueryExpression<Bool> where Wrapped == QueryExpression<T> {
        Wrapped.compare(.notEqual, left?.node, T?.none)
    }

    /// Returns whether the expression is less than a value; false for nil.
    public static func < <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.less, left?.node, right) }

    /// Returns whether the expression is less than or equal to a value; false for nil.
    public static func <= <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.lessOrEqual, left?.node, right) }

    /// Returns whether the expression is greater than a value; false for nil.
    public static func > <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.greater, left?.node, right) }

    /// Returns whether the expression is greater than or equal to a value; false for nil.
    public static func >= <T: OrderedValue>(left: Self, right: T) -> QueryExpression<Bool>
    where Wrapped == QueryExpression<T> { Wrapped.compare(.greaterOrEqual, left?.node, right) }

    /// Returns the value of the expression, or another value where it is nil.
    public static func ?? <T: StoredValue>(left: Self, right: T) -> QueryExpression<T>
    where Wrapped == QueryExpression<T> {
        QueryExpression<T>(
            .coalesced(left?.node ?? .constant(.null), .constant(right._value)))
    }
}

// MARK: - References

extension Optional where Wrapped: _ModelFields {
    /// Returns whether the reference points to an object or, compared with nil, to none.
    public static func == (left: Self, right: Wrapped.Object?) -> QueryExpression<Bool> {
        refers(left, to: right?.id, .equal)
    }

    /// Returns whether the reference does not point to an object or, compared with nil, points to
    /// any.
    public static func != (left: Self, right: Wrapped.Object?) -> QueryExpression<Bool> {
        refers(left, to: right?.id, .notEqual)
    }

    /// Returns whether the reference points to the object with an id.
    public static func == (left: Self, right: ObjectID) -> QueryExpression<Bool> {
        refers(left, to: right, .equal)
    }

    /// Returns whether the reference does not point to the object with an id.
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

// MARK: - Optional embedded values

extension Optional where Wrapped: _EmbeddedFields {
    /// Returns whether the value is present with members that are all equal to those of a value, or
    /// absent like nil.
    public static func == (left: Self, right: Wrapped.Value?) -> QueryExpression<Bool> {
        guard let left else { return QueryExpression<Bool>(.not(.everything)) }
        let presence = left.presence
        guard let right else {
            return QueryExpression<Bool>(.comparison(.equal, presence, .constant(.null)))
        }
        return QueryExpression<Bool>(
            .both(
                .comparison(.notEqual, presence, .constant(.null)),
                Wrapped.comparison(left, right).node))
    }

    /// Returns whether the value differs from another one.
    public static func != (left: Self, right: Wrapped.Value?) -> QueryExpression<Bool> {
        !(left == right)
    }
}

extension _EmbeddedFields {
    /// The expression that is nil where the value is absent: its presence, or the reference to the
    /// object that contains it.
    fileprivate var presence: QueryNode {
        if let slot = _object.presence { return .property(_object.place, slot: slot) }
        return _object.reference ?? .constant(.bool(true))
    }

    fileprivate static func comparison(_ left: Self, _ right: Value) -> QueryExpression<Bool> {
        left == right
    }
}

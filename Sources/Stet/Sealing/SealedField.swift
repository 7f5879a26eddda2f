import StetStore

/// A sealed attribute as queries name it: there is nothing to compare.
///
/// Used by the code that `@Model` writes.
public struct _SealedField<Value: AttributeValue>: Sendable {
    /// Not available: the value is known to nobody without a key.
    @available(*, unavailable, message: "sealed values can't be compared")
    public static func == (left: Self, right: Sealed<Value>) -> QueryExpression<Bool> { refused() }

    /// Not available: the value is known to nobody without a key.
    @available(*, unavailable, message: "sealed values can't be compared")
    public static func != (left: Self, right: Sealed<Value>) -> QueryExpression<Bool> { refused() }
}

/// An optional sealed attribute as queries name it, which can be compared with nil only.
///
/// Used by the code that `@Model` writes.
public struct _OptionalSealedField<Value: AttributeValue>: Sendable {
    private let node: QueryNode

    init(_ node: QueryNode) { self.node = node }

    /// Returns whether the attribute has no value.
    public static func == (left: Self, right: _OptionalNilComparisonType) -> QueryExpression<Bool> {
        QueryExpression(.comparison(.equal, left.node, .constant(.null)))
    }

    /// Returns whether the attribute has a value, erased or not.
    public static func != (left: Self, right: _OptionalNilComparisonType) -> QueryExpression<Bool> {
        QueryExpression(.comparison(.notEqual, left.node, .constant(.null)))
    }

    /// Not available: the value is known to nobody without a key.
    @available(*, unavailable, message: "sealed values can't be compared, except with nil")
    public static func == (left: Self, right: Sealed<Value>) -> QueryExpression<Bool> { refused() }

    /// Not available: the value is known to nobody without a key.
    @available(*, unavailable, message: "sealed values can't be compared, except with nil")
    public static func != (left: Self, right: Sealed<Value>) -> QueryExpression<Bool> { refused() }
}

private func refused() -> Never { trap("a comparison of sealed values, which does not compile") }

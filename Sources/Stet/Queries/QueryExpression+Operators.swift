public import StetStore

extension QueryExpression where Value: NumericValue {
    /// Returns the sum.
    public static func + (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.add, left.node, right.node))
    }

    /// Returns the sum.
    public static func + (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.add, left.node, .constant(right._value)))
    }

    /// Returns the sum.
    public static func + (left: Value, right: Self) -> Self {
        QueryExpression(.arithmetic(.add, .constant(left._value), right.node))
    }

    /// Returns the difference.
    public static func - (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.subtract, left.node, right.node))
    }

    /// Returns the difference.
    public static func - (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.subtract, left.node, .constant(right._value)))
    }

    /// Returns the difference.
    public static func - (left: Value, right: Self) -> Self {
        QueryExpression(.arithmetic(.subtract, .constant(left._value), right.node))
    }

    /// Returns the product.
    public static func * (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.multiply, left.node, right.node))
    }

    /// Returns the product.
    public static func * (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.multiply, left.node, .constant(right._value)))
    }

    /// Returns the product.
    public static func * (left: Value, right: Self) -> Self {
        QueryExpression(.arithmetic(.multiply, .constant(left._value), right.node))
    }

    /// Returns the quotient; a divisor of 0 gives no value, except for floating-point numbers.
    public static func / (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.divide, left.node, right.node))
    }

    /// Returns the quotient; a divisor of 0 gives no value, except for floating-point numbers.
    public static func / (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.divide, left.node, .constant(right._value)))
    }

    /// Returns the quotient; a divisor of 0 gives no value, except for floating-point numbers.
    public static func / (left: Value, right: Self) -> Self {
        QueryExpression(.arithmetic(.divide, .constant(left._value), right.node))
    }
}

extension QueryExpression where Value: NumericValue & BinaryInteger {
    /// Returns the remainder of a division, which has no value when the divisor is 0.
    public static func % (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.remainder, left.node, .constant(right._value)))
    }
}

// MARK: - Text

extension QueryExpression where Value == String {
    /// Returns the concatenation of two texts.
    public static func + (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.add, left.node, right.node))
    }

    /// Returns the concatenation of two texts.
    public static func + (left: Self, right: String) -> Self {
        QueryExpression(.arithmetic(.add, left.node, .constant(.string(right))))
    }

    /// Returns the concatenation of two texts.
    public static func + (left: String, right: Self) -> Self {
        QueryExpression(.arithmetic(.add, .constant(.string(left)), right.node))
    }

    /// Returns whether the text begins with another, compared character by character.
    public func hasPrefix(_ prefix: String) -> QueryExpression<Bool> { search(.prefix, prefix) }

    /// Returns whether the text ends with another, compared character by character.
    public func hasSuffix(_ suffix: String) -> QueryExpression<Bool> { search(.suffix, suffix) }

    /// Returns whether the text contains another, compared character by character; every text
    /// contains the empty one.
    public func contains(_ text: String) -> QueryExpression<Bool> { search(.anywhere, text) }

    /// Returns the text without the differences that a comparison should ignore:
    /// `$0.name.folded(.caseInsensitive) == "swift"`.
    ///
    /// The text that it is compared with is folded in the same way.
    public func folded(_ folding: TextFolding) -> Self {
        QueryExpression(.folded(node, folding))
    }

    private func search(_ search: QueryNode.TextSearch, _ text: String) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.text(search, node, .constant(.string(text))))
    }
}

extension QueryExpression where Value == String? {
    /// Returns whether the text begins with another, compared character by character; false for
    /// nil.
    public func hasPrefix(_ prefix: String) -> QueryExpression<Bool> { text.hasPrefix(prefix) }

    /// Returns whether the text ends with another, compared character by character; false for nil.
    public func hasSuffix(_ suffix: String) -> QueryExpression<Bool> { text.hasSuffix(suffix) }

    /// Returns whether the text contains another, compared character by character; false for nil.
    public func contains(_ part: String) -> QueryExpression<Bool> { text.contains(part) }

    /// Returns the text without the differences that a comparison should ignore.
    public func folded(_ folding: TextFolding) -> Self {
        QueryExpression(.folded(node, folding))
    }

    private var text: QueryExpression<String> { QueryExpression<String>(node) }
}

// MARK: - Lists and ranges

extension Sequence where Element: StoredValue {
    /// Returns whether the value of an expression is one of these values.
    public func contains(_ expression: QueryExpression<Element>) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.isIn(expression.node, map(\._value)))
    }

    /// Returns whether the value of an expression is one of these values; false for nil.
    public func contains(_ expression: QueryExpression<Element>?) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.isIn(expression?.node ?? .constant(.null), map(\._value)))
    }

    /// Returns whether the value of an expression is one of these values; false for nil.
    public func contains(_ expression: QueryExpression<Element?>) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.isIn(expression.node, map(\._value)))
    }
}

extension Sequence where Element: Model {
    /// Returns whether a reference of a query points to one of these objects.
    public func contains(_ fields: Element.Fields?) -> QueryExpression<Bool> {
        let reference = fields?._object.reference ?? .constant(.null)
        return QueryExpression<Bool>(.isIn(reference, map { .reference($0.id) }))
    }
}

extension ClosedRange where Bound: OrderedValue {
    /// Returns whether the value of an expression is in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression >= lowerBound && expression <= upperBound
    }

    /// Returns whether the value of an expression is in the range; false for nil.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression >= lowerBound && expression <= upperBound
    }
}

extension Range where Bound: OrderedValue {
    /// Returns whether the value of an expression is in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression >= lowerBound && expression < upperBound
    }

    /// Returns whether the value of an expression is in the range; false for nil.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression >= lowerBound && expression < upperBound
    }
}

extension PartialRangeFrom where Bound: OrderedValue {
    /// Returns whether the value of an expression is in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression >= lowerBound
    }

    /// Returns whether the value of an expression is in the range; false for nil.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression >= lowerBound
    }
}

extension PartialRangeThrough where Bound: OrderedValue {
    /// Returns whether the value of an expression is in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression <= upperBound
    }

    /// Returns whether the value of an expression is in the range; false for nil.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression <= upperBound
    }
}

extension PartialRangeUpTo where Bound: OrderedValue {
    /// Returns whether the value of an expression is in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression < upperBound
    }

    /// Returns whether the value of an expression is in the range; false for nil.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression < upperBound
    }
}

public import StetStore

// Numbers, text and lists in queries.

extension QueryExpression where Value: NumericValue {
    /// The sum.
    public static func + (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.add, left.node, right.node))
    }

    /// The sum.
    public static func + (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.add, left.node, .constant(right._value)))
    }

    /// The sum.
    public static func + (left: Value, right: Self) -> Self {
        QueryExpression(.arithmetic(.add, .constant(left._value), right.node))
    }

    /// The difference.
    public static func - (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.subtract, left.node, right.node))
    }

    /// The difference.
    public static func - (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.subtract, left.node, .constant(right._value)))
    }

    /// The difference.
    public static func - (left: Value, right: Self) -> Self {
        QueryExpression(.arithmetic(.subtract, .constant(left._value), right.node))
    }

    /// The product.
    public static func * (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.multiply, left.node, right.node))
    }

    /// The product.
    public static func * (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.multiply, left.node, .constant(right._value)))
    }

    /// The product.
    public static func * (left: Value, right: Self) -> Self {
        QueryExpression(.arithmetic(.multiply, .constant(left._value), right.node))
    }

    /// The quotient; no value when the divisor is 0, for floating point numbers what Swift gives.
    public static func / (left: Self, right: Self) -> Self {
        QueryExpression(.arithmetic(.divide, left.node, right.node))
    }

    /// The quotient; no value when the divisor is 0, for floating point numbers what Swift gives.
    public static func / (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.divide, left.node, .constant(right._value)))
    }

    /// The quotient; no value when the divisor is 0, for floating point numbers what Swift gives.
    public static func / (left: Value, right: Self) -> Self {
        QueryExpression(.arithmetic(.divide, .constant(left._value), right.node))
    }
}

extension QueryExpression where Value: NumericValue & BinaryInteger {
    /// The remainder of a division; no value when the divisor is 0.
    public static func % (left: Self, right: Value) -> Self {
        QueryExpression(.arithmetic(.remainder, left.node, .constant(right._value)))
    }
}

// MARK: - Text

extension QueryExpression where Value == String {
    /// Whether the text begins with another, character by character.
    public func hasPrefix(_ prefix: String) -> QueryExpression<Bool> { search(.prefix, prefix) }

    /// Whether the text ends with another, character by character.
    public func hasSuffix(_ suffix: String) -> QueryExpression<Bool> { search(.suffix, suffix) }

    /// Whether the text has another in it, character by character; every text has an empty one.
    public func contains(_ text: String) -> QueryExpression<Bool> { search(.anywhere, text) }

    /// The text without the differences that a comparison shall not see:
    /// `$0.name.folded(.caseInsensitive) == "swift"`.
    ///
    /// What it is compared with is folded in the same way.
    public func folded(_ folding: TextFolding) -> Self {
        QueryExpression(.folded(node, folding))
    }

    private func search(_ search: QueryNode.TextSearch, _ text: String) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.text(search, node, .constant(.string(text))))
    }
}

extension QueryExpression where Value == String? {
    /// Whether the text begins with another, character by character; nil does not.
    public func hasPrefix(_ prefix: String) -> QueryExpression<Bool> { text.hasPrefix(prefix) }

    /// Whether the text ends with another, character by character; nil does not.
    public func hasSuffix(_ suffix: String) -> QueryExpression<Bool> { text.hasSuffix(suffix) }

    /// Whether the text has another in it, character by character; nil has none.
    public func contains(_ part: String) -> QueryExpression<Bool> { text.contains(part) }

    /// The text without the differences that a comparison shall not see.
    public func folded(_ folding: TextFolding) -> Self {
        QueryExpression(.folded(node, folding))
    }

    private var text: QueryExpression<String> { QueryExpression<String>(node) }
}

// MARK: - Lists and ranges

extension Sequence where Element: StoredValue {
    /// Whether what a query computes is one of these values.
    public func contains(_ expression: QueryExpression<Element>) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.isIn(expression.node, map(\._value)))
    }

    /// Whether what a query computes is one of these values; nil is not.
    public func contains(_ expression: QueryExpression<Element>?) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.isIn(expression?.node ?? .constant(.null), map(\._value)))
    }

    /// Whether what a query computes is one of these values; nil is not.
    public func contains(_ expression: QueryExpression<Element?>) -> QueryExpression<Bool> {
        QueryExpression<Bool>(.isIn(expression.node, map(\._value)))
    }
}

extension Sequence where Element: Model {
    /// Whether what a query computes refers to one of these objects.
    public func contains(_ fields: Element.Fields?) -> QueryExpression<Bool> {
        let reference = fields?._object.reference ?? .constant(.null)
        return QueryExpression<Bool>(.isIn(reference, map { .reference($0.id) }))
    }
}

extension ClosedRange where Bound: OrderedValue {
    /// Whether what a query computes lies in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression >= lowerBound && expression <= upperBound
    }

    /// Whether what a query computes lies in the range; nil does not.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression >= lowerBound && expression <= upperBound
    }
}

extension Range where Bound: OrderedValue {
    /// Whether what a query computes lies in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression >= lowerBound && expression < upperBound
    }

    /// Whether what a query computes lies in the range; nil does not.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression >= lowerBound && expression < upperBound
    }
}

extension PartialRangeFrom where Bound: OrderedValue {
    /// Whether what a query computes lies in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression >= lowerBound
    }

    /// Whether what a query computes lies in the range; nil does not.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression >= lowerBound
    }
}

extension PartialRangeThrough where Bound: OrderedValue {
    /// Whether what a query computes lies in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression <= upperBound
    }

    /// Whether what a query computes lies in the range; nil does not.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression <= upperBound
    }
}

extension PartialRangeUpTo where Bound: OrderedValue {
    /// Whether what a query computes lies in the range.
    public func contains(_ expression: QueryExpression<Bound>) -> QueryExpression<Bool> {
        expression < upperBound
    }

    /// Whether what a query computes lies in the range; nil does not.
    public func contains(_ expression: QueryExpression<Bound?>) -> QueryExpression<Bool> {
        expression < upperBound
    }
}

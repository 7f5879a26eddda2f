// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only.

import StetStore

/// The expression of a derived attribute: an expression of queries, or one behind a `?`.
///
/// Used by the code that `@Model` writes.
public protocol _DerivedExpression {
    var _derivation: _Derivation { get }
}

/// The expression of a derived attribute as data.
///
/// Used by the code that `@Model` writes.
public struct _Derivation: Sendable {
    let node: QueryNode
}

extension QueryExpression: _DerivedExpression {
    public var _derivation: _Derivation { _Derivation(node: node) }
}

extension Optional: _DerivedExpression where Wrapped: _DerivedExpression {
    public var _derivation: _Derivation { self?._derivation ?? _Derivation(node: .constant(.null)) }

    fileprivate var node: QueryNode { _derivation.node }
}

/// The operator `??` in the expression of a derived attribute: between optional conditions of a
/// query, `??` chooses one of them when the query is made.
///
/// Used by the code that `@Model` writes.
infix operator |?? : NilCoalescingPrecedence

extension QueryExpression {
    public static func |?? <T: StoredValue>(left: Self, right: QueryExpression<T>)
        -> QueryExpression<T> where Value == T?
    { QueryExpression<T>(.coalesced(left.node, right.node)) }

    public static func |?? <T: StoredValue>(left: Self, right: T)
        -> QueryExpression<T> where Value == T?
    { QueryExpression<T>(.coalesced(left.node, .constant(right._value))) }

    public static func |?? <T: StoredValue>(left: Self, right: Self) -> Self where Value == T? {
        QueryExpression(.coalesced(left.node, right.node))
    }
}

extension Optional {
    public static func |?? <T: StoredValue>(left: Self, right: QueryExpression<T>)
        -> QueryExpression<T> where Wrapped == QueryExpression<T>
    { QueryExpression<T>(.coalesced(left.node, right.node)) }

    public static func |?? <T: StoredValue>(left: Self, right: T)
        -> QueryExpression<T> where Wrapped == QueryExpression<T>
    { QueryExpression<T>(.coalesced(left.node, .constant(right._value))) }

    public static func |?? <T: StoredValue>(left: Self, right: Self) -> Self
    where Wrapped == QueryExpression<T> {
        QueryExpression<T>(.coalesced(left.node, right.node))
    }

    // An optional member of an embedded value behind a `?`.

    public static func |?? <T: StoredValue>(left: Self, right: QueryExpression<T>)
        -> QueryExpression<T> where Wrapped == QueryExpression<T?>
    { QueryExpression<T>(.coalesced(left.node, right.node)) }

    public static func |?? <T: StoredValue>(left: Self, right: T)
        -> QueryExpression<T> where Wrapped == QueryExpression<T?>
    { QueryExpression<T>(.coalesced(left.node, .constant(right._value))) }

    public static func |?? <T: StoredValue>(left: Self, right: QueryExpression<T?>)
        -> QueryExpression<T?> where Wrapped == QueryExpression<T?>
    { QueryExpression<T?>(.coalesced(left.node, right.node)) }
}

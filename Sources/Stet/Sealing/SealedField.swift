public import StetStore

/// A sealed attribute as queries name it, which can be compared with a value of one owner.
///
/// Used by the code that `@Model` writes.
public struct _SealedField<Value: AttributeValue>: Sendable {
    private let object: _QueryObject
    private let slot: Slot

    init(_ object: _QueryObject, slot: Slot) {
        self.object = object
        self.slot = slot
    }

    fileprivate var node: QueryNode { .property(object.place, slot: slot) }

    /// Returns whether the attribute has a value that is sealed by the key of an object.
    ///
    /// ```swift
    /// try context.fetch(Visit.self) { $0.diagnosis.isEqual(to: "influenza", sealedBy: ada) }
    /// ```
    ///
    /// An index of the attribute finds it; without one, each value of the owner is opened. The
    /// query throws `SealingError`: `.erased` once the key was destroyed, `.keyFileNotOpen` when no
    /// key file is open.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - owner: the object by whose key it is sealed: that to which the relationship of
    ///     `.sealed(by:)` refers or, without that option, the object with the attribute.
    /// - Returns: The condition.
    public func isEqual(to value: Value, sealedBy owner: some Model) -> QueryExpression<Bool> {
        isEqual(to: value, sealedBy: owner.id)
    }

    /// Returns whether the attribute has a value that is sealed by the key of the object with an
    /// id.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - owner: the id of the object by whose key it is sealed.
    /// - Returns: The condition.
    public func isEqual(to value: Value, sealedBy owner: ObjectID) -> QueryExpression<Bool> {
        let labels = object.sealLabels()?[slot] ?? []
        let match = SealedMatch(Sealed(value).bytes, owner: owner, labels: labels)
        return QueryExpression(.sealed(object.place, slot: slot, match))
    }

    /// Not available: the value is known to nobody without a key.
    @available(*, unavailable, message: "compare a sealed value by 'isEqual(to:sealedBy:)'")
    public static func == (left: Self, right: Sealed<Value>) -> QueryExpression<Bool> { refused() }

    /// Not available: the value is known to nobody without a key.
    @available(*, unavailable, message: "compare a sealed value by 'isEqual(to:sealedBy:)'")
    public static func != (left: Self, right: Sealed<Value>) -> QueryExpression<Bool> { refused() }
}

/// An optional sealed attribute as queries name it, which can be compared with nil, too.
///
/// Used by the code that `@Model` writes.
public struct _OptionalSealedField<Value: AttributeValue>: Sendable {
    private let field: _SealedField<Value>

    init(_ field: _SealedField<Value>) { self.field = field }

    /// Returns whether the attribute has no value.
    public static func == (left: Self, right: _OptionalNilComparisonType) -> QueryExpression<Bool> {
        QueryExpression(.comparison(.equal, left.field.node, .constant(.null)))
    }

    /// Returns whether the attribute has a value, erased or not.
    public static func != (left: Self, right: _OptionalNilComparisonType) -> QueryExpression<Bool> {
        QueryExpression(.comparison(.notEqual, left.field.node, .constant(.null)))
    }

    /// Returns whether the attribute has a value that is sealed by the key of an object.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - owner: the object by whose key it is sealed.
    /// - Returns: The condition.
    public func isEqual(to value: Value, sealedBy owner: some Model) -> QueryExpression<Bool> {
        field.isEqual(to: value, sealedBy: owner)
    }

    /// Returns whether the attribute has a value that is sealed by the key of the object with an
    /// id.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - owner: the id of the object by whose key it is sealed.
    /// - Returns: The condition.
    public func isEqual(to value: Value, sealedBy owner: ObjectID) -> QueryExpression<Bool> {
        field.isEqual(to: value, sealedBy: owner)
    }

    /// Not available: the value is known to nobody without a key.
    @available(
        *, unavailable,
        message: "compare a sealed value with nil, or by 'isEqual(to:sealedBy:)'"
    )
    public static func == (left: Self, right: Sealed<Value>) -> QueryExpression<Bool> { refused() }

    /// Not available: the value is known to nobody without a key.
    @available(
        *, unavailable,
        message: "compare a sealed value with nil, or by 'isEqual(to:sealedBy:)'"
    )
    public static func != (left: Self, right: Sealed<Value>) -> QueryExpression<Bool> { refused() }
}

private func refused() -> Never { trap("a comparison of sealed values, which does not compile") }

// What newcomers write in conditions: offered where there is a meaning, and otherwise unavailable
// with a sentence that says what to write.

extension QueryExpression where Value: RangeReplaceableCollection & StoredValue {
    /// Whether a text, data or an array is empty.
    public var isEmpty: QueryExpression<Bool> { self == Value() }

    /// Unavailable: store the count in a property of its own.
    @available(
        *, unavailable,
        message: "conditions don't count characters or elements: store the count in a property"
    )
    public var count: QueryExpression<Int> { QueryExpression<Int>(node) }
}

extension QueryExpression where Value == String? {
    /// Whether a text is empty; false for nil.
    public var isEmpty: QueryExpression<Bool> { self == "" }
}

extension QueryExpression where Value == String {
    /// Unavailable: write `folded(.caseInsensitive)`.
    @available(
        *, unavailable,
        message: "write 'folded(.caseInsensitive)', which also folds the text on the other side"
    )
    public func lowercased() -> Self { self }

    /// Unavailable: write `folded(.caseInsensitive)`.
    @available(
        *, unavailable,
        message: "write 'folded(.caseInsensitive)', which also folds the text on the other side"
    )
    public func uppercased() -> Self { self }
}

extension ToManyField {
    /// Returns whether any member satisfies a condition, as `any` does.
    public func contains(
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> {
        any(condition)
    }
}

extension ObjectQuery {
    /// Unavailable: write `\.title` without the name of the model.
    @available(
        *, unavailable,
        message: "write '\\.title' without the model: queries name the fields of 'Article.Fields'"
    )
    @_disfavoredOverload
    public func sorted<Value>(
        by property: KeyPath<M, Value>, _ direction: SortDirection = .ascending
    ) -> Self { self }

    /// Unavailable: write `\.title` without the name of the model.
    @available(
        *, unavailable,
        message: "write '\\.title' without the model: queries name the fields of 'Article.Fields'"
    )
    @_disfavoredOverload
    public func then<Value>(
        by property: KeyPath<M, Value>, _ direction: SortDirection = .ascending
    ) -> Self { self }
}

// MARK: - Enums without an order

extension QueryExpression where Value: RawAttribute {
    /// Unavailable: conform the enum to `OrderedValue`.
    @available(
        *, unavailable, message: "conform the enum to 'OrderedValue', and write its operator '<'"
    )
    public static func < (left: Self, right: Value) -> QueryExpression<Bool> { .always }

    /// Unavailable: conform the enum to `OrderedValue`.
    @available(
        *, unavailable, message: "conform the enum to 'OrderedValue', and write its operator '<'"
    )
    public static func <= (left: Self, right: Value) -> QueryExpression<Bool> { .always }

    /// Unavailable: conform the enum to `OrderedValue`.
    @available(
        *, unavailable, message: "conform the enum to 'OrderedValue', and write its operator '<'"
    )
    public static func > (left: Self, right: Value) -> QueryExpression<Bool> { .always }

    /// Unavailable: conform the enum to `OrderedValue`.
    @available(
        *, unavailable, message: "conform the enum to 'OrderedValue', and write its operator '<'"
    )
    public static func >= (left: Self, right: Value) -> QueryExpression<Bool> { .always }
}

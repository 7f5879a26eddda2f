import StetStore

// Conditions for the elements of an array of embedded values. Nil has no elements.

extension QueryExpression {
    /// Returns whether any element of the array satisfies a condition; false when there is none.
    ///
    /// ```swift
    /// let orders = try context.fetch(PurchaseOrder.self) { $0.lines.any { $0.amount > 2 } }.all()
    /// ```
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func any<Element: EmbeddedValue>(
        @QueryBuilder _ condition: (Element.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> where Value == [Element] {
        QueryExpression<Bool>(elements(.any) { condition($0).node })
    }

    /// Returns whether any element of the array satisfies a condition; false when there is none.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func any<Element: EmbeddedValue>(
        @QueryBuilder _ condition: (Element.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> where Value == [Element]? {
        QueryExpression<Bool>(elements(.any) { condition($0).node })
    }

    /// Returns whether all elements of the array satisfy a condition; true when there is none.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func all<Element: EmbeddedValue>(
        @QueryBuilder _ condition: (Element.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> where Value == [Element] {
        QueryExpression<Bool>(elements(.all) { condition($0).node })
    }

    /// Returns whether all elements of the array satisfy a condition; true when there is none.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func all<Element: EmbeddedValue>(
        @QueryBuilder _ condition: (Element.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> where Value == [Element]? {
        QueryExpression<Bool>(elements(.all) { condition($0).node })
    }

    /// Returns the number of elements of the array that satisfy a condition.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func count<Element: EmbeddedValue>(
        @QueryBuilder where condition: (Element.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<Int> where Value == [Element] {
        QueryExpression<Int>(elements(.count) { condition($0).node })
    }

    /// Returns the number of elements of the array that satisfy a condition.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func count<Element: EmbeddedValue>(
        @QueryBuilder where condition: (Element.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<Int> where Value == [Element]? {
        QueryExpression<Int>(elements(.count) { condition($0).node })
    }

    private func elements<Fields: _EmbeddedFields>(
        _ test: QueryNode.MemberTest, _ condition: (Fields) -> QueryNode
    ) -> QueryNode {
        guard case .property(let owner, let slot) = node else {
            trap("a condition for the elements of a value that is no attribute: name the attribute")
        }
        let scope = QueryScopes.next()
        let fields = Fields(_object: _QueryObject(.element(scope: scope)), slot: 0)
        return .elements(
            test, QueryElements(owner: owner, slot: slot, scope: scope), condition(fields))
    }
}

public import StetStore

/// The properties of a model as queries name them: `$0` in the closure of a `fetch`.
///
/// `@Model` writes a type with a member of the same name for each property: an expression for an
/// attribute, the fields of the target for a reference, and a `ToManyField` for a to-many
/// relationship.
public protocol _ModelFields: Sendable {
    /// The model.
    associatedtype Object: Model
    /// Used by the code that `@Model` writes.
    var _object: _QueryObject { get }
    /// Used by the code that `@Model` writes.
    init(_object: _QueryObject)
}

extension _ModelFields {
    /// The object's id.
    public var id: QueryExpression<ObjectID> {
        // For a referenced object the reference itself contains the id.
        QueryExpression(_object.reference ?? .id(_object.place))
    }
}

/// The object whose fields are named, by its path from the queried object.
///
/// Used by the code that `@Model` writes.
public struct _QueryObject: Sendable {
    let place: QueryObject
    /// The slot that shows whether the optional embedded value whose fields are named is present.
    let presence: Slot?
    /// Returns the labels of the object's sealed attributes; nil when it has none.
    ///
    /// Expressions of derived attributes name fields while the description of the model is made,
    /// which has the labels: only a comparison asks for them.
    let sealLabels: @Sendable () -> SealLabels?

    init(
        _ place: QueryObject, presence: Slot? = nil,
        sealLabels: @escaping @Sendable () -> SealLabels? = { nil }
    ) {
        self.place = place
        self.presence = presence
        self.sealLabels = sealLabels
    }

    /// Creates the object of a model on a path.
    init<M: Model>(_ place: QueryObject, of model: M.Type) {
        self.init(place, sealLabels: { M.sealLabels })
    }

    /// True for the queried object itself.
    var isRoot: Bool { if case .root = place { true } else { false } }

    /// The reference that points to the object: a slot of another object, whose value is the id.
    var reference: QueryNode? {
        guard case .target(let owner, let slot, _) = place else { return nil }
        return .property(owner, slot: slot)
    }
}

extension Model {
    /// The fields of the queried object.
    static var fields: Fields { Fields(_object: _QueryObject(.root, of: Self.self)) }

    /// The labels of the model's sealed attributes; nil when it has none.
    static var sealLabels: SealLabels? { _$description.sealLabels?.takeUnretainedValue() }
}

/// A to-many relationship as queries name it.
public struct ToManyField<Member: Model>: Sendable {
    private let owner: QueryObject
    private let entity: String
    let relationship: Int

    /// Used by the code that `@Model` writes.
    public init<Owner: Model>(_ object: _QueryObject, of owner: Owner.Type, relationship: Int) {
        self.owner = object.place
        entity = Owner._$name
        self.relationship = relationship
    }

    /// The number of members.
    public var count: QueryExpression<Int> { QueryExpression(node(.count) { _ in .everything }) }

    /// Whether there are no members.
    public var isEmpty: QueryExpression<Bool> { !any { _ in .always } }

    /// Returns the number of members that satisfy a condition.
    public func count(
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Int> {
        QueryExpression(node(.count) { condition($0).node })
    }

    /// Returns whether any member satisfies a condition; false when there are no members.
    public func any(
        @QueryBuilder _ condition: (Member.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> {
        QueryExpression(node(.any) { condition($0).node })
    }

    /// Returns whether all members satisfy a condition; true when there are no members.
    public func all(
        @QueryBuilder _ condition: (Member.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> {
        QueryExpression(node(.all) { condition($0).node })
    }

    /// Returns whether an object is a member.
    public func contains(_ member: Member) -> QueryExpression<Bool> {
        contains(member.id)
    }

    /// Returns whether the object with an id is a member.
    public func contains(_ member: ObjectID) -> QueryExpression<Bool> {
        any { $0.id == member }
    }

    private func node(
        _ test: QueryNode.MemberTest, _ condition: (Member.Fields) -> QueryNode
    ) -> QueryNode { node({ _ in test }, condition) }

    fileprivate func node(
        _ test: (Member.Fields) -> QueryNode.MemberTest,
        _ condition: (Member.Fields) -> QueryNode
    ) -> QueryNode {
        let scope = QueryScopes.next()
        let member = QueryObject.member(scope: scope)
        let fields = Member.Fields(_object: _QueryObject(member, of: Member.self))
        return .members(
            test(fields),
            QueryMembers(
                owner: owner, entity: entity, relationship: relationship, scope: scope),
            condition(fields))
    }
}

// MARK: - Aggregates of members

/// Values that are nil do not count.
extension ToManyField {
    /// Returns the sum of a number over the members that satisfy a condition; 0 for none.
    ///
    /// ```swift
    /// let busy = try context.fetch(Notebook.self) { $0.articles.sum(\.wordCount) > 10_000 }
    /// ```
    ///
    /// A sum that does not fit the type is nil, as a calculation that overflows.
    ///
    /// - Complexity: O(members) per object.
    public func sum<T: NumericValue>(
        _ value: (Member.Fields) -> QueryExpression<T>,
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<T> { QueryExpression(node(.sum, { value($0).node }, condition)) }

    /// Returns the sum of a number over the members that satisfy a condition and have it.
    ///
    /// - Complexity: O(members) per object.
    public func sum<T: NumericValue>(
        _ value: (Member.Fields) -> QueryExpression<T?>,
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<T> { QueryExpression(node(.sum, { value($0).node }, condition)) }

    /// Returns the average of a number over the members that satisfy a condition; nil for none.
    ///
    /// - Complexity: O(members) per object.
    public func average<T: NumericValue>(
        _ value: (Member.Fields) -> QueryExpression<T>,
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<Double?> {
        QueryExpression(node(.average, { value($0).node }, condition))
    }

    /// Returns the average of a number over the members that satisfy a condition and have it.
    ///
    /// - Complexity: O(members) per object.
    public func average<T: NumericValue>(
        _ value: (Member.Fields) -> QueryExpression<T?>,
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<Double?> {
        QueryExpression(node(.average, { value($0).node }, condition))
    }

    /// Returns the least value of the members that satisfy a condition; nil for none.
    ///
    /// - Complexity: O(members) per object.
    public func min<T: OrderedValue>(
        _ value: (Member.Fields) -> QueryExpression<T>,
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<T?> { QueryExpression(node(.least, { value($0).node }, condition)) }

    /// Returns the least value of the members that satisfy a condition and have one.
    ///
    /// - Complexity: O(members) per object.
    public func min<T: OrderedValue>(
        _ value: (Member.Fields) -> QueryExpression<T?>,
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<T?> { QueryExpression(node(.least, { value($0).node }, condition)) }

    /// Returns the greatest value of the members that satisfy a condition; nil for none.
    ///
    /// ```swift
    /// let latestFirst = context.fetch(Notebook.self)
    ///     .sorted(by: { $0.articles.max(\.postedAt) }, .descending)
    /// ```
    ///
    /// - Complexity: O(members) per object.
    public func max<T: OrderedValue>(
        _ value: (Member.Fields) -> QueryExpression<T>,
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<T?> { QueryExpression(node(.greatest, { value($0).node }, condition)) }

    /// Returns the greatest value of the members that satisfy a condition and have one.
    ///
    /// - Complexity: O(members) per object.
    public func max<T: OrderedValue>(
        _ value: (Member.Fields) -> QueryExpression<T?>,
        @QueryBuilder where condition: (Member.Fields) -> QueryExpression<Bool> = { _ in .always }
    ) -> QueryExpression<T?> { QueryExpression(node(.greatest, { value($0).node }, condition)) }

    private func node(
        _ aggregate: QueryNode.Aggregate, _ value: (Member.Fields) -> QueryNode,
        _ condition: (Member.Fields) -> QueryExpression<Bool>
    ) -> QueryNode {
        node({ .aggregate(aggregate, value($0)) }, { condition($0).node })
    }
}

// MARK: - The elements of arrays of embedded values, of which nil has none

/// An array of embedded values, or an optional one.
public protocol _EmbeddedArray {
    /// The type of the elements.
    associatedtype _Element: EmbeddedValue
}

extension Array: _EmbeddedArray where Element: EmbeddedValue {
    /// The type of the elements.
    public typealias _Element = Element
}

extension Optional: _EmbeddedArray where Wrapped: _EmbeddedArray {
    /// The type of the elements.
    public typealias _Element = Wrapped._Element
}

extension QueryExpression where Value: _EmbeddedArray {
    /// Returns whether any element of the array satisfies a condition; false when there is none.
    ///
    /// ```swift
    /// let orders = try context.fetch(PurchaseOrder.self) { $0.lines.any { $0.amount > 2 } }.all()
    /// ```
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func any(
        @QueryBuilder _ condition: (Value._Element.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> {
        QueryExpression<Bool>(elements({ _ in .any }, condition))
    }

    /// Returns whether all elements of the array satisfy a condition; true when there is none.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func all(
        @QueryBuilder _ condition: (Value._Element.Fields) -> QueryExpression<Bool>
    ) -> QueryExpression<Bool> {
        QueryExpression<Bool>(elements({ _ in .all }, condition))
    }

    /// Returns the number of elements of the array that satisfy a condition.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func count(
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<Int> {
        QueryExpression<Int>(elements({ _ in .count }, condition))
    }

    /// Returns the sum of a number over the elements that satisfy a condition; 0 for none.
    ///
    /// ```swift
    /// let large = try context.fetch(PurchaseOrder.self) { $0.lines.sum(\.amount) > 100 }.all()
    /// ```
    ///
    /// A sum that does not fit the type is nil, as a calculation that overflows.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func sum<T: NumericValue>(
        _ value: (Value._Element.Fields) -> QueryExpression<T>,
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<T> {
        QueryExpression<T>(
            elements({ .aggregate(.sum, value($0).node) }, condition))
    }

    /// Returns the sum of a number over the elements that satisfy a condition and have it.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func sum<T: NumericValue>(
        _ value: (Value._Element.Fields) -> QueryExpression<T?>,
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<T> {
        QueryExpression<T>(
            elements({ .aggregate(.sum, value($0).node) }, condition))
    }

    /// Returns the average of a number over the elements that satisfy a condition; nil for none.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func average<T: NumericValue>(
        _ value: (Value._Element.Fields) -> QueryExpression<T>,
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<Double?> {
        QueryExpression<Double?>(
            elements({ .aggregate(.average, value($0).node) }, condition))
    }

    /// Returns the average of a number over the elements that satisfy a condition and have it.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func average<T: NumericValue>(
        _ value: (Value._Element.Fields) -> QueryExpression<T?>,
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<Double?> {
        QueryExpression<Double?>(
            elements({ .aggregate(.average, value($0).node) }, condition))
    }

    /// Returns the least value of the elements that satisfy a condition; nil for none.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func min<T: OrderedValue>(
        _ value: (Value._Element.Fields) -> QueryExpression<T>,
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<T?> {
        QueryExpression<T?>(
            elements({ .aggregate(.least, value($0).node) }, condition))
    }

    /// Returns the least value of the elements that satisfy a condition and have one.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func min<T: OrderedValue>(
        _ value: (Value._Element.Fields) -> QueryExpression<T?>,
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<T?> {
        QueryExpression<T?>(
            elements({ .aggregate(.least, value($0).node) }, condition))
    }

    /// Returns the greatest value of the elements that satisfy a condition; nil for none.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func max<T: OrderedValue>(
        _ value: (Value._Element.Fields) -> QueryExpression<T>,
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<T?> {
        QueryExpression<T?>(
            elements({ .aggregate(.greatest, value($0).node) }, condition))
    }

    /// Returns the greatest value of the elements that satisfy a condition and have one.
    ///
    /// - Complexity: O(elements) per object: elements have no index.
    public func max<T: OrderedValue>(
        _ value: (Value._Element.Fields) -> QueryExpression<T?>,
        @QueryBuilder where condition: (Value._Element.Fields) -> QueryExpression<Bool> = { _ in
            .always
        }
    ) -> QueryExpression<T?> {
        QueryExpression<T?>(
            elements({ .aggregate(.greatest, value($0).node) }, condition))
    }

    private func elements<Fields: _EmbeddedFields>(
        _ test: (Fields) -> QueryNode.MemberTest, _ condition: (Fields) -> QueryExpression<Bool>
    ) -> QueryNode {
        guard case .property(let owner, let slot) = node else {
            trap("a condition for the elements of a value that is no attribute: name the attribute")
        }
        let scope = QueryScopes.next()
        let fields = Fields(_object: _QueryObject(.element(scope: scope)), slot: 0)
        return .elements(
            test(fields), QueryElements(owner: owner, slot: slot, scope: scope),
            condition(fields).node)
    }
}

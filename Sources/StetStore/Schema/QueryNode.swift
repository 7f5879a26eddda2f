/// An expression that a query evaluates for each object, as data: a tree of slots and values,
/// without model types.
///
/// The closures of `fetch`, the text that the tool parses and the expressions of derived attributes
/// build it.
package indirect enum QueryNode: Hashable, Sendable {
    case constant(Value)
    /// The value of a property.
    case property(QueryObject, slot: Slot)
    /// The object's id.
    case id(QueryObject)
    case comparison(Comparison, QueryNode, QueryNode)
    /// Whether a value equals one of several.
    case isIn(QueryNode, [Value])
    /// Whether one text contains another.
    case text(TextSearch, QueryNode, QueryNode)
    /// A text without the differences that a folding ignores.
    case folded(QueryNode, TextFolding)
    case all([QueryNode])
    case any([QueryNode])
    case not(QueryNode)
    case arithmetic(Arithmetic, QueryNode, QueryNode)
    /// The first value, or the second where the first is nil.
    case coalesced(QueryNode, QueryNode)
    /// Whether members of a relationship satisfy a condition, how many do, or an aggregate of them.
    case members(MemberTest, QueryMembers, QueryNode)
    /// Whether elements of an array of embedded values satisfy a condition, how many do, or an
    /// aggregate of them.
    case elements(MemberTest, QueryElements, QueryNode)
    /// Whether a sealed attribute has a value.
    case sealed(QueryObject, slot: Slot, SealedMatch)
    /// Whether an object has the words of a search.
    case matching(QueryObject, TextMatch)
    /// The rank of an object in the result of a search, the lowest one first.
    case rank(QueryObject, TextMatch)

    /// The comparison of two values.
    ///
    /// It works as in Swift: nil equals nil, and is neither above nor below anything; NaN does not
    /// equal itself; canonically equivalent texts are equal.
    package enum Comparison: Hashable, Sendable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    }

    /// The place at which one text is searched for in another, character by character.
    package enum TextSearch: Hashable, Sendable { case prefix, suffix, anywhere }

    /// An operation of numbers of one type, or a concatenation of text, which adds; a result that
    /// does not fit the type, and a division of integers or decimals by 0, have no value.
    package enum Arithmetic: Hashable, Sendable { case add, subtract, multiply, divide, remainder }

    /// The test of members, and of elements.
    package enum MemberTest: Hashable, Sendable {
        case any, all, count
        /// An aggregate of a value of those that satisfy the condition; nil values do not count.
        case aggregate(Aggregate, QueryNode)
    }

    /// An aggregate of values; the sum of none is 0, others are nil.
    package enum Aggregate: Hashable, Sendable { case sum, average, least, greatest }

    /// The condition that all objects satisfy.
    package static let everything = QueryNode.all([])
    /// The condition that no object satisfies.
    package static let nothing = QueryNode.any([])

    /// Returns the conjunction of two conditions, in one list.
    package static func both(_ one: QueryNode, _ other: QueryNode) -> QueryNode {
        switch (one, other) {
        case (.all(let ones), .all(let others)): .all(ones + others)
        case (.all(let ones), _): .all(ones + [other])
        case (_, .all(let others)): .all([one] + others)
        default: .all([one, other])
        }
    }

    /// Returns the disjunction of two conditions, in one list.
    package static func either(_ one: QueryNode, _ other: QueryNode) -> QueryNode {
        switch (one, other) {
        case (.any(let ones), .any(let others)): .any(ones + others)
        case (.any(let ones), _): .any(ones + [other])
        case (_, .any(let others)): .any([one] + others)
        default: .any([one, other])
        }
    }
}

/// An object that a query reads.
package indirect enum QueryObject: Hashable, Sendable {
    /// The queried object.
    case root
    /// The member that a condition of members tests.
    case member(scope: Int)
    /// The element that a condition of elements tests, as an object whose properties are its
    /// members.
    case element(scope: Int)
    /// The target of another object's reference in a slot.
    case target(QueryObject, slot: Slot, entity: String)
}

/// The members of a relationship of an object.
package struct QueryMembers: Hashable, Sendable {
    package let owner: QueryObject
    /// The name of the owner's entity.
    package let entity: String
    /// The index of the relationship among those of its entity.
    package let relationship: Int
    /// The number that distinguishes the members of this condition from the members of enclosing
    /// ones.
    package let scope: Int

    package init(owner: QueryObject, entity: String, relationship: Int, scope: Int) {
        self.owner = owner
        self.entity = entity
        self.relationship = relationship
        self.scope = scope
    }
}

/// The elements of an array of embedded values of an object.
package struct QueryElements: Hashable, Sendable {
    package let owner: QueryObject
    /// The slot of the array.
    package let slot: Slot
    /// The number that distinguishes the elements of this condition from those of enclosing ones.
    package let scope: Int

    package init(owner: QueryObject, slot: Slot, scope: Int) {
        self.owner = owner
        self.slot = slot
        self.scope = scope
    }
}

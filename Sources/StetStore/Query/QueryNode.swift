import Synchronization

/// An expression that a query evaluates for each object, as data: a tree of slots and values,
/// without model types.
///
/// Both the closures of `fetch` and the text that the tool parses build it.
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
    /// Whether members of a relationship satisfy a condition, or how many do.
    case members(MemberTest, QueryMembers, QueryNode)
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

    /// An operation of numbers of one type; a result that does not fit the type, and a division of
    /// integers or decimals by 0, have no value.
    package enum Arithmetic: Hashable, Sendable { case add, subtract, multiply, divide, remainder }

    /// The test of members.
    package enum MemberTest: Hashable, Sendable { case any, all, count }

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

/// Assigns a unique number to every condition of members.
package enum QueryScopes {
    private static let last = Atomic(0)

    package static func next() -> Int {
        last.add(1, ordering: .relaxed).newValue
    }
}

/// A sort criterion of a result.
package struct QueryOrder: Hashable, Sendable {
    package let node: QueryNode
    package let isDescending: Bool

    package init(_ node: QueryNode, isDescending: Bool = false) {
        self.node = node
        self.isDescending = isDescending
    }
}

/// A query of an entity: a condition, an order, and a part of the result.
package struct StoreQuery: Hashable, Sendable {
    /// The number of the entity.
    package var entity: EntityNumber
    package var condition = QueryNode.everything
    /// The sort criteria, the most significant one first; objects with equal values come in the
    /// order of their ids, in the direction of the last criterion.
    package var order: [QueryOrder] = []
    package var limit: Int?
    package var offset = 0
    /// The position after which the results begin, in the order of the query.
    package var after: Position?

    package init(entity: EntityNumber) { self.entity = entity }

    /// An object with which a page ends.
    package struct Position: Hashable, Sendable {
        package let id: ObjectID
        package let body: [UInt8]
        /// The properties whose values are known; nil for all.
        package let slots: Set<Slot>?
        /// The rank of the object; nil where it follows from the values.
        package let rank: Double?

        package init(
            id: ObjectID, body: [UInt8], slots: Set<Slot>? = nil, rank: Double? = nil
        ) {
            self.id = id
            self.body = body
            self.slots = slots
            self.rank = rank
        }
    }

    /// The end of the page among all objects; `.max` where it has none.
    var end: Int {
        guard let limit else { return .max }
        let (end, overflows) = limit.addingReportingOverflow(offset)
        return overflows ? .max : end
    }

    /// True when ids descend among objects with equal values.
    var isDescendingByID: Bool { order.last?.isDescending ?? false }
}

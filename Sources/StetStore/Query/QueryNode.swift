import Synchronization

/// What a query computes for each object, as data: a tree that knows slots and values, and no model
/// type.
///
/// The closures of `fetch` and the text that the tool reads both build it.
package indirect enum QueryNode: Hashable, Sendable {
    case constant(Value)
    /// The value of a property.
    case property(QueryObject, slot: Slot)
    /// The object's id.
    case id(QueryObject)
    case comparison(Comparison, QueryNode, QueryNode)
    /// Whether a value is equal to one of some.
    case isIn(QueryNode, [Value])
    /// Whether one text holds another.
    case text(TextSearch, QueryNode, QueryNode)
    /// A text without the differences that a folding takes away.
    case folded(QueryNode, TextFolding)
    case all([QueryNode])
    case any([QueryNode])
    case not(QueryNode)
    case arithmetic(Arithmetic, QueryNode, QueryNode)
    /// The first value, or the second where there is none.
    case coalesced(QueryNode, QueryNode)
    /// Whether members of a relationship meet a condition, or how many do.
    case members(MemberTest, QueryMembers, QueryNode)

    /// How two values are compared.
    ///
    /// As Swift does: nil is equal to nil, and neither above nor below anything; NaN is not equal
    /// to itself; text is equal when it is canonically equivalent.
    package enum Comparison: Hashable, Sendable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    }

    /// Where one text is looked for in another, character by character.
    package enum TextSearch: Hashable, Sendable { case prefix, suffix, anywhere }

    /// An operation of numbers of one type; a result that does not fit the type, and a division of
    /// integers or decimals by 0, have no value.
    package enum Arithmetic: Hashable, Sendable { case add, subtract, multiply, divide, remainder }

    /// What is asked of members.
    package enum MemberTest: Hashable, Sendable { case any, all, count }

    /// The condition that all objects meet.
    package static let everything = QueryNode.all([])
    /// The condition that none meets.
    package static let nothing = QueryNode.any([])

    /// Both conditions, in one list.
    package static func both(_ one: QueryNode, _ other: QueryNode) -> QueryNode {
        switch (one, other) {
        case (.all(let ones), .all(let others)): .all(ones + others)
        case (.all(let ones), _): .all(ones + [other])
        case (_, .all(let others)): .all([one] + others)
        default: .all([one, other])
        }
    }

    /// Either condition, in one list.
    package static func either(_ one: QueryNode, _ other: QueryNode) -> QueryNode {
        switch (one, other) {
        case (.any(let ones), .any(let others)): .any(ones + others)
        case (.any(let ones), _): .any(ones + [other])
        case (_, .any(let others)): .any([one] + others)
        default: .any([one, other])
        }
    }
}

/// An object that a query looks at.
package indirect enum QueryObject: Hashable, Sendable {
    /// The one that is asked about.
    case root
    /// The member that a condition of members looks at.
    case member(scope: Int)
    /// What another object refers to in a slot.
    case target(QueryObject, slot: Slot, entity: String)
}

/// The members of a relationship of an object.
package struct QueryMembers: Hashable, Sendable {
    package let owner: QueryObject
    /// The name of the owner's entity.
    package let entity: String
    /// The place of the relationship among those of its entity.
    package let relationship: Int
    /// What tells the members of this condition from those of others around it.
    package let scope: Int

    package init(owner: QueryObject, entity: String, relationship: Int, scope: Int) {
        self.owner = owner
        self.entity = entity
        self.relationship = relationship
        self.scope = scope
    }
}

/// Gives every condition of members a number of its own.
package enum QueryScopes {
    private static let last = Atomic(0)

    package static func next() -> Int {
        last.add(1, ordering: .relaxed).newValue
    }
}

/// What a result is sorted by.
package struct QueryOrder: Hashable, Sendable {
    package let node: QueryNode
    package let isDescending: Bool

    package init(_ node: QueryNode, isDescending: Bool = false) {
        self.node = node
        self.isDescending = isDescending
    }
}

/// Which objects of an entity are wanted, in which order.
package struct StoreQuery: Hashable, Sendable {
    /// The number of the entity.
    package var entity: EntityNumber
    package var condition = QueryNode.everything
    /// The most important first; objects that are alike come in the order of their ids, in the
    /// direction of the last of these.
    package var order: [QueryOrder] = []
    package var limit: Int?
    package var offset = 0
    /// Only what comes behind an object that has this body, as the order tells.
    package var after: Position?

    package init(entity: EntityNumber) { self.entity = entity }

    /// An object by which a page ends.
    package struct Position: Hashable, Sendable {
        package let id: ObjectID
        package let body: [UInt8]
        /// The properties whose values are known; nil for all.
        package let slots: Set<Slot>?

        package init(id: ObjectID, body: [UInt8], slots: Set<Slot>? = nil) {
            self.id = id
            self.body = body
            self.slots = slots
        }
    }

    /// Where the page ends among all objects; `.max` where it does not.
    var end: Int {
        guard let limit else { return .max }
        let (end, overflows) = limit.addingReportingOverflow(offset)
        return overflows ? .max : end
    }

    /// True when ids descend among objects that are alike.
    var isDescendingByID: Bool { order.last?.isDescending ?? false }
}

import Synchronization

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

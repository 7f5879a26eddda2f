/// The place of an object in the order of a query, by the values that decide it.
package struct QueryBookmark: Hashable, Sendable {
    package let id: ObjectID
    /// The values, by the names of their properties.
    package let values: [String: Value]

    package init(id: ObjectID, values: [String: Value]) {
        self.id = id
        self.values = values
    }
}

extension QueryRun {
    /// The name under which a place has the rank of a search; no property has it.
    private static let rank = "-rank"

    /// The search by whose rank the query sorts.
    private var rankedMatch: TextMatch? {
        for order in query.order { if case .rank(.root, let match) = order.node { return match } }
        return nil
    }

    /// The properties of an object that its place in the order depends on.
    private var orderSlots: Set<Slot> {
        var order = StoreQuery(entity: query.entity)
        order.order = query.order
        return QueryReads(order, in: state.schema).slots
    }

    /// The name of a hidden property that the place of an object in the order would show.
    package var hiddenOrder: String? {
        let properties = state.entity(query.entity).properties
        return orderSlots.sorted().first { properties[$0].isHidden }.map { properties[$0].name }
    }

    /// The place of an object, with what the condition fixes where an index of both is walked,
    /// unless that is hidden; it has no such values where other entities lack the properties.
    package func bookmark(of row: Row, isOfOneEntity: Bool = true) throws -> QueryBookmark {
        let entity = state.entity(query.entity)
        var slots = orderSlots
        if isOfOneEntity, let ordered = try orderedIndex() {
            slots.formUnion(
                ordered.index.index.parts.map(\.slot).filter { !entity.properties[$0].isHidden })
        }
        let body = try RecordBody(row.body, of: entity)
        let values = try slots.map { (entity.properties[$0].name, try body.value($0)) }
        var named = Dictionary(uniqueKeysWithValues: values)
        if let rankedMatch {
            let score = try state.textSearch(rankedMatch, query.entity).score(row, state)
            named[Self.rank] = .double(-score)
        }
        return QueryBookmark(id: row.id, values: named)
    }

    /// The position of a place; nil when the place lacks a value that the order needs, or has one
    /// that is not of its property's type.
    package func position(_ bookmark: QueryBookmark) throws -> StoreQuery.Position? {
        let entity = state.entity(query.entity)
        guard (bookmark.values[Self.rank] == nil) == (rankedMatch == nil) else { return nil }
        var values = [Value](repeating: .null, count: entity.properties.count)
        var slots: Set<Slot> = []
        var rank: Double?
        for (name, value) in bookmark.values {
            if name == Self.rank, rankedMatch != nil, case .double(let number) = value {
                rank = number
                continue
            }
            guard
                let slot = entity.properties.slots.first(where: {
                    entity.properties[$0].name == name
                }), entity.properties[slot].accepts(value)
            else { return nil }
            values[slot] = value
            slots.insert(slot)
        }
        guard slots.isSuperset(of: orderSlots) else { return nil }
        let body = try EncodedBody(values, of: entity)
        return StoreQuery.Position(id: bookmark.id, body: body.bytes, slots: slots, rank: rank)
    }
}

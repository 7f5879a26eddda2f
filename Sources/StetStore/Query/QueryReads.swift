/// The properties and relationships that the conditions and the order of a query read.
///
/// A change of one of its own objects affects only that object; a change of another object that it
/// reads may affect any of its objects.
struct QueryReads {
    /// The parts that are read of other objects of an entity.
    private struct Reads {
        var slots: Set<Slot> = []
        /// The links that lead to the objects as members.
        var links: Set<FeedInterest.LinkEnd> = []
    }

    private let schema: Schema
    private let root: EntityNumber
    /// The properties of the query's own objects.
    private(set) var slots: Set<Slot> = []
    private var others: [EntityNumber: Reads] = [:]

    /// Creates the reads of a query, and of nodes that are also evaluated for its objects.
    init(_ query: StoreQuery, beside nodes: [QueryNode] = [], in schema: Schema) {
        self.schema = schema
        root = query.entity
        add(query.condition, [:])
        for order in query.order { add(order.node, [:]) }
        for node in nodes { add(node, [:]) }
    }

    /// The changes of other than the queried objects that may change the result.
    var dependencies: [FeedInterest] {
        others.sorted { $0.key < $1.key }.map { entity, reads in
            var interest = FeedInterest(inEntity: entity, of: schema)
            interest.slots = reads.slots
            interest.links = reads.links
            return interest
        }
    }

    /// The slots in which an object must be the same in the last commit for indexes to describe it.
    var ownSlots: SlotSet {
        let own = SlotSet(slots)
        guard let text = schema.textIndex(ofEntity: root)?.slots(in: schema),
            !own.isDisjoint(with: text)
        else { return own }
        // An index of words counts those of all its attributes.
        return own.union(text)
    }

    // MARK: Collecting

    private mutating func add(_ node: QueryNode, _ members: [Int: EntityNumber]) {
        switch node {
        case .constant: break
        case .property(let object, let slot): add(slot, of: object, members)
        case .id(let object): addWay(to: object, members)
        case .comparison(_, let one, let other), .text(_, let one, let other),
            .arithmetic(_, let one, let other), .coalesced(let one, let other):
            add(one, members)
            add(other, members)
        case .isIn(let node, _), .folded(let node, _), .not(let node): add(node, members)
        case .all(let nodes), .any(let nodes): for node in nodes { add(node, members) }
        case .members(let test, let list, let condition):
            add(list, [condition, test.value ?? .everything], members)
        case .elements(let test, let array, let condition):
            add(array.slot, of: array.owner, members)
            for node in [condition, test.value ?? .everything] { add(node, members) }
        case .sealed(let object, let slot, _): add(slot, of: object, members)
        case .matching(let object, let match):
            for attribute in match.attributes { add(attribute.slot, of: object, members) }
        case .rank(let object, _): addRank(of: object, members)
        }
    }

    /// Adds the words of all objects, because a rank depends on how frequent a word is.
    private mutating func addRank(of object: QueryObject, _ members: [Int: EntityNumber]) {
        addWay(to: object, members)
        guard let entity = entity(of: object, members),
            let index = schema.textIndex(ofEntity: entity)
        else { return }
        others[entity, default: Reads()].slots.formUnion(index.index.parts.map(\.slot))
    }

    private mutating func add(
        _ slot: Slot, of object: QueryObject, _ members: [Int: EntityNumber]
    ) {
        addWay(to: object, members)
        // The array that an element belongs to is read as a whole.
        if case .element = object { return }
        if object == .root {
            slots.insert(slot)
        } else if let entity = entity(of: object, members) {
            others[entity, default: Reads()].slots.insert(slot)
        }
    }

    /// Adds the references on the path to an object, and the existence of its target.
    private mutating func addWay(to object: QueryObject, _ members: [Int: EntityNumber]) {
        guard case .target(let owner, let slot, _) = object else { return }
        add(slot, of: owner, members)
        guard let entity = entity(of: object, members) else { return }
        others[entity] = others[entity] ?? Reads()
    }

    private mutating func add(
        _ list: QueryMembers, _ nodes: [QueryNode], _ members: [Int: EntityNumber]
    ) {
        addWay(to: list.owner, members)
        guard let owner = schema.entity(named: list.entity),
            let relationship = owner.relationships.element(at: list.relationship),
            let end = schema.membersEnd(of: relationship)
        else { return }
        var reads = others[end.member] ?? Reads()
        switch end.source {
        case .reference(let slot): reads.slots.insert(slot)
        case .targets(let link): reads.links.insert(.init(link: link, isOfSources: true))
        case .sources(let link): reads.links.insert(.init(link: link, isOfSources: false))
        }
        others[end.member] = reads
        var inner = members
        inner[list.scope] = end.member
        for node in nodes { add(node, inner) }
    }

    private func entity(
        of object: QueryObject, _ members: [Int: EntityNumber]
    ) -> EntityNumber? {
        switch object {
        case .root: root
        case .member(let scope): members[scope]
        case .element: nil
        case .target(_, _, let name): schema.number(ofEntity: name)
        }
    }
}

extension NumberedIndex {
    /// Returns the slots that determine the entries of an object.
    func slots(in schema: Schema) -> SlotSet {
        let query = StoreQuery(entity: entity, index.condition ?? .everything)
        return SlotSet(QueryReads(query, in: schema).slots.union(index.parts.map(\.slot)))
    }
}

/// The changes that may alter the result of a query, for observers.
package enum LiveQueryInterests {
    /// Returns interests in the changes of the query's objects, with all of their values.
    package static func ofObjects(
        of query: StoreQuery, beside nodes: [QueryNode] = [], in schema: Schema
    ) -> [FeedInterest] {
        var own = FeedInterest(inEntity: query.entity, of: schema)
        own.links = []
        return [own] + QueryReads(query, beside: nodes, in: schema).dependencies
    }

    /// Returns the interests of a query for values of nodes: changes of the objects that satisfy
    /// it, and of the values that the nodes read.
    package static func ofValues(
        _ nodes: [QueryNode], of query: StoreQuery, in schema: Schema
    ) -> [FeedInterest] {
        let reads = QueryReads(query, beside: nodes, in: schema)
        var own = FeedInterest(inEntity: query.entity, of: schema)
        own.links = []
        own.slots = reads.slots
        return [own] + reads.dependencies
    }
}

extension FeedInterest {
    /// Returns the interest in words.
    func text(in schema: Schema) -> String {
        let entity = schema.entities[entity]
        var names = (slots ?? []).sorted().map { entity.properties[$0].name }
        names += Set(links.map(\.link)).sorted().compactMap {
            schema.links.element(at: $0 - 1)?.name
        }
        return names.isEmpty ? entity.name : "\(entity.name).\(names.joined(separator: ", "))"
    }
}

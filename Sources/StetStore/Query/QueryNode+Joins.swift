extension QueryNode {
    /// The conditions that must all be satisfied.
    var conjuncts: [QueryNode] {
        if case .all(let nodes) = self { return nodes.flatMap(\.conjuncts) }
        return [self]
    }

    /// The slot, the target's entity and the condition for the target, if the node reads only the
    /// target of one reference and is false when that is nil; otherwise nil.
    var lookingFromTarget: (slot: Slot, entity: String, node: QueryNode)? {
        var found: (slot: Slot, entity: String)?
        var isOnlyThat = true
        let moved = mapObjects { object in
            guard let (slot, entity, place) = object.firstStep else {
                isOnlyThat = false
                return object
            }
            if found?.slot ?? slot != slot { isOnlyThat = false }
            found = (slot, entity)
            return place
        }
        guard isOnlyThat, let found, let moved, isFalseWithoutValues else { return nil }
        return (found.slot, found.entity, moved)
    }

    /// Returns the condition for the member itself, if the node reads only the member of a
    /// condition; otherwise nil.
    func lookingFromMember(_ scope: Int) -> QueryNode? {
        var isOnlyThat = true
        let moved = mapObjects { object in
            guard let place = object.fromMember(scope) else {
                isOnlyThat = false
                return object
            }
            return place
        }
        return isOnlyThat ? moved : nil
    }

    /// Returns the node with every object replaced; nil when it has conditions of members.
    private func mapObjects(_ change: (QueryObject) -> QueryObject) -> QueryNode? {
        func map(_ nodes: [QueryNode]) -> [QueryNode]? {
            let mapped = nodes.compactMap { $0.mapObjects(change) }
            return mapped.count == nodes.count ? mapped : nil
        }
        func map(
            _ one: QueryNode, _ other: QueryNode, _ make: (QueryNode, QueryNode) -> QueryNode
        ) -> QueryNode? {
            guard let nodes = map([one, other]) else { return nil }
            return make(nodes[0], nodes[1])
        }
        switch self {
        case .constant: return self
        case .property(let object, let slot): return .property(change(object), slot: slot)
        case .id(let object): return .id(change(object))
        case .comparison(let comparison, let one, let other):
            return map(one, other) { .comparison(comparison, $0, $1) }
        case .isIn(let node, let values):
            return node.mapObjects(change).map { .isIn($0, values) }
        case .text(let search, let one, let other):
            return map(one, other) { .text(search, $0, $1) }
        case .folded(let node, let folding):
            return node.mapObjects(change).map { .folded($0, folding) }
        case .all(let nodes): return map(nodes).map { .all($0) }
        case .any(let nodes): return map(nodes).map { .any($0) }
        case .not(let node): return node.mapObjects(change).map { .not($0) }
        case .arithmetic(let operation, let one, let other):
            return map(one, other) { .arithmetic(operation, $0, $1) }
        case .coalesced(let one, let other): return map(one, other) { .coalesced($0, $1) }
        case .members: return nil
        }
    }

    /// True when the condition is certainly not satisfied where nothing has a value.
    private var isFalseWithoutValues: Bool {
        switch self {
        case .comparison(let comparison, let one, let other):
            switch comparison {
            case .less, .lessOrEqual, .greater, .greaterOrEqual:
                one.isNullWithoutValues || other.isNullWithoutValues
            case .equal:
                (one.isNullWithoutValues && other.isValue)
                    || (other.isNullWithoutValues && one.isValue)
            case .notEqual: one.isNullWithoutValues && other == .constant(.null)
            }
        case .isIn(let node, let values): node.isNullWithoutValues && !values.contains(.null)
        case .text(_, let one, let other): one.isNullWithoutValues || other.isNullWithoutValues
        case .all(let nodes): nodes.contains(where: \.isFalseWithoutValues)
        case .any(let nodes): nodes.allSatisfy(\.isFalseWithoutValues)
        case .property: true
        default: false
        }
    }

    private var isNullWithoutValues: Bool {
        switch self {
        case .property, .id, .constant(.null): true
        case .folded(let node, _): node.isNullWithoutValues
        case .arithmetic(_, let one, let other):
            one.isNullWithoutValues || other.isNullWithoutValues
        default: false
        }
    }

    private var isValue: Bool {
        if case .constant(let value) = self { return value != .null }
        return false
    }
}

extension QueryObject {
    /// The first slot of the path, the entity that it leads to, and the rest of the path; nil for
    /// the object itself and for members.
    fileprivate var firstStep: (slot: Slot, entity: String, rest: QueryObject)? {
        guard case .target(let owner, let slot, let entity) = self else { return nil }
        if owner == .root { return (slot, entity, .root) }
        return owner.firstStep.map { first in
            (first.slot, first.entity, .target(first.rest, slot: slot, entity: entity))
        }
    }

    /// Returns the path from a member; nil when it begins elsewhere.
    fileprivate func fromMember(_ scope: Int) -> QueryObject? {
        switch self {
        case .member(scope): .root
        case .target(let owner, let slot, let entity):
            owner.fromMember(scope).map { .target($0, slot: slot, entity: entity) }
        default: nil
        }
    }
}

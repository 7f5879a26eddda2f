extension QueryNode {
    /// The conditions that must all be satisfied.
    var conjuncts: [QueryNode] {
        guard case .all(let nodes) = self else { return [self] }
        return nodes.contains(where: \.isConjunction) ? nodes.flatMap(\.conjuncts) : nodes
    }

    private var isConjunction: Bool {
        if case .all = self { true } else { false }
    }

    /// The slot, the target's entity and the condition for the target, if the node reads only the
    /// target of one reference and is false when that is nil; otherwise nil.
    var lookingFromTarget: (slot: Slot, entity: String, node: QueryNode)? {
        // Most conditions read the object itself, and need not be copied.
        guard let first = firstRead, first.object.firstStep != nil else { return nil }
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
        guard isOnlyThat, let found, isFalseWithoutValues else { return nil }
        return (found.slot, found.entity, moved)
    }

    /// The object that the node reads first, in the order of its text, with the slot if it reads a
    /// property of it; nil where it reads none outside of the conditions in it.
    var firstRead: (object: QueryObject, slot: Slot?)? {
        switch self {
        case .constant: nil
        case .property(let object, let slot), .sealed(let object, let slot, _): (object, slot)
        case .id(let object), .matching(let object, _), .rank(let object, _): (object, nil)
        case .comparison(_, let one, let other), .text(_, let one, let other),
            .arithmetic(_, let one, let other), .coalesced(let one, let other):
            one.firstRead ?? other.firstRead
        case .isIn(let node, _), .folded(let node, _), .not(let node): node.firstRead
        case .all(let nodes), .any(let nodes): nodes.lazy.compactMap(\.firstRead).first
        case .members(_, let members, _): (members.owner, nil)
        case .elements(_, let array, _): (array.owner, nil)
        }
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

    /// True when the node reads, besides constants, only the member of a condition.
    func readsOnlyMember(_ scope: Int) -> Bool { lookingFromMember(scope) != nil }

    /// True when the node tests or counts members.
    var readsMembers: Bool {
        switch self {
        case .constant, .property, .id: false
        case .comparison(_, let one, let other), .text(_, let one, let other),
            .arithmetic(_, let one, let other), .coalesced(let one, let other):
            one.readsMembers || other.readsMembers
        case .isIn(let node, _), .folded(let node, _), .not(let node): node.readsMembers
        case .all(let nodes), .any(let nodes): nodes.contains(where: \.readsMembers)
        case .members: true
        case .elements(let test, _, let node):
            node.readsMembers || test.value?.readsMembers ?? false
        case .sealed, .matching, .rank: false
        }
    }

    /// Returns the node with the properties of the queried object replaced, for a node that reads
    /// nothing else.
    func mapSlots(_ change: (Slot) -> Slot) -> QueryNode { mapObjects({ $0 }, slots: change) }

    /// Returns the node with every object replaced that is not a member of a condition in it.
    private func mapObjects(
        _ change: (QueryObject) -> QueryObject, slots: (Slot) -> Slot = { $0 }
    ) -> QueryNode {
        func map(_ node: QueryNode) -> QueryNode { node.mapObjects(change, slots: slots) }
        switch self {
        case .constant: return self
        case .property(let object, let slot): return .property(change(object), slot: slots(slot))
        case .id(let object): return .id(change(object))
        case .comparison(let comparison, let one, let other):
            return .comparison(comparison, map(one), map(other))
        case .isIn(let node, let values): return .isIn(map(node), values)
        case .text(let search, let one, let other): return .text(search, map(one), map(other))
        case .folded(let node, let folding): return .folded(map(node), folding)
        case .all(let nodes): return .all(nodes.map(map))
        case .any(let nodes): return .any(nodes.map(map))
        case .not(let node): return .not(map(node))
        case .arithmetic(let operation, let one, let other):
            return .arithmetic(operation, map(one), map(other))
        case .coalesced(let one, let other): return .coalesced(map(one), map(other))
        case .sealed(let object, let slot, let match):
            return .sealed(change(object), slot: slot, match)
        case .matching(let object, let match): return .matching(change(object), match)
        case .rank(let object, let match): return .rank(change(object), match)
        case .members(let test, let members, let node):
            let moved = QueryMembers(
                owner: change(members.owner), entity: members.entity,
                relationship: members.relationship, scope: members.scope)
            let (value, inner) = mapInside(test, node, change) {
                $0.isReached(fromMember: members.scope)
            }
            return .members(value, moved, inner)
        case .elements(let test, let array, let node):
            let moved = QueryElements(
                owner: change(array.owner), slot: array.slot, scope: array.scope)
            let (value, inner) = mapInside(test, node, change) {
                $0 == .element(scope: array.scope)
            }
            return .elements(value, moved, inner)
        }
    }

    /// Returns a test of members or elements and their condition with every object replaced except
    /// for those that are kept.
    private func mapInside(
        _ test: MemberTest, _ condition: QueryNode, _ change: (QueryObject) -> QueryObject,
        keeping isKept: (QueryObject) -> Bool
    ) -> (MemberTest, QueryNode) {
        func map(_ node: QueryNode) -> QueryNode {
            node.mapObjects { isKept($0) ? $0 : change($0) }
        }
        return (test.mapValue(map), map(condition))
    }

    /// The members of the queried object, and what their number is compared with, if the node is
    /// nothing but such a comparison, and 0 does not satisfy it; otherwise nil.
    var countedMembers: (members: QueryMembers, comparison: Comparison, number: Int)? {
        switch self {
        case .members(.any, let members, .everything) where members.owner == .root:
            return (members, .greater, 0)
        case .comparison(
            let comparison, .members(.count, let members, .everything), .constant(.int(let number)))
        where members.owner == .root && !comparison.holds(0, number):
            return (members, comparison, number)
        case .comparison(let comparison, .constant(let number), let other):
            guard case .constant = other else {
                return QueryNode.comparison(comparison.flipped, other, .constant(number))
                    .countedMembers
            }
            return nil
        default: return nil
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
        case .property, .members(.any, _, _), .sealed, .matching: true
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

extension QueryNode.MemberTest {
    /// The value of which it is an aggregate; nil for other tests.
    var value: QueryNode? { if case .aggregate(_, let value) = self { value } else { nil } }

    fileprivate func mapValue(_ change: (QueryNode) -> QueryNode) -> Self {
        guard case .aggregate(let aggregate, let value) = self else { return self }
        return .aggregate(aggregate, change(value))
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

    /// Returns whether the path begins at the member of a condition.
    fileprivate func isReached(fromMember scope: Int) -> Bool { fromMember(scope) != nil }

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

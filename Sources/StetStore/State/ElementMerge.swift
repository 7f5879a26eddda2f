/// The merge of an array of embedded values that both sides have changed, by element.
///
/// Elements are matched by their identity. A member that one side has changed gets its value, an
/// element that one side has added stays, one that a side has removed and the other not changed
/// goes. The order is that of the side that has changed it; if both have, that of the favored side.
struct ElementMerge {
    /// The merged array.
    let list: Value
    /// True when both sides have changed the same member differently, or one has removed an element
    /// that the other has changed: the merged array then has what the favored side wants.
    let isContested: Bool

    /// Merges three values of a property.
    ///
    /// - Returns: nil when elements have no identity, two elements of an array have the same, or a
    ///   side has no array.
    init?(base: Value, mine: Value, theirs: Value, of property: Property, favorsMine: Bool) {
        guard let elements = property.embedded, let identity = elements.identity,
            let base = IdentifiedElements(base, elements, identity),
            let mine = IdentifiedElements(mine, elements, identity),
            let theirs = IdentifiedElements(theirs, elements, identity)
        else { return nil }
        let sides = Sides(
            base: base, mine: mine, theirs: theirs, elements: elements, favorsMine: favorsMine)
        var isContested = false
        let merged = sides.order.compactMap { id -> Value? in
            let (element, isContestedHere) = sides.element(id)
            if isContestedHere { isContested = true }
            return element.map(elements.element)
        }
        list = .list(merged)
        self.isContested = isContested
    }
}

/// The elements of an array, with their members in the order of the slots, by identity.
private struct IdentifiedElements {
    let order: [Value]
    let members: [Value: [Value]]

    init?(_ value: Value, _ elements: EmbeddedElements, _ identity: Slot) {
        guard case .list(let list) = value else { return nil }
        var order: [Value] = []
        var members: [Value: [Value]] = [:]
        for element in list {
            guard let values = elements.members(of: element),
                members.updateValue(values, forKey: values[identity]) == nil
            else { return nil }
            order.append(values[identity])
        }
        self.order = order
        self.members = members
    }
}

private struct Sides {
    let base: IdentifiedElements
    let mine: IdentifiedElements
    let theirs: IdentifiedElements
    let elements: EmbeddedElements
    let favorsMine: Bool

    /// Returns the merged members of an element, nil when it is removed, and whether both sides
    /// want something else.
    func element(_ id: Value) -> (members: [Value]?, isContested: Bool) {
        let (before, wanted, present) = (base.members[id], mine.members[id], theirs.members[id])
        switch ThreeWay.decide(base: before, mine: wanted, theirs: present, ==) {
        case .theirs: return (present, false)
        case .mine: return (wanted, false)
        default: break
        }
        guard let before, let wanted, let present else {
            return (favorsMine ? wanted : present, true)
        }
        var (merged, isContested) = (present, false)
        for slot in elements.entity.properties.slots {
            switch ThreeWay.decide(
                base: before[slot], mine: wanted[slot], theirs: present[slot], ==)
            {
            case .theirs: break
            case .mine: merged[slot] = wanted[slot]
            default:
                isContested = true
                if favorsMine { merged[slot] = wanted[slot] }
            }
        }
        return (merged, isContested)
    }

    /// The identities of all elements of both sides, in the merged order.
    var order: [Value] {
        let hasMoved = (mine: isMoved(mine), theirs: isMoved(theirs))
        return hasMoved.mine && (favorsMine || !hasMoved.theirs)
            ? merged(mine.order, with: theirs.order) : merged(theirs.order, with: mine.order)
    }

    /// Returns whether a side has changed the order of the elements that it shares with the base.
    private func isMoved(_ side: IdentifiedElements) -> Bool {
        base.order.filter { side.members[$0] != nil }
            != side.order.filter { base.members[$0] != nil }
    }

    /// Returns an order with the further elements of another one, each after the element that it
    /// follows there.
    private func merged(_ first: [Value], with second: [Value]) -> [Value] {
        let known = Set(first)
        var followers: [Value?: [Value]] = [:]
        var last: Value?
        for id in second {
            if known.contains(id) { last = id } else { followers[last, default: []].append(id) }
        }
        return (followers[nil] ?? []) + first.flatMap { [$0] + (followers[$0] ?? []) }
    }
}

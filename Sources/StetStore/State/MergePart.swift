/// Values that are merged together.
package enum MergePart: Hashable, Sendable {
    case property(Slot)
    /// An optional embedded value as a whole, with the decision about it.
    case whole(OptionalValue, ThreeWay)

    /// The slots of a whole value for which the changes of `mine` count, also over those of
    /// `theirs`.
    var wanted: [Slot] {
        guard case .whole(let value, let decision) = self, decision != .theirs else { return [] }
        return value.slots
    }
}

extension Entity {
    /// Returns all properties, in the order of their slots; `decide` returns the decision about an
    /// optional value that is merged as a whole.
    package func mergeParts(
        _ decide: (OptionalValue) throws -> ThreeWay?
    ) rethrows -> [MergePart] {
        var parts: [MergePart] = []
        var end: Slot = 0
        for slot in properties.slots where slot >= end {
            guard let value = optionalValue(at: slot), slot == value.presence,
                let decision = try decide(value)
            else {
                parts.append(.property(slot))
                continue
            }
            parts.append(.whole(value, decision))
            end = value.end
        }
        return parts
    }
}

extension OptionalValue {
    /// Decides about the value as a whole; nil when all sides have it: they are merged by member.
    ///
    /// A side that removes the value and one that changes a member of it are in conflict, as are
    /// two sides that set it. Without a `base`, both sides have inserted the object.
    package func decide<T>(
        base: (Slot) throws -> T?, mine: (Slot) throws -> T?, theirs: (Slot) throws -> T?,
        _ areEqual: (T?, T?) -> Bool
    ) rethrows -> ThreeWay? {
        let sides = try [base(presence), mine(presence), theirs(presence)]
        if sides.allSatisfy({ $0 != nil }) { return nil }
        func isSame(_ one: (Slot) throws -> T?, _ other: (Slot) throws -> T?) rethrows -> Bool {
            try compared.allSatisfy { areEqual(try one($0), try other($0)) }
        }
        if try isSame(mine, base) || isSame(mine, theirs) { return .theirs }
        return try isSame(theirs, base) ? .mine : .contested
    }

    /// Decides about the value as a whole, as the function about any representation does.
    package func decide(base: [Value]?, mine: [Value], theirs: [Value]) -> ThreeWay? {
        decide(
            base: { base?[$0].unlessNull }, mine: { mine[$0].unlessNull },
            theirs: { theirs[$0].unlessNull }, ==)
    }
}

extension Value {
    fileprivate var unlessNull: Value? { self == .null ? nil : self }
}

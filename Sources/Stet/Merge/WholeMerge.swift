import StetStore

/// The merge of an optional embedded value as a whole, because one side does not have it.
struct WholeMerge {
    let value: OptionalValue
    let decision: ThreeWay
    let entity: Entity
    let object: ObjectID
    /// The values of all properties; nil for an object that both sides have inserted.
    let base: [Value]?
    let mine: [Value]
    let theirs: [Value]

    /// The three values as a policy sees them.
    var conflict: Conflict.Property {
        Conflict.Property(
            entity: entity.name, object: object, property: entity.properties[value.presence].name,
            base: entity.whole(value, of: base), mine: entity.whole(value, of: mine),
            theirs: entity.whole(value, of: theirs), isHidden: entity.isHidden(value))
    }

    /// True when a side has changed the value.
    var isChanged: Bool {
        let conflict = conflict
        return conflict.mine != conflict.base || conflict.theirs != conflict.base
    }

    /// Sets the merged values; returns false when the policy does not decide.
    func merge(into merged: inout [Value], by policy: MergePolicy) throws -> Bool {
        guard let values = try values(by: policy) else { return false }
        for (slot, value) in values { merged[slot] = value }
        return true
    }

    /// Returns the merged values by slot; nil when the policy does not decide.
    func values(by policy: MergePolicy) throws -> [Slot: Value]? {
        switch decision {
        case .mine: return Dictionary(uniqueKeysWithValues: value.slots.map { ($0, mine[$0]) })
        case .contested:
            let conflict = conflict
            guard let whole = try policy.value(of: conflict, decision) else { return nil }
            guard let values = entity.values(of: value, whole: whole) else {
                trap(
                    "a merge policy gave a value that does not fit \(entity.name)."
                        + "\(conflict.property): return nil, or a dictionary of all its members")
            }
            return values
        case .theirs, .counted, .overflowing, .merged, .mergedInPart: return [:]
        }
    }
}

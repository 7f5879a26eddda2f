import StetStore

/// The values of an object before and after a change of a change set, as far as it shows them: an
/// update has only the changed members of an embedded value.
struct ChangedSides {
    private let change: CheckedChange
    private let theirs: [Value]
    private(set) var base: [Value]
    private(set) var mine: [Value]
    /// The optional values of which the change has a part that the object does not complete.
    private var partial: Set<OptionalValue> = []

    init(_ change: CheckedChange, _ now: [Value], _ entity: Entity) {
        self.change = change
        theirs = now
        (base, mine) = (now, now)
        for value in entity.optionalValues where touches(value) {
            let isWhole = change.new[value.presence] != nil
            if !isWhole, now[value.presence] == .null { partial.insert(value) }
            for slot in value.slots {
                // A change of members alone leaves the value present.
                let other = slot == value.presence ? .bool(true) : isWhole ? .null : now[slot]
                base[slot] = change.old[slot] ?? other
                mine[slot] = change.new[slot] ?? other
            }
        }
    }

    /// Returns whether the change has a part of an optional value.
    func touches(_ value: OptionalValue) -> Bool {
        value.slots.contains { change.new[$0] != nil }
    }

    /// Decides about an optional value as a whole; nil when it is merged by member.
    func decide(_ value: OptionalValue, _ kind: ChangeKind) -> ThreeWay? {
        let decision = value.decide(
            base: kind == .insert ? nil : base, mine: mine, theirs: theirs)
        guard kind == .insert, decision != nil else { return decision }
        return value.slots.allSatisfy { mine[$0] == theirs[$0] } ? .theirs : .contested
    }

    /// Returns the merged values of an optional value by slot; nil when the policy does not decide,
    /// or decides for values of which the change has only a part.
    func values(_ merge: WholeMerge, by policy: MergePolicy) throws -> [Slot: Value]? {
        guard merge.decision == .contested, partial.contains(merge.value) else {
            return try merge.values(by: policy)
        }
        guard let whole = try policy.value(of: merge.conflict, merge.decision),
            whole != merge.conflict.mine
        else {
            return nil
        }
        return merge.entity.values(of: merge.value, whole: whole)
    }
}

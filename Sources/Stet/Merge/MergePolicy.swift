public import StetStore

/// What becomes of pending changes to objects that others have saved meanwhile: asked by a save
/// that was refused because the store had moved, and by `refresh()`.
///
/// All policies but `.fail` merge property by property, from three values: what both sides began
/// with, what is pending here, and what is stored now. A property that one side has changed keeps
/// that change; only where both have changed it, and not to the same value, the policy decides. The
/// result is validated like every save. Properties that are stamped with each update are never in
/// conflict.
public struct MergePolicy: Sendable {
    enum Rule: Sendable {
        case fail
        case storeWins
        case contextWins
        case custom(@Sendable (PropertyConflict) throws -> Value)
    }
    let rule: Rule
    /// By entity and property.
    private var reducers: [[String]: @Sendable (PropertyConflict) -> Value?] = [:]

    private init(_ rule: Rule) {
        self.rule = rule
    }

    /// Any change of others to an object with pending changes is a `ConflictError`.
    public static let fail = MergePolicy(.fail)

    /// The stored value stays.
    ///
    /// An object that others have deleted is deleted; one that they have changed is not deleted; a
    /// reference to an object that they have deleted is nil.
    public static let mergeStoreWins = MergePolicy(.storeWins)

    /// The pending value is saved.
    ///
    /// An object that others have deleted and that was edited here is inserted again, with its id;
    /// one that was deleted here is deleted whatever they changed. A reference to an object that
    /// they have deleted is a `ConflictError`.
    public static let mergeContextWins = MergePolicy(.contextWins)

    /// A closure decides about each contested property: it gives the value, or throws to refuse.
    ///
    /// An object that one side has deleted and the other changed is a `ConflictError`.
    ///
    /// - Parameter resolve: gets the three values; called on the isolation of the context, more
    ///   than once when the store keeps moving.
    /// - Returns: a policy that asks it.
    public static func custom(
        _ resolve: @escaping @Sendable (_ conflict: PropertyConflict) throws -> Value
    ) -> MergePolicy {
        MergePolicy(.custom(resolve))
    }

    /// The same policy, with another way to merge one property:
    /// `.mergeStoreWins.merging(Article.self, \.views, by: .sum)`.
    ///
    /// `.fail` does not merge and asks no reducer.
    ///
    /// - Parameters:
    ///   - model: whose property it is.
    ///   - property: as a field of the model's snapshot.
    ///   - reducer: makes one value of three.
    /// - Returns: the policy with the reducer.
    public func merging<M: Model, V: StoredValue>(
        _ model: M.Type, _ property: KeyPath<M.Snapshot, V>, by reducer: MergeReducer<V>
    ) -> MergePolicy {
        guard let slot = M._$description.slot(of: property) else {
            trap("merging(_:_:by:) with a key path that is no property of \(M.self)")
        }
        var policy = self
        let name = M._$description.entity.properties[slot].name
        policy.reducers[[M._$name, name]] = { conflict in
            guard let base = V(_value: conflict.base), let mine = V(_value: conflict.mine),
                let theirs = V(_value: conflict.theirs)
            else { return nil }
            return reducer.merge(base, mine, theirs)._value
        }
        return policy
    }

    /// The value of a contested property; nil when there is none.
    func value(of conflict: PropertyConflict) throws -> Value? {
        if let reducer = reducers[[conflict.entity, conflict.property]],
            let value = reducer(conflict)
        {
            return value
        }
        switch rule {
        case .fail: return nil
        case .storeWins: return conflict.theirs
        case .contextWins: return conflict.mine
        case .custom(let resolve): return try resolve(conflict)
        }
    }
}

/// Makes one value of the three that a property has when both sides have changed it.
public struct MergeReducer<V: StoredValue>: Sendable {
    let merge: @Sendable (_ base: V, _ mine: V, _ theirs: V) -> V

    /// A reducer of your own.
    ///
    /// - Parameter merge: gets the value that both sides began with, the pending and the stored
    ///   one.
    public init(_ merge: @escaping @Sendable (_ base: V, _ mine: V, _ theirs: V) -> V) {
        self.merge = merge
    }
}

extension MergeReducer where V: Comparable {
    /// The greater of the two values.
    public static var max: MergeReducer {
        MergeReducer { _, mine, theirs in Swift.max(mine, theirs) }
    }

    /// The smaller of the two values.
    public static var min: MergeReducer {
        MergeReducer { _, mine, theirs in Swift.min(mine, theirs) }
    }
}

extension MergeReducer where V: FixedWidthInteger {
    /// Both changes together: what was added here is added to the stored value.
    ///
    /// A sum that the type cannot hold is the largest or smallest value that it can.
    public static var sum: MergeReducer {
        MergeReducer { base, mine, theirs in
            V(clamping: Int128(theirs) + Int128(mine) - Int128(base))
        }
    }
}

extension MergeReducer where V: FloatingPoint {
    /// Both changes together: what was added here is added to the stored value.
    public static var sum: MergeReducer {
        MergeReducer { base, mine, theirs in theirs + (mine - base) }
    }
}

extension MergeReducer where V: RangeReplaceableCollection, V.Element: Hashable {
    /// Both changes together: the stored elements without those that were removed here, then those
    /// that were added here; each element once.
    public static var union: MergeReducer {
        MergeReducer { base, mine, theirs in
            let before = Set(base)
            let kept = Set(mine)
            var seen: Set<V.Element> = []
            let stored = theirs.filter { kept.contains($0) || !before.contains($0) }
            let added = mine.filter { !before.contains($0) }
            return V((Array(stored) + Array(added)).filter { seen.insert($0).inserted })
        }
    }
}

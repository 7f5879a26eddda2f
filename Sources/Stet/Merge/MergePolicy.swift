public import StetStore

/// The rule by which pending changes are merged with those that others have saved to the same
/// objects; used by `refresh()` and by a save whose base has changed.
///
/// All policies but `.fail` merge property by property, from three values: the common base, the
/// pending value and the stored value. A property that one side has changed keeps that change; the
/// policy decides only where both have changed it to different values. The result is validated like
/// every save. Properties that are stamped with each update are never in conflict, and counters get
/// the increments of both sides.
///
/// ```swift
/// context.mergePolicy = .mergeContextWins.merging(Article.self, \.rating, by: .max)
/// ```
public struct MergePolicy: Sendable {
    enum Rule: Sendable {
        case fail
        case storeWins
        case contextWins
        case custom(@Sendable (Conflict.Property) throws -> Value)
    }
    let rule: Rule
    /// The reducers, by entity and property.
    private var reducers: [[String]: @Sendable (Conflict.Property) -> Value?] = [:]

    private init(_ rule: Rule) {
        self.rule = rule
    }

    /// Makes any change of others to an object with pending changes a `ConflictError`, unless one
    /// side has changed only counters, or the others have changed it back.
    public static let fail = MergePolicy(.fail)

    /// Keeps the stored value of a contested property.
    ///
    /// An object that others have deleted stays deleted; an object that they have changed is not
    /// deleted; a reference to an object that they have deleted becomes nil.
    public static let mergeStoreWins = MergePolicy(.storeWins)

    /// Saves the pending value of a contested property.
    ///
    /// An object that others have deleted and that was edited here is inserted again, with its id;
    /// an object that was deleted here is deleted, whatever they have changed. A reference to an
    /// object that they have deleted is a `ConflictError`.
    public static let mergeContextWins = MergePolicy(.contextWins)

    /// Returns a policy whose closure decides about each contested property: it returns the value,
    /// or throws to refuse the merge.
    ///
    /// An object that one side has deleted and the other changed is a `ConflictError`.
    ///
    /// - Parameter resolve: receives the three values; called on the isolation of the context, more
    ///   than once when the store keeps changing.
    /// - Returns: a policy that calls the closure.
    public static func custom(
        _ resolve: @escaping @Sendable (_ conflict: Conflict.Property) throws -> Value
    ) -> MergePolicy {
        MergePolicy(.custom(resolve))
    }

    /// Returns the policy with a reducer that merges one property:
    /// `.mergeStoreWins.merging(Article.self, \.views, by: .sum)`.
    ///
    /// `.fail` does not merge and calls no reducer.
    ///
    /// - Parameters:
    ///   - model: the model of the property.
    ///   - property: the property, as a field of the model's snapshot.
    ///   - reducer: computes one value from the three.
    /// - Returns: the policy with the reducer.
    public func merging<M: Model, V: StoredValue>(
        _ model: M.Type, _ property: KeyPath<M.Snapshot, V>, by reducer: MergePolicy.Reducer<V>
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

    /// Returns the value of a contested property; nil when the policy does not decide.
    ///
    /// The decision is the one for the side that the policy favors.
    func value(of conflict: Conflict.Property, _ decision: ThreeWay) throws -> Value? {
        if let reducer = reducers[[conflict.entity, conflict.property]],
            let value = reducer(conflict)
        {
            return value
        }
        switch (rule, decision) {
        case (.fail, _): return nil
        case (.storeWins, .mergedInPart(let array)), (.contextWins, .mergedInPart(let array)):
            return array
        case (.storeWins, _): return conflict.theirs
        case (.contextWins, _): return conflict.mine
        case (.custom(let resolve), _): return try resolve(conflict)
        }
    }
}

extension MergePolicy {
    /// A function that computes one value from the three of a property that both sides have
    /// changed.
    public struct Reducer<V: StoredValue>: Sendable {
        let merge: @Sendable (_ base: V, _ mine: V, _ theirs: V) -> V

        /// Creates a reducer from a closure.
        ///
        /// - Parameter merge: receives the value that both sides started from, the pending value
        ///   and the stored one.
        public init(_ merge: @escaping @Sendable (_ base: V, _ mine: V, _ theirs: V) -> V) {
            self.merge = merge
        }
    }
}

extension MergePolicy.Reducer where V: Comparable {
    /// Returns the greater of the two values.
    public static var max: Self {
        Self { _, mine, theirs in Swift.max(mine, theirs) }
    }

    /// Returns the smaller of the two values.
    public static var min: Self {
        Self { _, mine, theirs in Swift.min(mine, theirs) }
    }
}

extension MergePolicy.Reducer where V: FixedWidthInteger {
    /// Combines both changes: adds the difference made here to the stored value.
    ///
    /// A sum outside the range of the type is clamped to its largest or smallest value.
    public static var sum: Self {
        Self { base, mine, theirs in
            V(clamping: Int128(theirs) + Int128(mine) - Int128(base))
        }
    }
}

extension MergePolicy.Reducer where V: FloatingPoint {
    /// Combines both changes: adds the difference made here to the stored value.
    public static var sum: Self {
        Self { base, mine, theirs in theirs + (mine - base) }
    }
}

extension MergePolicy.Reducer where V: RangeReplaceableCollection, V.Element: Hashable {
    /// Combines both changes: the stored elements without those that were removed here, followed by
    /// those that were added here; each element once.
    public static var union: Self {
        Self { base, mine, theirs in
            let before = Set(base)
            let kept = Set(mine)
            var seen: Set<V.Element> = []
            let stored = theirs.filter { kept.contains($0) || !before.contains($0) }
            let added = mine.filter { !before.contains($0) }
            return V((Array(stored) + Array(added)).filter { seen.insert($0).inserted })
        }
    }
}

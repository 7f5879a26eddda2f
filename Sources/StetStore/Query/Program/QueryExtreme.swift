/// The least or the greatest of some values; nil and NaN do not count.
package struct QueryExtreme: Sendable {
    private let comparison: QueryNode.Comparison
    /// The least or the greatest value; nil for no values.
    package private(set) var best: Value?
    /// The number of values that equal the best one.
    private var bestCount = 0

    /// Creates an aggregate of the least value for `.less`, of the greatest for `.greater`.
    package init(_ comparison: QueryNode.Comparison) { self.comparison = comparison }

    package mutating func add(_ value: Value) {
        guard counts(value) else { return }
        guard let best, !comparison.holds(value, best) else {
            best = value
            bestCount = 1
            return
        }
        if !comparison.holds(best, value) { bestCount += 1 }
    }

    /// Removes a value that was added; returns false when the best value is no longer known.
    package mutating func remove(_ value: Value) -> Bool {
        guard counts(value), let best else { return true }
        if comparison.holds(best, value) { return true }
        bestCount -= 1
        return bestCount > 0
    }

    private func counts(_ value: Value) -> Bool { value != .null && !value.isNaN }
}

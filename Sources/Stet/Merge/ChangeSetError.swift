public import StetStore

/// The error of a change set that does not match the models of the store.
///
/// Nothing was applied.
public struct ChangeSetError: Error, Sendable, Hashable {
    /// One mismatch.
    public struct Problem: Sendable, Hashable {
        /// The entity that the change names.
        public let entity: String
        /// The id that the change names.
        public let object: ObjectID
        /// The property; nil when the problem concerns the change as a whole.
        public let property: String?
        /// The problem, as a sentence without a full stop.
        public let message: String
    }

    /// All mismatches, in the order of the change set; of values that their types cannot represent,
    /// such as raw values without a case, one for each object.
    public let problems: [Problem]

    /// Creates the error from problems in any order.
    init(_ problems: [Problem], in changeSet: ChangeSet) {
        var places: [ObjectID: Int] = [:]
        for (place, change) in changeSet.changes.enumerated() where places[change.id] == nil {
            places[change.id] = place
        }
        let ordered = problems.enumerated().sorted {
            (places[$0.element.object] ?? 0, $0.offset)
                < (places[$1.element.object] ?? 0, $1.offset)
        }
        self.problems = ordered.map(\.element)
    }
}

extension ChangeSetError: CustomStringConvertible {
    /// One line per problem.
    public var description: String {
        problems.map { problem in
            let place = problem.property.map { "\(problem.entity).\($0)" } ?? problem.entity
            return "\(place) of \(problem.object): \(problem.message)"
        }.joined(separator: "\n")
    }
}

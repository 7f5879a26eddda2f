import StetStore

extension MigrationPlan {
    /// The steps of opening a store with some models, in words.
    public struct Outline: Sendable, Hashable {
        /// The steps that would be done, each a phrase: "adds Article.rating, int, as 0"; empty
        /// when the store already has these models.
        public let steps: [String]
        /// The reasons why `Store.open(at:for:configuration:)` would refuse the models, each a
        /// phrase; empty when it would not.
        public let problems: [String]

        /// True when the store can be opened with the models.
        public var isPossible: Bool { problems.isEmpty }

        fileprivate init(_ outline: (steps: [String], problems: [String])) {
            steps = outline.steps
            problems = outline.problems
        }
    }
}

extension MigrationPlan.Outline: CustomStringConvertible {
    /// A line for each step and each problem.
    public var description: String {
        if steps.isEmpty, problems.isEmpty { return "nothing to migrate" }
        return (steps + problems.map { "not possible: \($0)" }).joined(separator: "\n")
    }
}

extension Store {
    /// Returns the steps that `open(at:for:configuration:)` would take to migrate a store from
    /// other models; changes nothing.
    ///
    /// Values are not read: only the migration itself finds values that a new unique index does not
    /// allow.
    ///
    /// - Parameters:
    ///   - path: the path of the store.
    ///   - models: the models that the store should have.
    ///   - configuration: the configuration, as for opening the store.
    /// - Returns: the steps and the obstacles.
    /// - Throws: `StoreError`: `.notFound` for a missing file, `.invalidSchema`, and the errors of
    ///   opening.
    /// - Complexity: as for opening the store.
    public static func plan(
        at path: String, for models: any Model.Type...,
        configuration: Store.Configuration = Store.Configuration()
    ) throws -> MigrationPlan.Outline {
        try plan(at: path, for: models, configuration: configuration)
    }

    /// Returns the steps that opening a store with an array of models would take; changes nothing.
    ///
    /// - Throws: the errors of the form with a list of models.
    public static func plan(
        at path: String, for models: [any Model.Type],
        configuration: Store.Configuration = Store.Configuration()
    ) throws -> MigrationPlan.Outline {
        let graph = try ModelGraph(models, removing: configuration.removedModels)
        return MigrationPlan.Outline(
            try StoreFile.outline(
                at: path, schema: try graph.schema(), origins: graph.origins, configuration.ofFile))
    }

    /// Returns the steps that opening this store with other models would take, once it is closed
    /// everywhere.
    ///
    /// - Throws: `StoreError`: `.invalidSchema`, `.storeClosed`.
    public func plan(for models: any Model.Type...) throws -> MigrationPlan.Outline {
        let graph = try ModelGraph(models, removing: configuration.removedModels)
        return MigrationPlan.Outline(
            try file.outline(schema: try graph.schema(), origins: graph.origins))
    }
}

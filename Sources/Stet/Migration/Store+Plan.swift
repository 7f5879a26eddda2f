import StetStore

/// What opening a store with some models would do to it, in words.
public struct MigrationOutline: Sendable, Hashable {
    /// What would be done, a phrase each: "adds Article.rating, int, as 0"; empty when the store
    /// has these models already.
    public let steps: [String]
    /// Why `Store.open(at:for:configuration:)` would refuse, a phrase each; empty when it would
    /// not.
    public let problems: [String]

    /// True when the store can be opened with the models.
    public var isPossible: Bool { problems.isEmpty }
}

extension MigrationOutline: CustomStringConvertible {
    /// A line for each step and each problem.
    public var description: String {
        if steps.isEmpty, problems.isEmpty { return "nothing to migrate" }
        return (steps + problems.map { "not possible: \($0)" }).joined(separator: "\n")
    }
}

extension Store {
    /// What `open(at:for:configuration:)` would do to a store that was made for other models;
    /// nothing is changed.
    ///
    /// Values are not looked at: those that a new unique index does not allow are met by the
    /// migration itself.
    ///
    /// - Parameters:
    ///   - path: of the store.
    ///   - models: those that it is to have.
    ///   - configuration: as for opening it.
    /// - Returns: the steps and the obstacles.
    /// - Throws: `StoreError`: `.notFound` for a missing file, `.invalidSchema`, and what opening
    ///   throws.
    /// - Complexity: that of opening the store.
    public static func plan(
        at path: String, for models: any Model.Type...,
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> MigrationOutline {
        try plan(at: path, for: models, configuration: configuration)
    }

    /// The same for an array of models.
    public static func plan(
        at path: String, for models: [any Model.Type],
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> MigrationOutline {
        let graph = try ModelGraph(models)
        let outline = try StoreFile.outline(
            at: path, schema: try graph.schema(), origins: graph.origins,
            configuration.ofFile)
        return MigrationOutline(steps: outline.steps, problems: outline.problems)
    }

    /// What opening this store with other models would do to it, once everybody has closed it.
    ///
    /// - Throws: `StoreError`: `.invalidSchema`, `.storeClosed`.
    public func plan(for models: any Model.Type...) throws -> MigrationOutline {
        let graph = try ModelGraph(models)
        let outline = try file.outline(
            schema: try graph.schema(), origins: graph.origins)
        return MigrationOutline(steps: outline.steps, problems: outline.problems)
    }
}

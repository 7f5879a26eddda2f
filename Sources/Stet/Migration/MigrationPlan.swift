import StetStore

/// The versions that the models of a store have had, and the code that leads from one to the next
/// where the models alone do not say it.
///
/// ```swift
/// let plan = MigrationPlan(
///     .version(Version1.Person.self),
///     .version(Person.self) { step in
///         try step.forEach(Version1.Person.self, Person.self) { old, new in
///             new.name = "\(old.first) \(old.last)"
///         }
///     })
/// let store = try Store.open(at: path, migrating: plan)
/// ```
///
/// The classes of earlier versions stay in the program, each version in an enum of its own; the
/// name of the class is that of the model. Versions between which no code is needed may be listed
/// as well, so that each `originalName:` is met by the version it means.
public struct MigrationPlan: Sendable {
    /// One version of the models.
    public struct Version: Sendable {
        let models: [any Model.Type]
        let step: (@Sendable (MigrationStep) throws -> Void)?

        /// A version that the one before it becomes without code, as a light migration.
        public static func version(_ models: any Model.Type...) -> Version {
            Version(models: models, step: nil)
        }

        /// A version that the one before it becomes by a light migration, and then by `step`.
        ///
        /// Here a property may be new, or not be optional any more, or have another type, without a
        /// default value: it is 0, "", empty or false until the step gives it a value; an enum, a
        /// `URL` and a `CodableAttribute` need a default value still.
        public static func version(
            _ models: any Model.Type..., step: @escaping @Sendable (MigrationStep) throws -> Void
        ) -> Version {
            Version(models: models, step: step)
        }
    }

    let versions: [Version]

    /// A plan of these versions, the oldest first; the last one is that of the present models.
    public init(_ versions: Version...) {
        self.versions = versions
    }
}

extension Store {
    /// Opens the store at `path` with the models of a plan's last version; creates it when there is
    /// no file.
    ///
    /// A store of an earlier version goes through the versions in between. Their steps work on
    /// copies beside the store (`PATH.migrating-N`), which others go on to use meanwhile; when all
    /// steps are done, every object has been validated, and the copy has been verified, the store
    /// takes over the copy's commits in one transaction: all of them or, when anything fails, none.
    /// Where the process ends, or `migrationProgress` throws, the copies stay, and the next attempt
    /// goes on at the last 1,000 objects, unless the store has changed: who changes a step before
    /// that removes them. Of two who migrate one waits.
    ///
    /// - Parameters:
    ///   - path: as for `open(at:for:seededFrom:configuration:)`.
    ///   - plan: the versions.
    ///   - seed: as for `open(at:for:seededFrom:configuration:)`.
    ///   - configuration: sizes, what is allowed, the clock, who is told of the progress.
    /// - Returns: the store.
    /// - Throws: what a step throws; `ValidationError`, naming the objects that are not valid in
    ///   the last version; `StoreError`, as for `open(at:for:seededFrom:configuration:)`:
    ///   `.modelMismatch` when the store has none of the versions.
    /// - Complexity: a copy of the store for each version, and O(objects).
    public static func open(
        at path: String, migrating plan: MigrationPlan, seededFrom seed: String? = nil,
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> Store {
        let models = plan.versions.last?.models ?? []
        try StagedMigration(path, plan, configuration).run()
        return try open(at: path, for: models, seededFrom: seed, configuration: configuration)
    }
}

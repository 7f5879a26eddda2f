import StetStore

/// The versions of the models of a store, and the code that migrates from one to the next where the
/// models alone do not determine it.
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
/// The classes of earlier versions stay in the program, each version in its own enum; the name of
/// the class is the name of the model. Versions between which no code is needed may be listed, too,
/// so that each `originalName:` refers to the version before it.
public struct MigrationPlan: Sendable {
    /// One version of the models.
    public struct Version: Sendable {
        let models: [any Model.Type]
        let step: (@Sendable (MigrationPlan.Step) throws -> Void)?

        /// Returns a version that is reached from the previous one without code, by a light
        /// migration.
        public static func version(_ models: any Model.Type...) -> Version {
            Version(models: models, step: nil)
        }

        /// Returns a version that is reached from the previous one by a light migration, followed
        /// by `step`.
        ///
        /// In such a version a property that is new, no longer optional or of another type needs no
        /// default value: it is 0, "", empty or false until the step sets it. An enum, a `URL` and
        /// a `CodableAttribute` still need a default value.
        public static func version(
            _ models: any Model.Type...,
            step: @escaping @Sendable (MigrationPlan.Step) throws -> Void
        ) -> Version {
            Version(models: models, step: step)
        }
    }

    let versions: [Version]

    /// Creates a plan from versions, the oldest first; the last one contains the current models.
    public init(_ versions: Version...) {
        self.versions = versions
    }
}

extension Store {
    /// Opens the store at `path` with the models of a plan's last version; creates it when there is
    /// no file.
    ///
    /// A store of an earlier version is migrated through the versions in between. Their steps work
    /// on copies beside the store (`PATH.migrating-N`), while others continue to use the store.
    /// When all steps are done, every object has been validated, and the copy has been verified,
    /// the store adopts the copy's commits in one transaction: all of them or, when anything fails,
    /// none. If the process ends or `migrationProgress` throws, the copies stay, and the next
    /// attempt continues with the last 1,000 objects, unless the store has changed; remove the
    /// copies before you change a step. When two processes migrate a store, one of them waits.
    ///
    /// - Parameters:
    ///   - path: the path, as for `open(at:for:seededFrom:journal:configuration:)`.
    ///   - plan: the versions.
    ///   - seed: the seed, as for `open(at:for:seededFrom:journal:configuration:)`.
    ///   - configuration: sizes, allowed places, the clock, and the receiver of the progress.
    /// - Returns: the store.
    /// - Throws: the error of a step; `ValidationError`, which names the objects that are not valid
    ///   in the last version; `StoreError`, as for
    ///   `open(at:for:seededFrom:journal:configuration:)`: `.modelMismatch` when the store has none
    ///   of the versions and the plan has steps, which a light migration would skip.
    /// - Complexity: a copy of the store for each version, and O(objects).
    public static func open(
        at path: String, migrating plan: MigrationPlan, seededFrom seed: String? = nil,
        configuration: Store.Configuration = Store.Configuration()
    ) throws -> Store {
        let models = plan.versions.last?.models ?? []
        try StoreNode.prepare(at: path, configuration.ofFile)
        try StagedMigration(path, plan, configuration).run()
        return try open(at: path, for: models, seededFrom: seed, configuration: configuration)
    }

    /// Opens the store at `path` on a thread of its own, so that a migration blocks no thread of
    /// the cooperative pool.
    ///
    /// It is `open(at:for:seededFrom:journal:configuration:)`, and throws the same errors. The
    /// configuration reports the progress of a migration. Cancellation has no effect.
    ///
    /// - Throws: the errors of `open(at:for:seededFrom:journal:configuration:)`.
    public static func openInBackground(
        at path: String, for models: any Model.Type..., seededFrom seed: String? = nil,
        configuration: Store.Configuration = Store.Configuration()
    ) async throws -> Store {
        try await BlockingWork.run {
            try open(at: path, for: models, seededFrom: seed, configuration: configuration)
        }
    }

    /// Opens the store at `path`, and migrates it with a plan, on a thread of its own.
    ///
    /// It is `open(at:migrating:seededFrom:configuration:)`, and throws the same errors.
    /// Cancellation has no effect.
    ///
    /// - Throws: the errors of `open(at:migrating:seededFrom:configuration:)`.
    public static func openInBackground(
        at path: String, migrating plan: MigrationPlan, seededFrom seed: String? = nil,
        configuration: Store.Configuration = Store.Configuration()
    ) async throws -> Store {
        try await BlockingWork.run {
            try open(at: path, migrating: plan, seededFrom: seed, configuration: configuration)
        }
    }
}

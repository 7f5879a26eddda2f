import StetStore

/// Migrates a store through the versions of a plan, on copies.
struct StagedMigration {
    private let path: String
    private let plan: MigrationPlan
    private let configuration: Store.Configuration
    private static let attemptLimit = 8

    init(_ path: String, _ plan: MigrationPlan, _ configuration: Store.Configuration) {
        self.path = path
        self.plan = plan
        var configuration = configuration
        // Disables trimming: the copies must keep the history of the original.
        configuration.retention = .forever
        self.configuration = configuration
    }

    /// Migrates the store to the last version; does nothing when there is no store, or when it has
    /// the last version.
    ///
    /// A store that has none of them is left to a light migration only if no step could be skipped.
    ///
    /// - Throws: the error of a step; `StoreError`, among them `.modelMismatch`.
    func run() throws {
        guard try StoreFile.exists(path) else { return }
        if try version(ofStoreAt: path) == nil {
            // Models that are to be removed are in no version.
            if configuration.removedModels.isEmpty,
                plan.versions.contains(where: { $0.step != nil }), try hasModels
            {
                throw StoreError.noVersionOfPlan(path: path)
            }
            return
        }
        let lock = try MigrationLock(path)
        defer { lock.release() }
        for attempt in 1... {
            // Another process may have migrated the store while this one waited for the lock.
            guard let start = try version(ofStoreAt: path), start < plan.versions.count - 1 else {
                return
            }
            let isDone = try StoreTracer(configuration.tracer).span("stet.migrate") {
                try migrate(from: start)
            }
            if isDone { return }
            if attempt == Self.attemptLimit { throw StoreError.movesOn(path: path) }
        }
    }

    private var hasModels: Bool {
        get throws {
            let file = try StoreFile.open(at: path, configuration.ofFile)
            return file.schema.entities.contains { !$0.isRemoved }
        }
    }

    /// Returns the number of the last version that a store has; nil when it has none of them.
    private func version(ofStoreAt path: String) throws -> Int? {
        let file = try StoreFile.open(at: path, configuration.ofFile)
        return try plan.versions.lastIndex { version in
            let graph = try ModelGraph(version.models, removing: nil)
            let outline = try file.comparison(with: try graph.schema())
            return outline.steps.isEmpty && outline.problems.isEmpty
        }
    }

    /// Migrates from one version to the last; returns false when others have saved since.
    private func migrate(from start: Int) throws -> Bool {
        let original = try open(path, start, isLenient: false)
        let base = try original.file.read { try $0.head() }
        var isInterrupted = false
        // A later attempt may use different steps, so the copies of a failed one are removed.
        defer { if !isInterrupted { removeCopies() } }
        var source = original
        for version in start + 1..<plan.versions.count {
            let target = try target(version, source, base)
            if let step = plan.versions[version].step {
                let run = try MigrationPlan.Step(
                    from: source, to: target, configuration.migrationProgress)
                defer { isInterrupted = run.isInterrupted }
                try step(run)
            }
            source = target
        }
        try validate(source)
        return try original.file.adopt(source.file, base)
    }

    private func removeCopies() { for version in plan.versions.indices { remove(version) } }

    private func copyPath(_ version: Int) -> String { "\(path).migrating-\(version + 1)" }

    private func remove(_ version: Int) { StoreFile.removeCopy(at: copyPath(version)) }

    private func open(_ path: String, _ version: Int, isLenient: Bool) throws -> Store {
        var configuration = configuration
        configuration.isMigration = path != self.path
        let graph = try ModelGraph(plan.versions[version].models, removing: nil)
        var origins = graph.origins
        origins.allowsPlaceholders = isLenient
        return try Store.open(at: path, graph, origins, configuration)
    }

    /// Returns the copy in which a version is made: the one of an earlier attempt, or a new one.
    private func target(_ version: Int, _ source: Store, _ base: Head) throws -> Store {
        let copy = copyPath(version)
        let isLenient = plan.versions[version].step != nil
        if try StoreFile.exists(copy), try isContinued(copy, source) {
            return try open(copy, version, isLenient: isLenient)
        }
        for later in version..<plan.versions.count { remove(later) }
        _ = try source.file.copy(to: copy)
        return try open(copy, version, isLenient: isLenient)
    }

    /// Returns whether a copy of an earlier attempt continues from its source.
    ///
    /// The copy is closed when this returns, because it has the source's models where the attempt
    /// ended early.
    private func isContinued(_ copy: String, _ source: Store) throws -> Bool {
        guard let file = try? StoreFile.open(at: copy, configuration.ofFile) else { return false }
        defer { file.close() }
        return try file.extends(try source.file.read { try $0.head() })
    }

    /// Throws an error when the store has objects that the last version does not allow, or does not
    /// verify.
    private func validate(_ store: Store) throws {
        if let problem = try store.verify().problems.first {
            throw StoreError.damaged(problem, path: path)
        }
        var violations: [Violation] = []
        for case let type? in store.modelTypes { violations += try Self.violations(type, store) }
        if !violations.isEmpty {
            throw ValidationError(violations: violations.inTotalOrder(), rejected: ChangeSet())
        }
    }

    /// Returns the violations that the rules and validators of a model find in its stored objects.
    private static func violations<M: Model>(_ type: M.Type, _ store: Store) throws -> [Violation] {
        guard let entity = store.file.schema.number(ofEntity: M._$name) else { return [] }
        let revision = try store.revision()
        let none = ChangeSetBuilder(schema: store.file.schema)
        return try PendingStore.withStore(store, revision, none) { view in
            var violations: [Violation] = []
            try store.file.read { reader in
                try reader.forEachRecord(ofEntity: entity, asOf: revision) { id, record in
                    violations += try Self.violations(
                        of: id, record.body, type, entity, store, view)
                    return true
                }
            }
            return violations
        }.0
    }

    private static func violations<M: Model>(
        of id: ObjectID, _ body: UnsafeRawBufferPointer, _ type: M.Type, _ entity: EntityNumber,
        _ store: Store, _ view: PendingStore
    ) throws -> [Violation] {
        let messages = store.configuration.messages
        var net = ChangeSetBuilder(schema: store.file.schema)
        let range = net.copy(body)
        net.append(
            ChangeSetBuilder.Item(
                kind: .insert, entity: entity, id: id, base: .zero, before: 0..<0, after: range))
        var violations = try net.violations(messages)
        for chain in store.configuration.chains {
            violations += try chain.violations(of: net, messages)
        }
        let record = try RecordBody(body, of: store.file.schema.entities[entity])
        return try violations
            + M.validators.violations(
                .insert, id, old: nil, new: M._$decode(id, body), isInvalid: !violations.isEmpty,
                view, messages
            ) { try record.value($0) }
    }
}

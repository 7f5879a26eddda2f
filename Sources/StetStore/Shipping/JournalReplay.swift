import StetLMDB

/// Appends entries of a shipped journal to a copy of the store, with their effects: those of
/// commits by `Projection`, those of migrations by `MigrationWriter`.
struct JournalReplay {
    private let path: String
    private let configuration: StoreFile.Configuration
    private(set) var file: StoreFile
    /// The large values that the entries set, where the copy lacks them.
    private let values: ShippedValues?

    /// Opens a copy that nobody else uses, and inspects its pages.
    init(_ path: String, _ values: ShippedValues? = nil) throws {
        var configuration = StoreFile.Configuration()
        configuration.allowsUnsafePlace = true
        self.path = path
        self.values = values
        self.configuration = configuration
        configuration.inspectsPages = true
        file = try StoreFile.open(at: path, configuration)
    }

    /// Opens a store that this process does not use.
    init(_ path: String, _ configuration: StoreFile.Configuration) throws {
        self.path = path
        self.configuration = configuration
        values = nil
        file = try StoreFile.open(at: path, configuration)
    }

    /// Appends entries that follow the last one of the copy.
    ///
    /// - Throws: `DecodingFailure` for an entry that does not match the copy.
    mutating func append(_ entries: ArraySlice<JournalEntry>) throws {
        var rest = entries
        while let entry = rest.first {
            if let migration = try entry.migration {
                try append(entry, migration)
                rest = rest.dropFirst()
            } else {
                let run = try rest.prefix { try $0.migration == nil }
                try append(run: run)
                rest = rest.dropFirst(run.count)
            }
        }
    }

    private func append(run: ArraySlice<JournalEntry>) throws {
        if let values, file.schema.hasLargeValues {
            for entry in run {
                let commit = try Commit(
                    envelope: entry.envelope, body: entry.body, history: file.history,
                    store: file.storeID)
                try values.add(valuesOf: commit, to: file)
            }
        }
        try file.environment.writeGrowing { transaction in
            var head = try Head.read(in: transaction.reading)
            try EntryReplay(file: file).append(run, &head, in: transaction)
        }
        try EntryReplay(file: file).finish(run)
    }

    private mutating func append(
        _ entry: JournalEntry, _ migration: Migration
    ) throws {
        let commit = try Commit(
            envelope: entry.envelope, body: entry.body,
            history: SchemaHistory(migration.to, file.history.migrations + [migration]),
            store: file.storeID)
        guard migration.from.revision == file.schema.revision, commit.changeCount == 0 else {
            throw DecodingFailure("revision \(commit.revision) migrates from another schema")
        }
        try file.environment.writeGrowing { transaction in
            let head = try Head.read(in: transaction.reading)
            try commit.check(after: head)
            try EntryReplay(file: file).moveStacks(of: commit, in: transaction)
            try MigrationWriter(migration, after: file.history, file.journal, in: transaction)
                .write(commit, after: head, in: transaction)
        }
        file.close()
        file = try StoreFile.open(at: path, configuration)
    }
}

import StetLMDB

/// Appends entries of a shipped journal to a copy of the store, with their effects: those of
/// commits by `Projection`, those of migrations by `MigrationWriter`.
struct JournalReplay {
    private let path: String
    private(set) var file: StoreFile

    /// Opens a copy that nobody else uses.
    init(_ path: String) throws {
        self.path = path
        file = try Self.open(path, inspectsPages: true)
    }

    private static func open(_ path: String, inspectsPages: Bool) throws -> StoreFile {
        var configuration = StoreFile.Configuration()
        configuration.allowsUnsafePlace = true
        configuration.inspectsPages = inspectsPages
        return try StoreFile.open(at: path, configuration)
    }

    /// Appends entries that follow the last one of the copy.
    ///
    /// - Throws: `DecodingFailure` for an entry that does not match the copy.
    mutating func append(_ entries: ArraySlice<JournalSegment.Entry>) throws {
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

    private func append(run: ArraySlice<JournalSegment.Entry>) throws {
        try file.environment.writeGrowing { transaction in
            var head = try Head.read(in: transaction.reading)
            for entry in run {
                let commit = try Commit(
                    envelope: entry.envelope, body: entry.body, history: file.history,
                    store: file.storeID)
                try check(commit, after: head)
                try moveStacks(commit, in: transaction)
                let hash = try file.journal.append(entry.envelope, entry.body, in: transaction)
                try file.projection.project(commit, in: transaction)
                head.follow(entry.envelope, hash)
            }
            try head.write(in: transaction)
        }
    }

    private mutating func append(
        _ entry: JournalSegment.Entry, _ migration: Migration
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
            try check(commit, after: head)
            try moveStacks(commit, in: transaction)
            try MigrationWriter(migration, after: file.history, file.journal, in: transaction)
                .write(commit, after: head, in: transaction)
        }
        file.close()
        file = try Self.open(path, inspectsPages: false)
    }

    /// Checks that an entry is whole, and that it follows the last one.
    private func check(_ commit: Commit, after head: Head) throws {
        guard commit.revision == head.revision.next, commit.envelope.previousHash == head.hash
        else {
            throw DecodingFailure(
                "revision \(commit.revision) does not follow the commit \(head.revision) of the "
                    + "base")
        }
        try commit.validate()
    }

    /// Updates the stacks of the entry's author.
    private func moveStacks(
        _ commit: Commit, in transaction: borrowing WriteTransaction
    ) throws {
        guard let author = commit.author else { return }
        let owner = UndoOwner(author: author, scope: commit.scope)
        let before = try owner.heads(in: transaction.reading)
        var heads = before
        let floor = try JournalFloor.read(in: transaction.reading)?.revision ?? .zero
        let purpose = try file.journal.purpose(
            of: commit, owner, after: floor, in: transaction.reading)
        guard heads.move(for: purpose, commit.revision) == commit.envelope.below else {
            throw DecodingFailure(
                "revision \(commit.revision) names another one below it than its author's last")
        }
        if heads != before { try owner.put(heads, in: transaction) }
    }
}

extension JournalSegment.Entry {
    /// The change of the schema that the entry makes; nil for all other entries.
    fileprivate var migration: Migration? {
        get throws {
            guard envelope.cause == .migration else { return nil }
            var reader = ByteReader(body.bytes)
            let attributes = try CommitAttributes(
                decoding: try JournalChange.readBlock(&reader, minimum: 4))
            return try attributes.migration?.withUnsafeBytes { try Migration(decoding: $0) }
        }
    }
}

import StetLMDB

/// Builds the indexes that a migration adds while others continue with the earlier models: batches
/// of objects, each in a separate transaction, so that no save waits for long and the work of an
/// interrupted attempt is kept.
///
/// The entries are neither read nor updated before the migration: after a save the build starts
/// again.
struct IndexBuild {
    /// The number of objects in a batch; a smaller total is left to the transaction of the
    /// migration itself.
    private static let batchCount = 10_000
    /// The number of objects in a batch when all indexes are of words or substrings: their entries
    /// are sorted before they are written, and a `TextBatch` may end earlier.
    private static let textBatchCount = 100_000

    /// The progress of the build, as the store keeps it.
    struct Progress {
        /// The digest of the migration that the entries are for.
        var digest: UInt64
        /// The commit whose state the entries represent.
        var base: Revision
        /// The entity whose objects are done up to `last`; earlier entities are done completely.
        ///
        /// It is one more than the number of entities when everything is done.
        var entity: EntityNumber = 1
        var last = ObjectID.none
        /// The number of objects that are done.
        var doneCount = 0
        /// The numbers of the indexes that have entries.
        var numbers: [Int]
    }

    private let migration: Migration
    private let history: SchemaHistory
    private let journal: Journal
    private let digest: UInt64
    private let report: ((String, Int, Int) throws -> Void)?

    init(
        _ migration: Migration, after history: SchemaHistory, _ journal: Journal,
        _ report: ((String, Int, Int) throws -> Void)?
    ) {
        self.migration = migration
        self.history = history
        self.journal = journal
        self.report = report
        digest = migration.encoded().withUnsafeBytes { Checksum.hash($0, seed: 0) }
    }

    /// The entities that get indexes.
    private var entities: [EntityNumber] {
        Set(migration.addedIndexes.map(\.entity)).filter { migration.upcasts[$0] != nil }
            .sorted()
    }

    /// Returns the number of objects in a batch that get these indexes.
    static func batchCount(of indexes: [NumberedIndex]) -> Int {
        indexes.allSatisfy(\.index.hasLists) ? textBatchCount : batchCount
    }

    /// Builds indexes that are too large for one transaction.
    ///
    /// - Throws: the error of `report`, after which completed work is kept; `StoreError`
    ///   (`.migrationFailed`).
    func run(in environment: Environment) throws {
        let records = try environment.tables(entities.map(StoreTables.recordsName))
        let count = try environment.read { transaction in
            try records.compactMap { $0 }.reduce(0) { $0 + (try transaction.count(of: $1)) }
        }
        guard count > Self.batchCount else { return }
        do {
            while let doneCount = try environment.writeGrowing({ try advance(in: $0) }) {
                try report?("indexes", min(doneCount, count), count)
            }
        } catch let error as StoreError where error.code == .migrationFailed {
            while try environment.writeGrowing({ try discard(in: $0) }) {}
            throw error
        }
    }

    /// Returns whether the entries represent the last commit, and forgets the progress.
    func finish(_ head: Head, in transaction: borrowing WriteTransaction) throws -> Bool {
        let progress = try StoreTables.indexBuild(in: transaction.reading)
        try StoreTables.put(indexBuild: nil, in: transaction)
        guard let progress else { return false }
        return progress.digest == digest && progress.base == head.revision
            && progress.entity.index >= migration.to.entities.count
    }

    /// Processes a batch; returns the number of objects that are done, or nil when nothing is left
    /// to do.
    private func advance(in transaction: borrowing WriteTransaction) throws -> Int? {
        let head = try Head.read(in: transaction.reading)
        guard head.schemaRevision == UInt32(migration.from.revision) else { return nil }
        let present = try StoreTables.indexBuild(in: transaction.reading)
        var progress: Progress
        if let present, present.digest == digest, present.base == head.revision {
            progress = present
        } else {
            if present != nil, try discard(in: transaction) { return 0 }
            progress = Progress(
                digest: digest, base: head.revision, numbers: migration.addedIndexes.map(\.number))
        }
        guard let entity = entities.first(where: { $0 >= progress.entity }) else { return nil }
        if entity > progress.entity { progress.last = .none }
        progress.entity = entity
        let writer = try MigrationWriter(migration, after: history, journal, in: transaction)
        let batch = try writer.addEntries(
            ofEntity: entity, after: progress.last, in: transaction)
        if batch.isLast {
            progress.entity =
                entities.first { $0 > entity }
                ?? EntityNumber(index: migration.to.entities.count)
            progress.last = .none
        } else {
            progress.last = batch.last
        }
        progress.doneCount += batch.count
        try StoreTables.put(indexBuild: progress, in: transaction)
        return progress.doneCount
    }

    /// Removes some of the entries that an earlier build has left; returns true while there are
    /// more.
    private func discard(in transaction: borrowing WriteTransaction) throws -> Bool {
        guard let progress = try StoreTables.indexBuild(in: transaction.reading) else {
            return false
        }
        let table = try transaction.table(StoreTables.indexesName)
        // Spares numbers that an index of the store has received since.
        for number in progress.numbers where migration.from.index(numbered: number) == nil {
            let isEmpty = try transaction.removeEntries(
                of: table, KeyRange(prefix: IndexKey.numberBytes(number)), limit: Self.batchCount)
            if !isEmpty {
                // The remaining entries belong to no build.
                var rest = progress
                rest.digest = ~digest
                try StoreTables.put(indexBuild: rest, in: transaction)
                return true
            }
        }
        try StoreTables.put(indexBuild: nil, in: transaction)
        return false
    }
}

extension StoreTables {
    private static let indexBuildKey: StaticString = "building"

    static func isIndexBuild(_ key: UnsafeRawBufferPointer) -> Bool {
        key.elementsEqual("\(indexBuildKey)".utf8)
    }

    /// Returns the progress of the indexes that the store does not have yet; nil when none are
    /// being built.
    static func indexBuild(
        in transaction: borrowing ReadTransaction
    ) throws -> IndexBuild.Progress? {
        guard let value = try transaction.get(indexBuildKey, in: .unnamed) else { return nil }
        var reader = ByteReader(value)
        var progress = IndexBuild.Progress(
            digest: try reader.read(), base: Revision(try reader.read()), numbers: [])
        progress.entity = EntityNumber(try reader.read(UInt16.self))
        progress.last = try reader.readObjectID()
        progress.doneCount = Int(try reader.read(UInt32.self))
        while reader.remaining > 0 { progress.numbers.append(Int(try reader.read(UInt16.self))) }
        return progress
    }

    static func put(
        indexBuild progress: IndexBuild.Progress?, in transaction: borrowing WriteTransaction
    ) throws {
        guard let progress else { return try transaction.delete(indexBuildKey, in: .unnamed) }
        var buffer = ByteBuffer(capacity: 64)
        buffer.append(progress.digest)
        buffer.append(progress.base.number)
        buffer.append(UInt16(progress.entity.rawValue))
        buffer.append(progress.last)
        buffer.append(UInt32(clamping: progress.doneCount))
        for number in progress.numbers { buffer.append(UInt16(number)) }
        try transaction.put(buffer.bytes, for: indexBuildKey, in: .unnamed)
    }
}

extension WriteTransaction {
    /// Removes entries of a range; returns true when none are left.
    func removeEntries(of table: Table, _ range: KeyRange, limit: Int = .max) throws -> Bool {
        var removedCount = 0
        while removedCount < limit {
            // Deletes in batches, because a scan cannot continue from a deleted key.
            var keys: [[UInt8]] = []
            try reading.scan(table, range) { key, _ in
                keys.append(Array(key))
                return keys.count < 1_000
            }
            if keys.isEmpty { return true }
            for key in keys { _ = try key.withUnsafeBytes { try delete($0, in: table) } }
            removedCount += keys.count
        }
        return false
    }

    /// Removes a text key.
    func delete(_ key: StaticString, in table: Table) throws {
        _ = try delete(
            UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount), in: table)
    }
}

extension Environment {
    /// Runs `write`, and repeats it in a larger map while the map is full.
    func writeGrowing<Result>(
        _ body: (borrowing WriteTransaction) throws -> Result
    ) throws -> Result {
        while true {
            do {
                return try write(body)
            } catch let error as LMDBError where error.code == LMDBError.mapFull {
                guard try log.makeRoom() else { throw error }
            }
        }
    }
}

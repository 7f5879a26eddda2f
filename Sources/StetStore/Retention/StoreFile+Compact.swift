import Glibc
import StetLMDB

extension StoreFile {
    /// Replaces the file of the store with a copy as `copy(to:)` makes it.
    ///
    /// Saves of all processes wait until it is done. The copy takes its place once no read of this
    /// process is open. Another process that has the previous file open can only read it: its next
    /// save throws `.storeMoved`, until it closes the store and opens it again.
    ///
    /// - Parameters:
    ///   - limit: The time to wait for open reads.
    ///   - progress: Receives the number of bytes that are copied; an error ends the work.
    /// - Returns: The verification report of the copy, and its size.
    /// - Throws: `StoreError`, as `copy`, and `.storeBusy` when a read of this process stays open;
    ///   the store is then unchanged.
    /// - Complexity: as `copy(to:)`.
    package func compactInPlace(
        waitingForReads limit: Duration = FileReplacement.limit,
        progress: (StoreCopy.Progress) throws -> Void = { _ in }
    ) throws -> StoreCopy {
        // Afterwards the writer's thread watches the new file.
        defer { attend() }
        return try StoreCopier(file: self).replaceFile(limit, progress)
    }
}

extension StoreCopier {
    private typealias Bytes = UnsafeRawBufferPointer

    /// The approximate number of bytes that one transaction of a compaction writes.
    private static let compactionStep = 16 << 20

    /// Replaces the file with a copy.
    func replaceFile(
        _ limit: Duration, _ progress: (StoreCopy.Progress) throws -> Void
    ) throws -> StoreCopy {
        try StoreError.wrapping(path: file.path) {
            let begin = try begin()
            return try FileReplacement(of: file.environment).run(waitingForReads: limit) { draft in
                try withRewritten(file.path, { try progress(begin) }) {
                    try StoreCopier(file: $0).fill(draft, of: file, progress)
                }
            } whenReplaced: {
                file.forgetTransactions()
            }
        }
    }

    /// Calls `body` with a store that has the contents of this one, beside `path`.
    ///
    /// `check` is called for each batch that is written; an error that it throws ends the work.
    func withRewritten<Result>(
        _ path: String, _ check: () throws -> Void, _ body: (StoreFile) throws -> Result
    ) throws -> Result {
        let draft = try Self.naming(path) { try Draft(of: path) }
        defer { draft.remove() }
        try Self.naming(path) { try rewrite(to: draft.path, check) }
        var configuration = StoreFile.Configuration()
        configuration.allowsUnsafePlace = true
        let rewritten = try StoreFile.open(at: draft.path, configuration)
        defer { rewritten.close() }
        return try body(rewritten)
    }

    private func rewrite(to path: String, _ check: () throws -> Void) throws {
        var sizes = StoreFile.Configuration().ofEnvironment(
            entityCount: file.projection.records.count)
        // Skips syncs here, because the copy made from this file is synced.
        sizes.skipsSync = true
        let target = try Environment.open(at: path, sizes)
        defer { target.close() }
        try file.environment.read { source in
            guard try Head.read(in: source).schemaRevision == UInt32(file.schema.revision) else {
                throw StoreError.migratedElsewhere(path: file.path)
            }
            let unnamed = try UnnamedEntries(file.schema, source)
            try target.writeGrowing { transaction in
                try source.scan(.unnamed) { key, value in
                    if try unnamed.areKept(key, value) {
                        try transaction.put(value, for: key, in: .unnamed)
                    }
                    return true
                }
            }
            try Self.append(
                file.journal.table, of: source, to: Journal.tableName, of: target, check)
            try Self.append(
                file.projection.members.table, of: source, to: MemberTree.tableName, of: target,
                check)
            for (entity, table) in file.projection.records.numbered {
                let name = StoreTables.recordsName(entity)
                try Self.append(table, of: source, to: name, of: target, check) { key, value in
                    try file.history.presentRecord(ofEntity: entity, key, value)
                }
            }
            try rewriteIndexes(source, target, check)
            try rewriteLargeValues(source, target, check)
        }
    }

    private func rewriteIndexes(
        _ source: borrowing ReadTransaction, _ target: Environment, _ check: () throws -> Void
    ) throws {
        guard let indexes = file.projection.indexes else {
            // A process that had indexes before has the table open, and opens it in the copy.
            let name = Array(StoreTables.indexesName.utf8)
            if try name.withUnsafeBytes({ try source.get($0, in: .unnamed) }) != nil {
                try target.writeGrowing { _ = try $0.table(StoreTables.indexesName) }
            }
            return
        }
        // Omits the entries of an interrupted build, which starts over in the copy.
        let numbers = Set(file.schema.indexes.map(\.number))
        try Self.append(indexes, of: source, to: StoreTables.indexesName, of: target, check) {
            key, _ in
            numbers.contains(try IndexKey.number(of: key)) ? .asItIs : .leftOut
        }
    }

    private func rewriteLargeValues(
        _ source: borrowing ReadTransaction, _ target: Environment, _ check: () throws -> Void
    ) throws {
        guard let values = file.projection.largeValues else { return }
        let unfinished = Set(try values.unfinished(in: source).map(\.key))
        try Self.append(values.table, of: source, to: LargeValueTable.name, of: target, check) {
            key, _ in
            values.isCopied(key, unfinished: unfinished) ? .asItIs : .leftOut
        }
    }

    /// The form in which a copy contains an entry.
    enum Copied {
        case asItIs
        case changed([UInt8])
        case leftOut
    }

    private static func append(
        _ table: Table, of source: borrowing ReadTransaction, to name: String,
        of target: Environment, _ check: () throws -> Void,
        _ copied: (_ key: Bytes, _ value: Bytes) throws -> Copied = { _, _ in .asItIs }
    ) throws {
        var next: [UInt8]? = []
        while let first = next {
            try check()
            next = try target.writeGrowing { transaction in
                let copy = try transaction.table(name)
                let cursor = try source.cursor(in: table)
                var entry = try cursor.seek(first)
                var byteCount = 0
                while let (key, value) = entry {
                    if byteCount >= compactionStep { return Array(key) }
                    switch try copied(key, value) {
                    case .asItIs: try transaction.append(value, for: key, to: copy)
                    case .changed(let bytes): try transaction.append(bytes, for: key, to: copy)
                    case .leftOut: break
                    }
                    byteCount += key.count + value.count
                    entry = try cursor.next()
                }
                return nil
            }
        }
    }
}

extension WriteTransaction {
    /// Appends an entry after the last one of a table.
    fileprivate func append(
        _ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, to table: Table
    ) throws {
        try reserve(value.count, for: key, in: table, appending: true).copyMemory(from: value)
    }

    fileprivate func append(
        _ value: [UInt8], for key: UnsafeRawBufferPointer, to table: Table
    ) throws {
        try reserve(value.count, for: key, in: table, appending: true).copyBytes(from: value)
    }
}

/// Decides which entries of the unnamed table a copy contains: not the tables, which the copy
/// creates itself, nor the progress of an index build, nor the stacks of authors whose commits are
/// all trimmed.
private struct UnnamedEntries {
    private let tables: Set<[UInt8]>
    private let floor: Revision

    init(_ schema: Schema, _ transaction: borrowing ReadTransaction) throws {
        let records = schema.entities.numbers.map(StoreTables.recordsName)
        let names =
            [
                Journal.tableName, MemberTree.tableName, StoreTables.indexesName,
                LargeValueTable.name,
            ] + records
        tables = Set(names.map { Array($0.utf8) })
        floor = try JournalFloor.read(in: transaction)?.revision ?? .zero
    }

    func areKept(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool {
        if tables.contains(Array(key)) || StoreTables.isIndexBuild(key) { return false }
        return try UndoOwner.heads(ofEntry: key, value).map { $0.undo > floor || $0.redo > floor }
            ?? true
    }
}

extension SchemaHistory {
    /// Returns a record in the current schema, without the values that it no longer has.
    fileprivate func presentRecord(
        ofEntity entity: EntityNumber, _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer
    ) throws -> StoreCopier.Copied {
        var header = try RecordHeader(decoding: value)
        let stored = UnsafeRawBufferPointer(rebasing: value[RecordLayout.headerByteCount...])
        guard key.count == 16, !header.isTombstone,
            let upcast = try upcast(ofEntity: entity, from: Int(header.schemaRevision)),
            !upcast.isIdentity
        else { return .asItIs }
        let id = ObjectID(bytes: key)
        try header.verify(value, of: id)
        header.schemaRevision = UInt16(truncatingIfNeeded: current.revision)
        let body = try upcast.apply(to: stored)
        var record = [UInt8](repeating: 0, count: RecordLayout.headerByteCount) + body
        let hash = body.withUnsafeBytes { RecordHeader.bodyHash($0, of: id) }
        record.withUnsafeMutableBytes { header.store(bodyHash: hash, to: $0.baseAddress!) }
        return .changed(record)
    }
}

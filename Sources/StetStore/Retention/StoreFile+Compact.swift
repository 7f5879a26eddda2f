import Glibc
import StetLMDB

extension StoreFile {
    /// Makes a copy of the last commit's state at `path` that has nothing but what is in use: no
    /// free pages, and nothing of what was trimmed, redacted or deleted, which LMDB leaves in the
    /// free parts of pages.
    ///
    /// Each entry of each table is written anew into an empty file; what is copied of that is
    /// synced, verified and named like any copy. A read is open while the entries are copied.
    ///
    /// - Returns: What the verification of the copy found, and its size.
    /// - Throws: `StoreError`, as `copy`.
    /// - Complexity: O(bytes in use), twice on the disk for a while, in bounded memory.
    package func compact(
        to path: String, progress: (StoreCopy.Progress) -> Void = { _ in }
    ) throws -> StoreCopy {
        try StoreError.wrapping(path: self.path) {
            try StoreCopier.refuseUsed(path)
            return try StoreCopier(file: self).withRewritten(path) {
                try $0.copy(to: path, compacting: true, progress: progress)
            }
        }
    }

    /// Puts such a copy in the place of the store itself, and closes it.
    ///
    /// Saves of all processes wait meanwhile; reads go on, in the file that was there before. Who
    /// has that open, in this process or another, can only go on reading: the next save throws
    /// `.storeMoved`, and the store is there as it was when it is closed and opened again.
    ///
    /// - Returns: What the verification of the copy found, and its size.
    /// - Throws: `StoreError`, as `copy`: the store is as it was.
    /// - Complexity: O(bytes in use), as `compact(to:)`.
    package func compactInPlace(
        progress: (StoreCopy.Progress) -> Void = { _ in }
    ) throws -> StoreCopy {
        let copy = try StoreError.wrapping(path: path) {
            try environment.replaceFile { draft in
                try StoreCopier(file: self).withRewritten(path) {
                    try StoreCopier(file: $0).fill(draft, compacting: true, progress)
                }
            }
        }
        close()
        return copy
    }
}

extension StoreCopier {
    /// Bytes that one transaction of a compaction writes, about.
    private static let compactionStep = 16 << 20

    /// Calls `body` with a store that has the contents of this one, beside `path`.
    func withRewritten<Result>(
        _ path: String, _ body: (StoreFile) throws -> Result
    ) throws -> Result {
        let draft = try Self.naming(path) { try Draft(of: path) }
        defer { draft.remove() }
        try Self.naming(path) { try rewrite(to: draft.path) }
        var configuration = StoreFile.Configuration()
        configuration.allowsUnsafePlace = true
        let rewritten = try StoreFile.open(at: draft.path, configuration)
        defer { rewritten.close() }
        return try body(rewritten)
    }

    private func rewrite(to path: String) throws {
        var sizes = StoreFile.Configuration().ofEnvironment(
            entityCount: file.projection.records.count)
        // What is copied of it is synced.
        sizes.skipsSync = true
        let target = try Environment.open(at: path, sizes)
        defer { target.close() }
        try file.environment.read { source in
            try target.writeGrowing { transaction in
                try source.scan(.unnamed) { key, value in
                    if StoreTables.isName(ofTable: key) { return true }
                    try transaction.put(value, for: key, in: .unnamed)
                    return true
                }
            }
            try Self.append(file.journal.table, of: source, to: Journal.tableName, of: target)
            try Self.append(
                file.projection.members.table, of: source, to: MemberTree.tableName, of: target)
            for (entity, table) in file.projection.records.numbered {
                let name = StoreTables.recordsName(entity)
                try Self.append(table, of: source, to: name, of: target)
            }
            if let indexes = file.projection.indexes {
                try Self.append(indexes, of: source, to: StoreTables.indexesName, of: target)
            }
        }
    }

    private static func append(
        _ table: Table, of source: borrowing ReadTransaction, to name: String,
        of target: Environment
    ) throws {
        var next: [UInt8]? = []
        while let first = next {
            next = try target.writeGrowing { transaction in
                let copy = try transaction.table(name)
                let cursor = try source.cursor(in: table)
                var entry = try cursor.seek(first)
                var byteCount = 0
                while let (key, value) = entry {
                    if byteCount >= compactionStep { return Array(key) }
                    let room = try transaction.reserve(
                        value.count, for: key, in: copy, appending: true)
                    room.copyMemory(from: value)
                    byteCount += key.count + value.count
                    entry = try cursor.next()
                }
                return nil
            }
        }
    }
}

extension StoreTables {
    /// Whether a key of the unnamed table is that of a table.
    fileprivate static func isName(ofTable key: UnsafeRawBufferPointer) -> Bool {
        [Journal.tableName, MemberTree.tableName, indexesName].contains {
            key.elementsEqual($0.utf8)
        }
            || key.starts(with: "records.".utf8)
    }
}

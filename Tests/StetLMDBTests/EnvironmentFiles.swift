import Foundation
import StetLMDB

/// A directory that goes with the test that made it.
final class EnvironmentDirectory: Sendable {
    let path: String

    init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        path = "\(parent)/stet-lmdb-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String = "test.mdb") -> String { "\(path)/\(name)" }

    /// An environment with a small map.
    func open(
        _ name: String = "test.mdb", mapByteCount: Int = 16 << 20, readerCount: Int = 32,
        createsFile: Bool = true
    ) throws(LMDBError) -> Environment {
        try Environment.open(
            at: file(name),
            .small(
                mapByteCount: mapByteCount, readerCount: readerCount, createsFile: createsFile))
    }

    /// The names of the files in the directory, sorted.
    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? []
    }
}

extension Environment.Configuration {
    static func small(
        mapByteCount: Int = 16 << 20, readerCount: Int = 32, createsFile: Bool = true
    ) -> Environment.Configuration {
        var configuration = Environment.Configuration()
        configuration.mapByteCount = mapByteCount
        configuration.readerCount = readerCount
        configuration.createsFile = createsFile
        return configuration
    }
}

/// A key and its value, copied.
struct KeyValue: Hashable {
    var key: [UInt8]
    var value: [UInt8]

    init(_ key: [UInt8], _ value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

extension ReadTransaction {
    func value(of key: [UInt8], in table: Table) throws -> [UInt8]? {
        var copy: [UInt8]?
        try key.withUnsafeBytes { bytes in
            copy = try get(bytes, in: table).map(Array.init)
        }
        return copy
    }

    func entries(in table: Table, _ range: KeyRange = .all) throws -> [KeyValue] {
        var entries: [KeyValue] = []
        try scan(table, range) { key, value in
            entries.append(KeyValue(Array(key), Array(value)))
            return true
        }
        return entries
    }

    func entriesBackwards(in table: Table, _ range: KeyRange = .all) throws -> [KeyValue] {
        var entries: [KeyValue] = []
        try scan(table, range, descending: true) { key, value in
            entries.append(KeyValue(Array(key), Array(value)))
            return true
        }
        return entries
    }
}

extension WriteTransaction {
    func set(_ key: [UInt8], _ value: [UInt8], in table: Table) throws {
        try key.withUnsafeBytes { key in
            try value.withUnsafeBytes { value in
                try put(value, for: key, in: table)
            }
        }
    }

    func fill(
        _ key: [UInt8], _ value: [UInt8], in table: Table, appending: Bool = false
    ) throws {
        try key.withUnsafeBytes { key in
            let room = try reserve(value.count, for: key, in: table, appending: appending)
            room.copyBytes(from: value)
        }
    }

    func unset(_ key: [UInt8], in table: Table) throws -> Bool {
        try key.withUnsafeBytes { key in try delete(key, in: table) }
    }
}

extension Environment {
    /// The named table, made when it is missing.
    func makeTable(_ name: String = "t") throws -> Table {
        try write { transaction in try transaction.table(name) }
    }

    func entries(in table: Table) throws -> [KeyValue] {
        try read { transaction in try transaction.entries(in: table) }
    }
}

/// Returns the error of `body`; nil when it returns.
func lmdbError<Result>(_ body: () throws -> Result) -> LMDBError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? LMDBError
    }
}

/// Runs `body` on `count` threads of their own, and returns when all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for index in 0..<count {
        group.enter()
        Thread.detachNewThread {
            body(index)
            group.leave()
        }
    }
    group.wait()
}

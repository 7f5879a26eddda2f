import Foundation
import StetLMDB
import StetStore

/// A directory that goes with the test that made it.
final class StoreDirectory: Sendable {
    let path: String

    init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        path = "\(parent)/stet-store-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String = "test.stet") -> String { "\(path)/\(name)" }

    /// The names of the files in the directory, sorted.
    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? []
    }

    func bytes(_ name: String = "test.stet") throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: file(name)))
    }

    func write(_ bytes: Data, to name: String = "test.stet") throws {
        try bytes.write(to: URL(fileURLWithPath: file(name)))
    }

    func open(
        _ name: String = "test.stet", schema: Schema = .library, mapByteCount: Int = 256 << 20
    ) throws -> StoreFile {
        try StoreFile.open(at: file(name), schema: schema, .small(mapByteCount: mapByteCount))
    }

    /// A store whose commits are not synced: for tests that ask what is written, not whether it is
    /// on the disk.
    func openUnsynced(schema: Schema = .library) throws -> StoreFile {
        try open(schema: schema).close()
        var configuration = Environment.Configuration()
        configuration.skipsSync = true
        configuration.mapByteCount = 256 << 20
        // The store shares the environment that is already open for its file.
        let environment = try Environment.open(at: file(), configuration)
        return try withExtendedLifetime(environment) { try open(schema: schema) }
    }
}

extension StoreFile.Configuration {
    static func small(mapByteCount: Int = 256 << 20) -> StoreFile.Configuration {
        var configuration = StoreFile.Configuration()
        configuration.mapByteCount = mapByteCount
        return configuration
    }
}

// MARK: - The schema of the tests

extension Schema {
    /// Three entities with a property of each type, and references within and between them.
    static let library: Schema = {
        do { return try Schema(entities: [.notebook, .article, .tag]) } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()
}

extension Entity {
    /// Number 1.
    static let article = Entity(
        name: "Article",
        properties: [
            Property(name: "title", type: .string),
            Property(name: "rating", type: .int),
            Property(name: "notebook", type: .reference, isOptional: true, target: "Notebook"),
            Property(name: "body", type: .string, isOptional: true),
            Property(name: "score", type: .double, isOptional: true),
            Property(name: "isDraft", type: .bool, isOptional: true),
            Property(name: "created", type: .date, isOptional: true),
            Property(name: "cover", type: .data, isOptional: true),
            Property(name: "code", type: .uuid, isOptional: true),
            Property(name: "next", type: .reference, isOptional: true, target: "Article"),
            Property(name: "tag", type: .reference, isOptional: true, target: "Tag"),
        ])

    /// Number 2.
    static let notebook = Entity(
        name: "Notebook",
        properties: [
            Property(name: "name", type: .string),
            Property(name: "parent", type: .reference, isOptional: true, target: "Notebook"),
        ])

    /// Number 3.
    static let tag = Entity(name: "Tag", properties: [Property(name: "mark", type: .data)])
}

/// The numbers of the entities of `Schema.library`.
enum Number {
    static let article: EntityNumber = 1
    static let notebook: EntityNumber = 2
    static let tag: EntityNumber = 3
}

extension Value {
    /// The stored bytes of the value, computed independently so that bits are compared.
    var cell: OwnedCell? {
        switch self {
        case .null: nil
        case .bool(let value): .word(value ? 1 : 0)
        case .int(let value): .word(UInt64(bitPattern: Int64(value)))
        case .double(let value): .word(value.bitPattern)
        case .date(let value): .word(value.timeIntervalSinceReferenceDate.bitPattern)
        case .string(let value): .bytes(Array(value.utf8))
        case .data(let value): .bytes(Array(value))
        case .uuid(let value): .bytes(withUnsafeBytes(of: value.uuid) { Array($0) })
        case .reference(let id): .bytes(id.bytes)
        case .placed(let id, let position): .bytes(id.bytes + position.bytes)
        case .uint(let value): .word(value)
        case .float(let value): .word(UInt64(value.bitPattern))
        // `ValueBytesTests` checks these bytes.
        case .decimal, .url, .list, .dictionary, .codable: (try? tailBytes()).map(OwnedCell.bytes)
        }
    }
}

extension ObjectID {
    /// An id that is the same in every run.
    static func fixed(_ number: Int) -> ObjectID {
        ObjectID(high: 0x0190_0000_0000_7000, low: 1 << 63 | UInt64(number))
    }

    var bytes: [UInt8] {
        [high, low].flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
    }
}

/// A body with these values.
func encodedBody(_ values: [Value]) -> [UInt8] {
    var writer = RecordWriter()
    writer.begin(propertyCount: values.count)
    writer.write(values)
    return Array(writer.buffer.bytes)
}

/// Returns the error of `body`; nil when it returns.
func thrown<Failure: Error, Result>(
    _ type: Failure.Type = Failure.self, _ body: () throws -> Result
) -> Failure? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? Failure
    }
}

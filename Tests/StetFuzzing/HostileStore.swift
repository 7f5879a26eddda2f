import StetLMDB
import StetStore
import StetTestSupport
import Synchronization

/// A small store in a scratch directory whose keys and values the input overwrites; then it is
/// opened, read at every revision, verified and committed to.
///
/// State: the store's file, guarded by the mutex.
final class HostileStore: Sendable {
    private let directory = TemporaryDirectory()
    private let path: String
    /// Open as long as this object, so that nothing is synced, and opening the store again is
    /// cheap.
    private let environment: Environment
    private let tables: [Table]
    /// The contents of each table before an input.
    let contents: [[[UInt8]: [UInt8]]]
    private let isDecoding = Mutex(())

    private static let names = ["records.1", "records.3", "members", "journal"]
    private static let identityKeys = ["head", "schema", "schema.checksum", "stet"].map {
        Array($0.utf8)
    }
    private static let mapByteCount = 64 << 20
    /// The object of the scratch store that is changed once.
    private static let updated = ObjectID(high: FuzzSchema.object.high, low: 1 << 63 | 3)

    init() throws {
        path = directory.file()
        var sizes = StoreFile.Configuration()
        sizes.mapByteCount = Self.mapByteCount
        try StoreFile.open(at: path, schema: FuzzSchema.schema, sizes).close()
        var configuration = Environment.Configuration()
        configuration.skipsSync = true
        configuration.mapByteCount = Self.mapByteCount
        environment = try Environment.open(at: path, configuration)
        let file = try StoreFile.open(at: path, schema: FuzzSchema.schema)
        for edit in Self.history { _ = try file.commit(try edit()) }
        tables = try environment.tables(Self.names).compactMap { $0 } + [.unnamed]
        contents = try Self.dump(tables, environment)
    }

    deinit { environment.close() }

    private static func dump(
        _ tables: [Table], _ environment: Environment
    ) throws -> [[[UInt8]: [UInt8]]] {
        try environment.read { transaction in
            try tables.map { table in
                var entries: [[UInt8]: [UInt8]] = [:]
                try transaction.scan(table) { key, value in
                    // In the unnamed table, skips the entries that name tables.
                    if table != .unnamed || identityKeys.contains(Array(key)) {
                        entries[Array(key)] = Array(value)
                    }
                    return true
                }
                return entries
            }
        }
    }

    // MARK: Hostile contents

    func decode(_ input: inout HostileInput) throws {
        try isDecoding.withLock { _ in
            var hostile = contents
            while !input.isEmpty { Self.edit(&hostile, &input) }
            try put(hostile)
            defer { withExtendedLifetime(environment) {} }
            do {
                let file = try StoreFile.open(at: path, schema: FuzzSchema.schema)
                try read(file)
            } catch let failure as DecodingFailure {
                throw FuzzFinding("not told as an error of the store: \(failure)")
            }
        }
    }

    /// Edits the tables as the bits of a control byte say: the table (1, 2, 4), whether the
    /// checksum or hash is repaired (8), the kind of edit (16, 32).
    private static func edit(
        _ contents: inout [[[UInt8]: [UInt8]]], _ input: inout HostileInput
    ) {
        let control = input.byte()
        let table = Int(control & 7) % contents.count
        let keys = contents[table].keys.sorted { $0.lexicographicallyPrecedes($1) }
        guard !keys.isEmpty else { return }
        var key = keys[Int(input.byte()) % keys.count]
        var value = contents[table][key] ?? []
        switch control >> 4 & 3 {
        case 0: value.patch(input.frame(), at: input.number())
        case 1: value = value.prefix(input.number()) + input.frame()
        case 2:
            contents[table][key] = nil
            return
        default:
            let made = input.bytes(Int(input.byte() % 40))
            if !made.isEmpty, table < names.count { key = made }
        }
        if control & 8 != 0 { repair(&value, key, table) }
        contents[table][key] = value
    }

    private static func repair(_ value: inout [UInt8], _ key: [UInt8], _ table: Int) {
        switch names.element(at: table) {
        case "records.1", "records.3":
            guard key.count == 16 else { return }
            FuzzedRecord.repair(&value, of: key.withUnsafeBytes { ObjectID(bytes: $0) })
        case "journal":
            var values = [value]
            FuzzedEntry.repair(&values)
            value = values[0]
        default: break
        }
    }

    private func put(_ hostile: [[[UInt8]: [UInt8]]]) throws {
        let present = try Self.dump(tables, environment)
        try environment.write { transaction in
            for (index, table) in tables.enumerated() {
                for key in present[index].keys where hostile[index][key] == nil {
                    try key.withUnsafeBytes { _ = try transaction.delete($0, in: table) }
                }
                for (key, value) in hostile[index] where present[index][key] != value {
                    try key.withUnsafeBytes { key in
                        try value.withUnsafeBytes { try transaction.put($0, for: key, in: table) }
                    }
                }
            }
        }
    }

    // MARK: Whatever reads

    /// Reads all that can be read; each refusal is one, and the next is tried.
    private func read(_ file: StoreFile) throws {
        var refusal: StoreError?
        func attempt(_ body: () throws -> Void) throws {
            do { try body() } catch let error as StoreError { refusal = error }
        }
        try attempt { try file.read { _ = try $0.head() } }
        for revision in (0...Self.history.count).map({ Revision(UInt64($0)) }) {
            for number in file.schema.entities.numbers {
                try attempt { try Self.readRecords(file, number, asOf: revision) }
            }
            try attempt { try Self.readMembers(file, asOf: revision) }
            if revision == 0 { continue }
            try attempt { _ = try file.read { try $0.commit(revision).changeSet } }
        }
        try attempt {
            try file.read { try $0.forEachReference(to: FuzzSchema.object, ofEntity: 1) { _ in } }
        }
        try attempt {
            let report = try file.verify()
            try promise(report.problems.count <= 200, "a report without an end")
            if !report.isClean { refusal = StoreError.damaged(report.description, path: nil) }
        }
        try attempt {
            do { _ = try file.commit(try Self.lastEdit()) } catch is CommitRefusal {}
        }
        if let refusal { throw refusal }
    }

    private static func readMembers(_ file: StoreFile, asOf revision: Revision) throws {
        let state = WorkingState(file.schema, at: revision)
        try file.read { reader in
            for end in file.schema.ends {
                for owner in (1...9).map(FuzzSchema.id) {
                    _ = try state.members(of: owner, at: end, reader)
                    _ = try state.lastPosition(of: owner, at: end, reader)
                }
            }
        }
    }

    private static func readRecords(
        _ file: StoreFile, _ number: EntityNumber, asOf revision: Revision
    ) throws {
        let entity = file.schema.entities[number]
        func read(_ record: StoreReader.Record) throws -> Bool {
            let body = try RecordBody(record.body, of: entity)
            for slot in entity.properties.slots { _ = try body.value(slot) }
            return true
        }
        try file.read { reader in
            _ = try reader.withRecord(ofEntity: number, updated, asOf: revision, read)
            try reader.forEachRecord(ofEntity: number, asOf: revision) { try read($1) }
        }
    }
}

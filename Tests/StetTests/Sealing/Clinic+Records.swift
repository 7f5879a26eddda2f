import Foundation
import StetTestSupport
import Testing

@testable import Stet
@testable import StetLMDB
@testable import StetStore

extension Clinic {
    /// Commits a treatment with other values, which nothing has sealed or checked.
    func commit(_ visit: Treatment, _ change: (inout [Value]) throws -> Void) throws {
        let file = store.file
        let number = try #require(file.schema.number(ofEntity: "Treatment"))
        let before = try visit._$body()
        var values = try before.values(of: file.schema.entities[number])
        try change(&values)
        let after = try EncodedBody(values, of: file.schema.entities[number])
        var changes = ChangeSetBuilder(schema: file.schema)
        changes.append(
            ChangeSetBuilder.Item(
                kind: .update, entity: number, id: visit.id, base: visit._$revision,
                before: before.bytes.withUnsafeBytes { changes.copy($0) },
                after: after.bytes.withUnsafeBytes { changes.copy($0) }))
        let revision = try store.revision()
        let set = try changes.encoded(
            attributes: CommitAttributes(), base: revision, token: try file.token(at: revision),
            time: 0)
        _ = try file.submit(set).wait()
    }

    /// Replaces bytes in the present records of a model, without a commit, and gives the records
    /// the checksums of what they contain then; returns in how many.
    func replace(_ old: [UInt8], by new: [UInt8], inRecordsOf entity: String) throws -> Int {
        let number = try #require(store.file.schema.number(ofEntity: entity))
        let name = "records.\(number)"
        let table = try #require(try store.file.environment.tables([name]).first ?? nil)
        var entries: [(key: [UInt8], value: [UInt8])] = []
        try store.file.environment.read { transaction in
            try transaction.scan(table) { key, value in
                entries.append((Array(key), Array(value)))
                return true
            }
        }
        var count = 0
        for (key, value) in entries {
            guard let range = value.firstRange(of: old) else { continue }
            count += 1
            let value = try Self.record(key, value, replacing: range, by: new)
            try store.file.environment.write { transaction in
                try key.withUnsafeBytes { key in
                    try value.withUnsafeBytes { try transaction.put($0, for: key, in: table) }
                }
            }
        }
        return count
    }

    /// Returns a record with other bytes and their checksum.
    private static func record(
        _ key: [UInt8], _ value: [UInt8], replacing range: Range<Int>, by new: [UInt8]
    ) throws -> [UInt8] {
        var value = value
        let header = try value.withUnsafeBytes { try RecordHeader(decoding: $0) }
        value.replaceSubrange(range, with: new)
        let id = key.withUnsafeBytes { ObjectID(bytes: $0) }
        try value.withUnsafeMutableBytes { record in
            let body = UnsafeRawBufferPointer(rebasing: record[RecordLayout.headerByteCount...])
            let hash = RecordHeader.bodyHash(body, of: id)
            header.store(bodyHash: hash, to: try #require(record.baseAddress))
        }
        return value
    }
}

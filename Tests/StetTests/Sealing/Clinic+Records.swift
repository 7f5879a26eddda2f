import Foundation
import StetTestSupport
import Testing

@testable import Stet
@testable import StetLMDB
@testable import StetStore

extension Clinic {
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

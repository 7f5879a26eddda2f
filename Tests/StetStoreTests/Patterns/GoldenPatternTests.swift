import Foundation
import StetStore
import StetTestSupport
import Testing

/// A schema with patterns, enumerated values and normalisers that an earlier version wrote is read
/// by this one.
struct GoldenPatternTests {
    private static let values: [Value] = [
        .string("a-b"), .string("gr\u{fc}n"), .int(-1), .decimal(1.5), .double(0),
    ]

    private static func schema() throws -> Schema { try Schema(entities: [.patterned]) }

    private static func make(at path: String) throws {
        let file = try StoreFile.open(
            at: path, schema: try schema(), .small(mapByteCount: 1 << 20))
        var changes = ChangeSetBuilder(schema: try schema())
        let after = changes.encode(entity: 1) { $0.write(values) }
        changes.append(
            ChangeSetBuilder.Item(
                kind: .insert, entity: 1, id: .fixed(1), base: .zero, before: 0..<0, after: after))
        _ = try file.commit(
            changes.encoded(attributes: CommitAttributes(), base: .zero, token: 1, time: 0))
        file.close()
    }

    @Test func theGoldenStoreWithPatternsIsRead() throws {
        let directory = try StoreDirectory()
        try GoldenFile.copy("patterns", to: directory.file(), madeBy: Self.make)
        let schema = try Self.schema()
        let file = try directory.open(schema: schema)
        #expect(file.schema == schema)
        let values = try file.read { reader in
            try reader.withRecord(ofEntity: 1, .fixed(1), asOf: 1) { record in
                let body = try RecordBody(record.body, of: .patterned)
                return try Self.values.slots.map { try body.value($0) }
            }
        }
        #expect(values == Self.values)
        #expect(try file.verify().problems == [])
    }
}

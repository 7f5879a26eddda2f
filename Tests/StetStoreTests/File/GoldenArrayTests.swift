import StetTestSupport
import Testing

@testable import StetStore

/// The store under version control with arrays of embedded values, whose members have changed.
@Suite struct GoldenArrayTests {
    private let directory = TemporaryDirectory()
    private static let key = ObjectKey(1, 1)

    private static func schema(_ members: [Property], identity: Slot?) throws -> Schema {
        let lines = Property(name: "lines", type: .list, elements: [.embedded])
            .array(of: EmbeddedElements(members: members, identity: identity))
        let further = Property(
            name: "further", type: .list, elements: [.embedded], isOptional: true
        )
        .array(of: EmbeddedElements(members: members, identity: nil))
        return try Schema(entities: [
            Entity(
                name: "Order",
                properties: [Property(name: "number", type: .int), lines, further])
        ])
    }

    private static func first() throws -> Schema {
        try schema(
            [
                Property(name: "article", type: .string),
                Property(
                    name: "amount", type: .int32, rules: [.range(minimum: .int(0), maximum: nil)]),
                Property(name: "note", type: .string, isOptional: true),
            ], identity: nil)
    }

    private static func second() throws -> Schema {
        try schema(
            [
                Property(name: "id", type: .int), Property(name: "amount", type: .int),
                Property(name: "name", type: .string),
            ], identity: 0)
    }

    private func line(_ article: String, _ amount: Int, _ note: Value = .null) -> Value {
        .dictionary([
            .string("article"): .string(article), .string("amount"): .int(amount),
            .string("note"): note,
        ])
    }

    private func item(_ name: String, _ amount: Int) -> Value {
        .dictionary([
            .string("id"): .int(7), .string("amount"): .int(amount), .string("name"): .string(name),
        ])
    }

    private func make(_ path: String) throws {
        let file = try StoreFile.open(at: path, schema: Self.first(), .small(mapByteCount: 1 << 20))
        let lines = Value.list([line("nut", 3), line("é", 1, .string("red"))])
        _ = try file.commit([Edit(Self.key, from: nil, to: [.int(1), lines, .null])])
        _ = try file.commit([
            Edit(
                Self.key, from: [.int(1), lines, .null],
                to: [.int(1), .list([line("saw", 2)]), .list([line("cap", -1)])],
                base: Revision(1)),
            Edit(ObjectKey(1, 2), from: nil, to: [.int(2), .list([]), .list([])]),
        ])
        file.close()
        var origins = SchemaOrigins()
        for array in ["Order.lines", "Order.further"] {
            origins.propertyNames[array] = ["name": ["article"]]
            origins.defaults[array] = ["id": { .int(7) }]
        }
        let migrated = try StoreFile.open(
            at: path, schema: Self.second(), origins: origins, .small(mapByteCount: 1 << 20))
        _ = try migrated.commit([
            Edit(ObjectKey(1, 3), from: nil, to: [.int(3), .list([item("new", 9)]), .null])
        ])
        migrated.close()
    }

    @Test func theGoldenStoreWithArraysIsRead() throws {
        try GoldenFile.copy("arrays", to: directory.file(), madeBy: make)
        let file = try StoreFile.open(at: directory.file(), .small())
        #expect(try file.verify().problems == [])
        let entity = file.schema.entities[0]
        func values(_ id: Int, _ revision: Revision) throws -> [Value]? {
            try file.read { reader in
                try reader.withRecord(ofEntity: 1, ObjectID.fixed(id), asOf: revision) {
                    try RecordBody($0.body, of: entity).values()
                }
            }
        }
        #expect(
            try values(1, Revision(1)) == [.int(1), .list([item("nut", 3), item("é", 1)]), .null])
        #expect(
            try values(1, Revision(4)) == [
                .int(1), .list([item("saw", 2)]), .list([item("cap", -1)]),
            ])
        #expect(try values(2, Revision(4)) == [.int(2), .list([]), .list([])])
        #expect(try values(3, Revision(4)) == [.int(3), .list([item("new", 9)]), .null])
    }
}

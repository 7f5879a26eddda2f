import Foundation
import StetStore
import StetTestSupport
import Testing

/// Stores of three versions of a schema, the later ones migrated, that an earlier version wrote are
/// read, and migrated on, by this one.
struct GoldenVersionsTests {
    private let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private static let versions: [[Entity]] = [
        [
            Entity(name: "Book", properties: [Property(name: "name", type: .string)]),
            Entity(
                name: "Note",
                properties: [
                    Property(name: "headline", type: .string),
                    Property(name: "stars", type: .int8, isOptional: true),
                    Property(name: "book", type: .reference, isOptional: true, target: "Book"),
                    Property(name: "next", type: .reference, isOptional: true, target: "Note"),
                ], indexes: [EntityIndex(0)]),
            Entity(name: "Stamp", properties: [Property(name: "code", type: .data)]),
        ],
        [
            Entity(name: "Book", properties: [Property(name: "name", type: .string)]),
            Entity(
                name: "Note",
                properties: [
                    Property(name: "title", type: .string),
                    Property(name: "next", type: .reference, isOptional: true, target: "Note"),
                    Property(name: "stars", type: .int16),
                    Property(name: "book", type: .reference, isOptional: true, target: "Book"),
                    Property(name: "price", type: .decimal),
                ], indexes: [EntityIndex(2), EntityIndex(0)]),
        ],
        [
            Entity(name: "Author", properties: [Property(name: "name", type: .string)]),
            Entity(
                name: "Article",
                properties: [
                    Property(name: "price", type: .decimal),
                    Property(name: "author", type: .reference, isOptional: true, target: "Author"),
                    Property(name: "title", type: .string),
                    Property(name: "stars", type: .double),
                    Property(name: "shelf", type: .reference, isOptional: true, target: "Book"),
                ], indexes: [EntityIndex(3), EntityIndex(2, isUnique: true)]),
            Entity(name: "Book", properties: [Property(name: "name", type: .string)]),
        ],
    ]

    private static let origins = [
        SchemaOrigins(),
        SchemaOrigins(
            properties: ["Note": ["title": "headline"]],
            defaults: ["Note": ["stars": .int(3), "price": .decimal(1.5)]]),
        SchemaOrigins(
            entities: ["Article": "Note"], properties: ["Article": ["shelf": "book"]]),
    ]

    private func open(_ path: String, _ version: Int) throws -> StoreFile {
        try StoreFile.open(
            at: path, schema: try Schema(entities: Self.versions[version - 1]),
            origins: Self.origins[version - 1], .small(mapByteCount: 1 << 20))
    }

    private static let book = ObjectKey(1, 1)
    private static let notes = (0...3).map { ObjectKey(2, 10 + $0) }

    /// Makes the store of a version, through those before it.
    private func make(at path: String, _ version: Int) throws {
        var file = try open(path, 1)
        let first: [Value] = [
            .string("e\u{301}rste"), .int(-7), .reference(Self.book.id), .null,
        ]
        let second: [Value] = [.string("second"), .null, .null, .reference(Self.notes[0].id)]
        _ = try file.commit(
            [
                Edit(Self.book, from: nil, to: [.string("shelf")]),
                Edit(Self.notes[0], from: nil, to: first),
                Edit(Self.notes[1], from: nil, to: second),
                Edit(ObjectKey(3, 1), from: nil, to: [.data(Data([1, 2]))]),
            ], EditNote(author: "lala", label: "version 1", time: 100))
        file.close()
        if version == 1 { return }
        file = try open(path, 2)
        let third: [Value] = [
            .string("third"), .reference(Self.notes[1].id), .int(300), .reference(Self.book.id),
            .decimal(Decimal(string: "0.1") ?? 0),
        ]
        var changed: [Value] = [
            .string("second"), .reference(Self.notes[0].id), .int(3), .null, .decimal(1.5),
        ]
        let before = changed
        changed[0] = .string("changed")
        _ = try file.commit(
            [
                Edit(Self.notes[2], from: nil, to: third),
                Edit(Self.notes[1], from: before, to: changed, base: 1),
            ], EditNote(author: "po", label: "version 2", time: 200, base: 2))
        file.close()
        if version == 2 { return }
        file = try open(path, 3)
        let author = ObjectKey(4, 1)
        _ = try file.commit(
            [
                Edit(author, from: nil, to: [.string("Ada")]),
                Edit(
                    Self.notes[3], from: nil,
                    to: [
                        .decimal(2), .reference(author.id), .string("fourth"), .double(0.5), .null,
                    ]),
            ], EditNote(label: "version 3", time: 300, base: 4))
        file.close()
    }

    private func shown(_ revision: Int, _ values: [Value]) -> Shown {
        Shown(revision: Revision(UInt64(revision)), cells: values.map(\.cell))
    }

    /// Returns the objects of a version's last commit as the last version shows them.
    private func expected(_ version: Int) -> [ObjectKey: Shown] {
        func article(_ title: String, _ stars: Double, _ price: Value, _ shelf: Value) -> [Value] {
            [price, .null, .string(title), .double(stars), shelf]
        }
        let shelf = Value.reference(Self.book.id)
        var objects = [
            Self.book: shown(1, [.string("shelf")]),
            Self.notes[0]: shown(1, article("e\u{301}rste", -7, .decimal(1.5), shelf)),
            Self.notes[1]: shown(1, article("second", 3, .decimal(1.5), .null)),
        ]
        if version < 2 { return objects }
        objects[Self.notes[1]] = shown(3, article("changed", 3, .decimal(1.5), .null))
        objects[Self.notes[2]] = shown(
            3, article("third", 300, .decimal(Decimal(string: "0.1") ?? 0), shelf))
        if version < 3 { return objects }
        objects[ObjectKey(4, 1)] = shown(5, [.string("Ada")])
        objects[Self.notes[3]] = shown(
            5, [.decimal(2), .reference(.fixed(1)), .string("fourth"), .double(0.5), .null])
        return objects
    }

    @Test(arguments: 1...3)
    func theGoldenStoreOfEachVersionIsReadMigratedAndKept(version: Int) throws {
        try GoldenFile.copy("version-\(version)", to: directory.file()) { path in
            try make(at: path, version)
        }
        // Opens it with its own schema.
        let file = try StoreFile.open(at: directory.file())
        #expect(file.schema.revision == version)
        #expect(try file.verify().problems == [])
        let head = try file.read { try $0.head().revision }
        #expect(head.number == UInt64(2 * version - 1))
        file.close()
        // Migrates it through the following versions.
        for next in version...3 where next > version { try open(directory.file(), next).close() }
        let last = try open(directory.file(), 3)
        #expect(last.schema.revision == 3)
        #expect(last.schema.entities.map(\.name) == ["Book", "Article", "", "Author"])
        #expect(try last.objects(asOf: head) == expected(version))
        for earlier in stride(from: 2 * version - 1, through: 1, by: -2) {
            let then = try last.objects(asOf: Revision(UInt64(earlier)))
            #expect(then == expected((earlier + 1) / 2), "revision \(earlier)")
        }
        #expect(try last.verify().problems == [])
        let found = try last.objects(EntityIndex(3))
        let stars = expected(version).filter { $0.key.entity == 2 }.keys.sorted()
        #expect(Set(found) == Set(stars.map(\.id)))
    }
}

import Foundation
import StetStore
import StetTestSupport
import Testing

/// Stores that are trimmed before, between and behind migrations.
struct TrimMigrationTests {
    private let directory: StoreDirectory
    private let note = ObjectKey(1, 1)
    private let old = ObjectKey(1, 2)

    init() throws { directory = try StoreDirectory() }

    private static let versions: [[Entity]] = [
        [
            Entity(
                name: "Note",
                properties: [
                    Property(name: "headline", type: .string),
                    Property(name: "stars", type: .int8, isOptional: true),
                    Property(name: "draft", type: .bool, isOptional: true),
                ]),
            Entity(name: "Stamp", properties: [Property(name: "code", type: .data)]),
        ],
        [
            Entity(
                name: "Note",
                properties: [
                    Property(name: "stars", type: .int16),
                    Property(name: "title", type: .string),
                    Property(name: "price", type: .double),
                ])
        ],
        [
            Entity(
                name: "Note",
                properties: [
                    Property(name: "title", type: .string),
                    Property(name: "stars", type: .double),
                ], indexes: [EntityIndex(0)])
        ],
    ]

    private static let origins = [
        SchemaOrigins(),
        SchemaOrigins(
            properties: ["Note": ["title": "headline"]],
            defaults: ["Note": ["stars": .int(3), "price": .double(1.5)]]),
        SchemaOrigins(),
    ]

    private func open(_ version: Int) throws -> StoreFile {
        try StoreFile.open(
            at: directory.file(), schema: try Schema(entities: Self.versions[version - 1]),
            origins: Self.origins[version - 1], .small())
    }

    /// Three versions with commits in each; `trims` are made while each version is open.
    private func make(_ trims: [UInt64]) throws -> StoreFile {
        var file = try open(1)
        let (first, second): ([Value], [Value]) = (
            [.string("one"), .null, .bool(true)], [.string("two"), .int(-7), .null]
        )
        _ = try file.commit([
            Edit(note, from: nil, to: first), Edit(old, from: nil, to: second),
            Edit(ObjectKey(2, 3), from: nil, to: [.data(Data([1]))]),
        ])
        _ = try file.commit([
            Edit(note, from: first, to: [.string("one"), .int(3), .bool(true)], base: 1)
        ])
        try trim(&file, trims[0], 1)
        file = try open(2)
        let third: [Value] = [.int(300), .string("three"), .double(1.5)]
        _ = try file.commit([
            Edit(note, from: [.int(3), .string("one"), .double(1.5)], to: third, base: 2)
        ])
        _ = try file.commit([Edit(note, from: third, to: nil, base: 4)])
        try trim(&file, trims[1], 2)
        file = try open(3)
        _ = try file.commit([Edit(note, from: nil, to: [.string("four"), .double(0)], base: 5)])
        _ = try file.commit([
            Edit(
                old, from: [.string("two"), .double(-7)], to: [.string("2"), .double(1)], base: 1)
        ])
        try trim(&file, trims[2], 3)
        return file
    }

    private func trim(_ file: inout StoreFile, _ last: UInt64, _ version: Int) throws {
        try file.trim(through: Revision(last))
        #expect(try file.verify().problems == [], "version \(version), trimmed to \(last)")
        file.close()
        file = try open(version)
        #expect(try file.verify().problems == [], "version \(version), trimmed to \(last)")
        file.close()
        if version == 3 { file = try open(3) }
    }

    private static let cases: [[UInt64]] =
        [
            [0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 3, 3], [0, 4, 8], [2, 5, 8], [1, 4, 7], [0, 0, 6],
        ]
        + [[0, 5, 5], [2, 3, 8], [0, 2, 4]]

    @Test(arguments: cases)
    func theStateIsTheSameWhereverAndWheneverItIsTrimmed(trims: [UInt64]) throws {
        let file = try make(trims)
        let whole = try TrimMigrationTests()
        let reference = try whole.make([0, 0, 0])
        let floor = try file.read { try $0.floor() }
        #expect(floor.number == trims.max())
        for number in floor.number...8 {
            #expect(
                try file.objects(asOf: Revision(number))
                    == reference.objects(asOf: Revision(number)), "\(number)")
        }
        #expect(file.schema.revision == 3)
    }

    @Test func aMigratedTrimmedRecordThatIsDamagedIsFound() throws {
        let file = try make([2, 5, 5])
        for (key, value) in try #require(try file.dump()["records.1"]) {
            for index in value.indices {
                var damaged = value
                damaged[index] ^= 1
                try file.tamper("records.1", key, damaged)
                #expect((try? file.verify().problems.isEmpty) != true, "\(index)")
            }
            try file.tamper("records.1", key, value)
        }
        #expect(try file.verify().problems == [])
    }

    @Test(arguments: [0, 2, 5] as [UInt64])
    func valuesOfEarlierSchemasAreRedactedAsThoseOfTheProperty(floor: UInt64) throws {
        let file = try make([min(floor, 2), floor, floor])
        try file.redact(RedactionRequest(entity: 1, object: note.id, slots: [0]))
        try file.redact(RedactionRequest(entity: 1, object: old.id, slots: [0, 1]))
        #expect(try file.verify().problems == [])
        let journal = try #require(try file.dump()["journal"]).values
        for text in ["one", "two", "three"] {
            #expect(!journal.contains { Data($0).range(of: Data(text.utf8)) != nil }, "\(text)")
        }
        #expect(journal.contains { Data($0).range(of: Data("four".utf8)) != nil })
        try file.trim(through: 6)
        #expect(try file.verify().problems == [])
    }

    @Test(arguments: [0, 1], [false, true])
    func aMigrationThatWasTrimmedAndTamperedWithIsFound(number: Int, isGone: Bool) throws {
        let file = try make([0, 5, 8])
        let unnamed = try #require(try file.dump()[""])
        let keys = unnamed.keys.filter { $0.starts(with: "migration.".utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        #expect(keys.count == 2)
        var damaged = unnamed[keys[number]]
        damaged?[20] ^= 1
        try file.tamper(nil, keys[number], isGone ? nil : damaged)
        file.close()
        let error = thrown(StoreError.self) { try open(3).close() }
        #expect(error?.code == .damaged)
    }
}

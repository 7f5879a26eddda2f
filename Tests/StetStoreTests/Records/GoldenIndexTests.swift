import Foundation
import StetStore
import StetTestSupport
import Testing

/// The indexes that an earlier version wrote are read, and maintained, by this one.
struct GoldenIndexTests {
    private static let long = String(repeating: "long ", count: 120)

    private static func values(_ number: Int) -> [Value] {
        person(
            ["Ada", "e\u{301}", "\u{c5}", "ß"][number - 1],
            city: [nil, "Kiel", "KÖLN", "köln"][number - 1], age: [nil, 1, 2, -3][number - 1],
            score: [-0.0, 0, .nan, -.infinity][number - 1],
            notes: [nil, "short", long + "a", long + "b"][number - 1])
    }

    private static func make(at path: String) throws {
        let file = try StoreFile.open(at: path, schema: .people, .small(mapByteCount: 1 << 20))
        let first = (1...3).map { Edit(person($0), from: nil, to: values($0)) }
        _ = try file.commit(first + [Edit(person(5), from: nil, to: person("gone"))])
        _ = try file.commit([
            Edit(person(4), from: nil, to: values(4)),
            Edit(person(5), from: person("gone"), to: nil, base: 1),
        ])
        file.close()
    }

    @Test func theGoldenStoreWithIndexesIsReadAndKept() throws {
        let directory = try StoreDirectory()
        try GoldenFile.copy("indexes", to: directory.file(), madeBy: Self.make)
        let file = try directory.open(schema: .people)
        func numbers(_ index: EntityIndex) throws -> [UInt64] {
            try file.objects(index).map { $0.low & 0xff }
        }
        #expect(try numbers(.name) == [1, 3, 4, 2])
        #expect(try numbers(.cityAndAge) == [1, 2, 4, 3])
        #expect(try numbers(.folded) == [1, 2, 3, 4])
        #expect(try numbers(.score) == [4, 1, 2, 3])
        #expect(try numbers(.notes) == [1, 3, 4, 2])
        #expect(try file.verify().problems == [])
        let edits = [
            Edit(person(2), from: Self.values(2), to: nil, base: 1),
            Edit(person(6), from: nil, to: person("\u{e9}", notes: Self.long + "c")),
        ]
        _ = try file.commit(edits)
        #expect(try numbers(.name) == [1, 3, 4, 6])
        #expect(try numbers(.notes) == [1, 3, 4, 6])
        #expect(try file.verify().problems == [])
    }

    // MARK: Conditions

    /// The jobs by the day on which they are due, of those that are due, and the unique names of
    /// those that are not done.
    private static func jobs() throws -> Schema {
        func isAbove(_ number: Int, slot: Slot) -> QueryNode {
            .comparison(.greater, .property(.root, slot: slot), .constant(.int(number)))
        }
        return try Schema(entities: [
            Entity(
                name: "Job",
                properties: [
                    Property(name: "name", type: .string), Property(name: "due", type: .int),
                    Property(name: "left", type: .int),
                ],
                indexes: [
                    EntityIndex(1).only(where: isAbove(0, slot: 1)),
                    EntityIndex(0, isUnique: true).only(where: isAbove(0, slot: 2)),
                ])
        ])
    }

    private static func job(_ name: String, due: Int, left: Int) -> [Value] {
        [.string(name), .int(due), .int(left)]
    }

    private static func makeJobs(at path: String) throws {
        let file = try StoreFile.open(at: path, schema: jobs(), .small(mapByteCount: 1 << 20))
        _ = try file.commit([
            Edit(ObjectKey(1, 1), from: nil, to: job("print", due: 3, left: 1)),
            Edit(ObjectKey(1, 2), from: nil, to: job("print", due: 2, left: 0)),
            Edit(ObjectKey(1, 3), from: nil, to: job("scan", due: 0, left: 4)),
        ])
        file.close()
    }

    @Test func theGoldenStoreWithConditionsOfIndexesIsReadAndKept() throws {
        let directory = try StoreDirectory()
        let schema = try Self.jobs()
        try GoldenFile.copy("conditions", to: directory.file(), madeBy: Self.makeJobs)
        let file = try directory.open(schema: schema)
        func numbers() throws -> [[UInt64]] {
            try schema.indexes.map { index in
                try file.objects(index.index).map { $0.low & 0xff }
            }
        }
        #expect(file.schema == schema)
        #expect(try numbers() == [[1, 3], [2, 1]])
        #expect(try file.verify().problems == [])
        // The name of the first job is in use while something is left of it.
        let again = Edit(
            ObjectKey(1, 2), from: Self.job("print", due: 2, left: 0),
            to: Self.job("print", due: 2, left: 1), base: 1)
        let error = thrown(CommitRefusal.self) { try file.commit([again]) }
        let unique = try #require(schema.indexes.first { $0.index.isUnique })
        #expect(
            error?.reasons == [
                .notUnique(
                    UniquenessConflict(
                        index: unique.number, object: .fixed(2), other: .fixed(1)))
            ])
        _ = try file.commit([
            Edit(
                ObjectKey(1, 1), from: Self.job("print", due: 3, left: 1),
                to: Self.job("print", due: 0, left: 0), base: 1),
            again,
        ])
        #expect(try numbers() == [[2, 3], [2]])
        #expect(try file.verify().problems == [])
    }
}

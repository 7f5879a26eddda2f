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
}

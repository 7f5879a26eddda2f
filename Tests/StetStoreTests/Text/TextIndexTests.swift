import Foundation
import StetLMDB
import StetTestSupport
import Testing

@testable import StetStore

/// The lists of words of an index: how they are kept, and damage to them.
struct TextIndexTests {
    private let directory: StoreDirectory
    private let file: StoreFile

    private static let schema: Schema = {
        do {
            return try Schema(entities: [
                Entity(
                    name: "Page",
                    properties: [
                        Property(name: "title", type: .string),
                        Property(name: "text", type: .string, isOptional: true),
                    ], indexes: [EntityIndex(words: [1, 0])])
            ])
        } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()

    init() throws {
        directory = try StoreDirectory()
        file = try StoreFile.open(at: directory.file(), schema: Self.schema, .small())
    }

    private func page(_ number: Int) -> ObjectKey { ObjectKey(1, number) }

    private func values(_ title: String, _ text: String? = nil) -> [Value] {
        [.string(title), text.map(Value.string) ?? .null]
    }

    private func found(_ text: String) throws -> [Int] {
        let attributes = [TextMatch.Attribute(slot: 0), TextMatch.Attribute(slot: 1)]
        return try file.read { reader in
            var query = StoreQuery(entity: 1)
            query.condition = .matching(.root, TextMatch(TextQuery(text), in: attributes))
            let view = QueryState.View(
                WorkingState(file.schema, at: try reader.head().revision))
            return try QueryRun(QueryState(reader, view), query).rows()
                .map { Int($0.id.low & 0xffff_ffff) }
        }
    }

    @Test func listsOfManyObjectsAreSplitAndJoined() throws {
        let numbers = Array(1...2_000)
        _ = try file.commit(
            numbers.map { Edit(page($0), from: nil, to: values("common w\($0 % 7)", "x \($0)")) })
        #expect(try file.verify().problems == [])
        #expect(try found("common").count == 2_000)
        let chunks = try file.dump()["indexes"] ?? [:]
        let list = TextKey.list(1, Array("common".utf8))
        #expect(chunks.keys.count { $0.starts(with: list) } > 5)
        // Removes most objects, in several commits, first those in the middle.
        var random = SeededGenerator(seed: 1)
        var left = numbers.shuffled(using: &random)
        while left.count > 20 {
            let gone = left.suffix(max(left.count / 3, 1))
            left.removeLast(gone.count)
            _ = try file.commit(
                gone.map {
                    Edit(
                        page($0), from: values("common w\($0 % 7)", "x \($0)"), to: nil,
                        base: Revision(1))
                })
            #expect(try file.verify().problems == [])
        }
        #expect(try found("common").sorted() == left.sorted())
        let rest = try file.dump()["indexes"] ?? [:]
        #expect(rest.keys.count { $0.starts(with: list) } <= 3)
    }

    @Test func theListsFollowChangesOfTexts() throws {
        var random = SeededGenerator(seed: 5)
        var pages: [Int: (values: [Value], base: Revision)] = [:]
        var gone: Set<Int> = []
        var step = 0
        while step < 60 {
            var edits: [Edit] = []
            var after = pages
            for number in Set((0..<4).map { _ in Int.random(in: 1...40, using: &random) }).sorted()
            {
                if gone.contains(number) { continue }
                let old = pages[number]
                let isDeletion = old != nil && Int.random(in: 0..<8, using: &random) == 0
                let text = (0..<4).map { _ in
                    ["a", "ab", "abc", "b", "ba"].randomElement(using: &random) ?? ""
                }.joined(separator: " ")
                let new = isDeletion ? nil : values(text, Bool.random(using: &random) ? "c" : nil)
                if let old, old.values == new { continue }
                if isDeletion { gone.insert(number) }
                edits.append(
                    Edit(page(number), from: old?.values, to: new, base: old?.base ?? .zero))
                after[number] = new.map { ($0, Revision(UInt64(step + 1))) }
            }
            if edits.isEmpty { continue }
            step += 1
            _ = try file.commit(edits)
            pages = after
            let problems = try file.verify().problems
            #expect(problems == [])
            if !problems.isEmpty { return }
        }
    }

    @Test func damageToAListIsReported() throws {
        _ = try file.commit([
            Edit(page(1), from: nil, to: values("One two", "three")),
            Edit(page(2), from: nil, to: values("two", nil)),
        ])
        let entries = try #require(try file.dump()["indexes"])
        #expect(entries.count == 4)
        for (key, value) in entries {
            for index in value.indices {
                var damaged = value
                damaged[index] ^= 1 << UInt8(index % 8)
                try file.tamper("indexes", key, damaged)
                #expect(try !file.verify().problems.isEmpty)
            }
            try file.tamper("indexes", key, nil)
            #expect(try !file.verify().problems.isEmpty)
            try file.tamper("indexes", key, value)
            #expect(try file.verify().problems == [])
        }
    }

    @Test func missingAndSuperfluousWordsAreNamed() throws {
        _ = try file.commit([Edit(page(1), from: nil, to: values("one"))])
        let list = TextKey.list(1, Array("one".utf8))
        let value = try #require(try file.dump()["indexes"]?[list])
        try file.tamper("indexes", list, nil)
        #expect(
            try file.verify().problems
                == ["Page words (title, text) misses words of \(page(1).id)."])
        #expect(try found("one") == [])
        try file.tamper("indexes", list, value)
        try file.tamper("indexes", TextKey.totals(1), [UInt8](repeating: 0, count: 16))
        #expect(try file.verify().problems == ["Page words (title, text) has wrong totals."])
    }

    @Test func hostileListsAreErrors() throws {
        _ = try file.commit([Edit(page(1), from: nil, to: values("one"))])
        let list = TextKey.list(1, Array("one".utf8))
        var random = SeededGenerator(seed: 11)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Bool.random(using: &random) ? UInt8.random(in: 0...3, using: &random) : .max
            }
            // With the right checksum, so that what follows is decoded.
            try list.withUnsafeBytes { key in
                try bytes.withUnsafeBytes { content in
                    let sum = Checksum.hash(content, seed: Checksum.hash(key, seed: 0))
                    let value =
                        withUnsafeBytes(of: UInt32(truncatingIfNeeded: sum).littleEndian) {
                            Array($0)
                        } + bytes
                    try value.withUnsafeBytes { value in
                        var chunk = try TextChunk(decoding: value, at: key)
                        do {
                            while let (_, posting) = try chunk.next() {
                                try TextPosting(posting).forEachPosition(attributeCount: 2) {
                                    attribute, _ in #expect(attribute < 2)
                                }
                            }
                        } catch is DecodingFailure {}
                    }
                }
            }
        }
    }

    @Test func anIndexOfAnotherUnicodeVersionIsRefused() throws {
        var bytes = Self.schema.encoded()
        let version = withUnsafeBytes(of: TextTokenizer.version.littleEndian) { Array($0) }
        let place = try #require(
            bytes.indices.dropLast(2).first { Array(bytes[$0...].prefix(3)) == [2] + version })
        bytes[place + 1] ^= 1
        let other = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        #expect(other != Self.schema)
        #expect(other.indexes[0].index.isText)
        let comparison = try SchemaComparison(of: other, with: Self.schema)
        #expect(
            comparison.steps == [
                "builds the words (title, text) of Page", "drops the words (title, text) of Page",
            ])
        let body = try EncodedBody(values("one"), placedSlots: []).bytes
        let error = #expect(throws: DecodingFailure.self) {
            try body.withUnsafeBytes {
                try other.indexes[0].index.words(of: RecordBody($0, of: other.entities[0]))
            }
        }
        #expect(error?.description.contains("another version of Unicode") ?? false)
    }
}

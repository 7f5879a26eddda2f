import Foundation
import StetLMDB
import StetTestSupport
import Testing

@testable import StetStore

/// The lists of trigrams of an index: how they are kept, damage to them, and walks through them.
struct SubstringIndexTests {
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
                    ], indexes: [EntityIndex(substringsOf: 1), EntityIndex(substringsOf: 0)])
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

    private func number(_ id: ObjectID) -> Int { Int(id.low & 0xffff_ffff) }

    private func condition(_ part: String, slot: Slot = 0) -> QueryNode {
        .text(.anywhere, .property(.root, slot: slot), .constant(.string(part)))
    }

    private func run<Result>(
        _ conditions: [QueryNode], _ body: (QueryRun) throws -> Result
    ) throws -> Result {
        try file.read { reader in
            var query = StoreQuery(entity: 1)
            query.condition = .all(conditions)
            let view = QueryState.View(
                WorkingState(file.schema, at: try reader.head().revision))
            return try body(QueryRun(QueryState(reader, view), query))
        }
    }

    private func found(_ parts: String...) throws -> [Int] {
        try run(parts.map { condition($0) }) { try $0.rows().map { number($0.id) } }
    }

    private func explanation(_ parts: String...) throws -> [String] {
        try run(parts.map { condition($0) }) { run in
            try run.explanation().split(separator: "\n").map(String.init)
        }
    }

    /// Returns the objects that the index finds for the trigrams of texts.
    private func candidates(_ texts: [String], index: Int = 1) throws -> [Int] {
        try file.read { reader in
            var found: [Int] = []
            let search = try #require(TrigramSearch(index, texts))
            try search.forEachID(
                in: file.projection.tableOfIndexes, reader.transaction, visit: {}
            ) { id in
                found.append(number(id))
                return true
            }
            return found
        }
    }

    @Test func aPlanNamesTheTrigramsOrWhyThereAreNone() throws {
        _ = try file.commit(
            (1...400).map { number in
                let title = number % 50 == 0 ? "Database \(number)" : "entry \(number)"
                return Edit(page(number), from: nil, to: values(title))
            })
        #expect(
            try explanation("atabas") == [
                "substrings (title): 4 trigrams of \"atabas\": 8 of Page",
                "test: title contains \"atabas\"",
            ])
        #expect(
            try explanation("Data", "base") == [
                "substrings (title): 4 trigrams of \"Data\" and \"base\": 8 of Page",
                "test: title contains \"Data\" && title contains \"base\"",
            ])
        #expect(
            try explanation("entry") == [
                "look at all 400 records of Page",
                "substrings (title): 3 trigrams of \"entry\": more than 100, which is not worth it",
                "test: title contains \"entry\"",
            ])
        #expect(
            try explanation("ba") == [
                "look at all 400 records of Page", "substrings (title): \"ba\" is too short",
                "test: title contains \"ba\"",
            ])
        #expect(try explanation("xyz")[0] == "substrings (title): 1 trigram of \"xyz\": 0 of Page")
        #expect(try found("atabas") == Array(stride(from: 50, through: 400, by: 50)))
        #expect(try found("ba").count == 8)
        #expect(try found("entry").count == 392)
        #expect(try found("xyz") == [])
    }

    @Test func objectsAreFoundByTheTrigramsOfAllLists() throws {
        // Lists of very different lengths, of several chunks.
        var titles: [Int: String] = [:]
        for number in 1...3_000 {
            var title = "common"
            if number % 2 == 0 { title += " seldom" }
            if number % 7 == 0 { title += " rather" }
            if number > 2_000, number < 2_030 { title += " clustered" }
            titles[number] = title
        }
        _ = try file.commit(
            titles.sorted { $0.key < $1.key }.map {
                Edit(page($0.key), from: nil, to: values($0.value))
            })
        let parts = ["common", "seldom", "rather", "clustered", "tered", "mon sel", "dom clu"]
        for one in parts {
            for other in parts {
                let wanted = titles.filter { $0.value.contains(one) && $0.value.contains(other) }
                let possible = try candidates([one, other])
                #expect(possible == possible.sorted())
                let isComplete = Set(possible).isSuperset(of: wanted.keys)
                #expect(isComplete, "\(one) and \(other)")
                #expect(try found(one, other).sorted() == wanted.keys.sorted())
            }
        }
        // The two lists differ by more than the factor, and yet no object is missed.
        #expect(try candidates(["clustered", "common"]) == Array(2_001...2_029))
        // Similar lists are intersected.
        #expect(try candidates(["seldom", "rather"]).count == 3_000 / 14)
        #expect(try candidates(["nothing like it"]) == [])
        #expect(try candidates(["common"], index: 2) == [])
    }

    @Test func theListsFollowChangesOfTexts() throws {
        var random = SeededGenerator(seed: 15)
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
                let isGone = old != nil && Int.random(in: 0..<8, using: &random) == 0
                let text = (0..<4).map { _ in
                    ["a", "ab", "abc", "b", "ba"].randomElement(using: &random) ?? ""
                }.joined()
                let new = isGone ? nil : values(text, Bool.random(using: &random) ? text : nil)
                if let old, old.values == new { continue }
                if isGone { gone.insert(number) }
                edits.append(
                    Edit(page(number), from: old?.values, to: new, base: old?.base ?? .zero))
                after[number] = new.map { ($0, Revision(UInt64(step + 1))) }
            }
            if edits.isEmpty { continue }
            step += 1
            _ = try file.commit(edits)
            pages = after
            try #require(try file.verify().problems == [])
            for part in ["aba", "bab", "abcab"] {
                let wanted = pages.filter { page in
                    if case .string(let title) = page.value.values[0] {
                        return title.contains(part)
                    }
                    return false
                }
                #expect(try found(part).sorted() == wanted.keys.sorted())
            }
        }
    }

    @Test func damageToAListIsReported() throws {
        _ = try file.commit([
            Edit(page(1), from: nil, to: values("One", "three")),
            Edit(page(2), from: nil, to: values("one", nil)),
        ])
        let entries = try #require(try file.dump()["indexes"])
        // One list of the titles, three of the texts, and the totals of both.
        #expect(entries.count == 6)
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

    @Test func missingAndSuperfluousTrigramsAreNamed() throws {
        _ = try file.commit([
            Edit(page(1), from: nil, to: values("one")),
            Edit(page(2), from: nil, to: values("two")),
        ])
        let list = TextKey.list(1, Array("one".utf8))
        let value = try #require(try file.dump()["indexes"]?[list])
        try file.tamper("indexes", list, nil)
        #expect(
            try file.verify().problems
                == ["Page substrings (title) misses trigrams of \(page(1).id)."])
        try file.tamper("indexes", list, value)
        // The list of one trigram under the key of another, with the checksum that belongs there.
        let other = TextKey.list(1, Array("onx".utf8))
        let sum = other.withUnsafeBytes { key in
            value.dropFirst(4).withUnsafeBytes {
                UInt32(truncatingIfNeeded: Checksum.hash($0, seed: Checksum.hash(key, seed: 0)))
            }
        }
        let moved = withUnsafeBytes(of: sum.littleEndian) { Array($0) } + value.dropFirst(4)
        try file.tamper("indexes", other, moved)
        #expect(
            try file.verify().problems == [
                "Page substrings (title) has an entry of \(page(1).id) that is not that of its "
                    + "trigrams."
            ])
        // One instead of the other: the number is right.
        try file.tamper("indexes", list, nil)
        #expect(
            try file.verify().problems == [
                "Page substrings (title) has an entry of \(page(1).id) that is not that of its "
                    + "trigrams."
            ])
    }

    @Test func hostileListsAreErrors() throws {
        _ = try file.commit([Edit(page(1), from: nil, to: values("one"))])
        let list = TextKey.list(1, Array("one".utf8))
        var random = SeededGenerator(seed: 11)
        var errorCount = 0
        for _ in 0..<300 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Bool.random(using: &random) ? UInt8.random(in: 0...3, using: &random) : .max
            }
            let sum = list.withUnsafeBytes { key in
                bytes.withUnsafeBytes { Checksum.hash($0, seed: Checksum.hash(key, seed: 0)) }
            }
            let head = withUnsafeBytes(of: UInt32(truncatingIfNeeded: sum).littleEndian) {
                Array($0)
            }
            try file.tamper("indexes", list, head + bytes)
            do { _ = try found("one") } catch { errorCount += 1 }
        }
        #expect(errorCount > 100)
    }

    @Test func anIndexOfAnotherUnicodeVersionIsNotUsed() throws {
        var bytes = Self.schema.encoded()
        let version = withUnsafeBytes(of: TextTrigrams.version.littleEndian) { Array($0) }
        let place = try #require(
            bytes.indices.dropLast(2).first { Array(bytes[$0...].prefix(3)) == [4] + version })
        bytes[place + 1] ^= 1
        let other = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        #expect(other != Self.schema)
        let comparison = try SchemaComparison(of: other, with: Self.schema)
        #expect(
            comparison.steps == [
                "builds the substrings (title) of Page", "drops the substrings (title) of Page",
            ])
        let node = condition("text")
        #expect(try QueryPlanner(other, 1, node).paths().isEmpty)
        #expect(try QueryPlanner(Self.schema, 1, node).paths().count == 1)
        let body = try EncodedBody(values("one"), placedSlots: []).bytes
        let error = #expect(throws: DecodingFailure.self) {
            try body.withUnsafeBytes {
                try other.indexes[0].index.terms(of: RecordBody($0, of: other.entities[0]))
            }
        }
        #expect(error?.description.contains("another version of Unicode") ?? false)
    }

    @Test func aSchemaWithBothKindsOfPartsIsOfALaterFormat() throws {
        var bytes = Self.schema.encoded()
        let version = withUnsafeBytes(of: TextTrigrams.version.littleEndian) { Array($0) }
        let place = try #require(
            bytes.indices.dropLast(2).first { Array(bytes[$0...].prefix(3)) == [4] + version })
        for flags: UInt8 in [6, 8] {
            bytes[place] = flags
            #expect(throws: DecodingFailure.self) {
                try bytes.withUnsafeBytes { try Schema(decoding: $0) }
            }
        }
    }

    @Test func onlyTextHasSubstrings() {
        #expect(throws: StoreError.self) {
            try Schema(entities: [
                Entity(
                    name: "Sheet", properties: [Property(name: "size", type: .int)],
                    indexes: [EntityIndex(substringsOf: 0)])
            ])
        }
    }
}

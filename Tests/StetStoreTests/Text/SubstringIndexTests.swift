import Foundation
import StetLMDB
import StetTestSupport
import Testing

@testable import StetStore

/// The lists of trigrams of an index: how they are kept, damage to them, and walks through them.
struct SubstringIndexTests {
    private let pages: PageStore
    private var file: StoreFile { pages.file }

    init() throws {
        pages = try PageStore(EntityIndex(substringsOf: 1), EntityIndex(substringsOf: 0))
    }

    private func condition(_ part: String, slot: Slot = 0) -> QueryNode {
        .text(.anywhere, .property(.root, slot: slot), .constant(.string(part)))
    }

    private func found(_ parts: String...) throws -> [Int] {
        try pages.found(.all(parts.map { condition($0) }))
    }

    private func explanation(_ parts: String...) throws -> [String] {
        try pages.run(.all(parts.map { condition($0) })) { run in
            try run.explanation().split(separator: "\n").map(String.init)
        }
    }

    /// Returns the objects that the index finds for the trigrams of texts.
    private func candidates(_ texts: [String], index: Int = 1) throws -> [Int] {
        try file.read { reader in
            var found: [Int] = []
            let search = try #require(TrigramSearch(index, texts))
            let names = try reader.shortIDs(of: pages.schema.indexes[index - 1])
            try search.forEachID(
                in: file.projection.tableOfIndexes, reader.transaction, visit: {}
            ) { id in
                found.append(pages.number(try names.id(id)))
                return true
            }
            return found
        }
    }

    @Test func aPlanNamesTheTrigramsOrWhyThereAreNone() throws {
        _ = try file.commit(
            (1...400).map { number in
                let title = number % 50 == 0 ? "Database \(number)" : "entry \(number)"
                return Edit(pages.page(number), from: nil, to: pages.values(title))
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
                Edit(pages.page($0.key), from: nil, to: pages.values($0.value))
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

    @Test(arguments: PageIDs.allCases)
    func theListsFollowChangesOfTexts(ids: PageIDs) throws {
        let store = try PageStore(EntityIndex(substringsOf: 0), ids: ids)
        try store.editPages(seed: 15, separator: "", text: { $0 }) {
            (pages: [Int: [Value]]) throws in
            for part in ["aba", "bab", "abcab"] {
                let wanted = pages.filter { page in
                    if case .string(let title) = page.value[0] { return title.contains(part) }
                    return false
                }
                #expect(try store.found(condition(part)).sorted() == wanted.keys.sorted())
            }
        }
    }

    @Test func damageToAListIsReported() throws {
        _ = try file.commit([
            Edit(pages.page(1), from: nil, to: pages.values("One", "three")),
            Edit(pages.page(2), from: nil, to: pages.values("one", nil)),
        ])
        // One list of the titles, three of the texts, and of both the totals and the shared half.
        try pages.expectDamageIsReported(entryCount: 8)
    }

    @Test func missingAndSuperfluousTrigramsAreNamed() throws {
        _ = try file.commit([
            Edit(pages.page(1), from: nil, to: pages.values("one")),
            Edit(pages.page(2), from: nil, to: pages.values("two")),
        ])
        let list = TextKey.list(1, Array("one".utf8))
        let value = try #require(try file.dump()["indexes"]?[list])
        try file.tamper("indexes", list, nil)
        #expect(
            try file.verify().problems
                == ["Page substrings (title) misses trigrams of \(pages.page(1).id)."])
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
                "Page substrings (title) has an entry of \(pages.page(1).id) that is not "
                    + "that of its trigrams."
            ])
        // One instead of the other: the number is right.
        try file.tamper("indexes", list, nil)
        #expect(
            try file.verify().problems == [
                "Page substrings (title) has an entry of \(pages.page(1).id) that is not "
                    + "that of its trigrams."
            ])
    }

    @Test func hostileListsAreErrors() throws {
        _ = try file.commit([Edit(pages.page(1), from: nil, to: pages.values("one"))])
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
        var bytes = pages.schema.encoded()
        let version = withUnsafeBytes(of: TextTrigrams.version.littleEndian) { Array($0) }
        let place = try #require(
            bytes.indices.dropLast(2).first { Array(bytes[$0...].prefix(3)) == [4] + version })
        bytes[place + 1] ^= 1
        let other = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        #expect(other != pages.schema)
        let comparison = try SchemaComparison(of: other, with: pages.schema)
        #expect(
            comparison.steps == [
                "builds the substrings (title) of Page", "drops the substrings (title) of Page",
            ])
        let node = condition("text")
        #expect(try QueryPlanner(other, 1, node).paths().isEmpty)
        #expect(try QueryPlanner(pages.schema, 1, node).paths().count == 1)
        let body = try EncodedBody(pages.values("one"), of: other.entities[0]).bytes
        let error = #expect(throws: StoreError.self) {
            try body.withUnsafeBytes {
                try other.indexes[0].index.terms(of: RecordBody($0, of: other.entities[0]))
            }
        }
        #expect(error?.code == .textRulesMissing)
        #expect(error?.message.contains("another version of Unicode") == true)
    }

    @Test func aSchemaWithBothKindsOfPartsIsOfALaterFormat() throws {
        var bytes = pages.schema.encoded()
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

import Foundation
import StetLMDB
import StetTestSupport
import Testing

@testable import StetStore

/// The lists of words of an index: how they are kept, and damage to them.
struct TextIndexTests {
    private let pages: PageStore
    private var file: StoreFile { pages.file }

    init() throws { pages = try PageStore(EntityIndex(words: [1, 0])) }

    private func found(_ text: String) throws -> [Int] {
        let attributes = [TextMatch.Attribute(slot: 0), TextMatch.Attribute(slot: 1)]
        return try pages.found(.matching(.root, TextMatch(TextQuery(text), in: attributes)))
    }

    @Test func listsOfManyObjectsAreSplitAndJoined() throws {
        let numbers = Array(1...2_000)
        _ = try file.commit(
            numbers.map {
                Edit(pages.page($0), from: nil, to: pages.values("common w\($0 % 7)", "x \($0)"))
            })
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
                        pages.page($0), from: pages.values("common w\($0 % 7)", "x \($0)"), to: nil,
                        base: Revision(1))
                })
            #expect(try file.verify().problems == [])
        }
        #expect(try found("common").sorted() == left.sorted())
        let rest = try file.dump()["indexes"] ?? [:]
        #expect(rest.keys.count { $0.starts(with: list) } <= 3)
    }

    /// The store compares the lists with the texts, posting by posting.
    @Test(arguments: PageIDs.allCases)
    func longListsFollowChangesAnywhere(ids: PageIDs) throws {
        let store = try PageStore(EntityIndex(words: [0]), EntityIndex(substringsOf: 0), ids: ids)
        var random = SeededGenerator(seed: 8)
        // Deleted pages, which may come back, have no title.
        var pages: [Int: (title: String?, base: Revision)] = [:]
        for step in 1...40 {
            let numbers = Set(
                (0..<[1, 20, 400][step % 3]).map { _ in Int.random(in: 0..<3_000, using: &random) })
            let edits = numbers.sorted().map { number in
                let old = pages[number]
                let words = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                    ["one", "two", "three"].randomElement(using: &random) ?? ""
                }
                let isGone = old?.title != nil && Int.random(in: 0..<4, using: &random) == 0
                let new = isGone ? nil : words.joined(separator: " ") + " \(step)"
                pages[number] = (new, Revision(UInt64(step)))
                return Edit(
                    store.page(number), from: old?.title.map { store.values($0) },
                    to: new.map { store.values($0) }, base: old?.base ?? .zero)
            }
            _ = try store.file.commit(edits)
            try #require(try store.file.verify().problems == [])
        }
    }

    @Test(arguments: PageIDs.allCases)
    func theListsFollowChangesOfTexts(ids: PageIDs) throws {
        let store = try PageStore(EntityIndex(words: [1, 0]), ids: ids)
        try store.editPages(seed: 5, separator: " ", text: { _ in "c" }) {
            (pages: [Int: [Value]]) throws in
            let wanted = pages.filter { page in
                if case .string(let title) = page.value[0] {
                    return title.split(separator: " ").contains("ab")
                }
                return false
            }
            let search = TextMatch(TextQuery("ab"), in: [TextMatch.Attribute(slot: 0)])
            let found = try store.found(.matching(.root, search))
            #expect(found.sorted() == wanted.keys.sorted())
        }
    }

    @Test func damageToAListIsReported() throws {
        _ = try file.commit([
            Edit(pages.page(1), from: nil, to: pages.values("One two", "three")),
            Edit(pages.page(2), from: nil, to: pages.values("two", nil)),
        ])
        try pages.expectDamageIsReported(entryCount: 5)
    }

    @Test func missingAndSuperfluousWordsAreNamed() throws {
        _ = try file.commit([Edit(pages.page(1), from: nil, to: pages.values("one"))])
        let list = TextKey.list(1, Array("one".utf8))
        let value = try #require(try file.dump()["indexes"]?[list])
        try file.tamper("indexes", list, nil)
        #expect(
            try file.verify().problems
                == ["Page words (title, text) misses words of \(pages.page(1).id)."])
        #expect(try found("one") == [])
        try file.tamper("indexes", list, value)
        try file.tamper("indexes", TextKey.totals(1), [UInt8](repeating: 0, count: 16))
        #expect(try file.verify().problems == ["Page words (title, text) has wrong totals."])
    }

    @Test func hostileListsAreErrors() throws {
        _ = try file.commit([Edit(pages.page(1), from: nil, to: pages.values("one"))])
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
                        var chunk = try TextChunk(decoding: value, at: key, of: .words)
                        do {
                            while let (_, posting) = try chunk.next() {
                                try posting.forEachPosition(attributeCount: 2) {
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
        var bytes = pages.schema.encoded()
        let version = withUnsafeBytes(of: TextTokenizer.version.littleEndian) { Array($0) }
        let place = try #require(
            bytes.indices.dropLast(2).first { Array(bytes[$0...].prefix(3)) == [2] + version })
        bytes[place + 1] ^= 1
        let other = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        #expect(other != pages.schema)
        #expect(other.indexes[0].index.isText)
        let comparison = try SchemaComparison(of: other, with: pages.schema)
        #expect(
            comparison.steps == [
                "builds the words (title, text) of Page", "drops the words (title, text) of Page",
            ])
        let body = try EncodedBody(pages.values("one"), of: other.entities[0]).bytes
        let error = #expect(throws: StoreError.self) {
            try body.withUnsafeBytes {
                try other.indexes[0].index.words(of: RecordBody($0, of: other.entities[0]))
            }
        }
        #expect(error?.code == .textRulesMissing)
        #expect(error?.message.contains("another version of Unicode") ?? false)
    }
}

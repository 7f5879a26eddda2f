import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

struct GoldenStoreTests {
    let directory: StoreDirectory
    private let golden: Data

    init() throws {
        directory = try StoreDirectory()
        try GoldenFile.copy("records", to: directory.file(), madeBy: GoldenStore.make)
        golden = try Data(contentsOf: URL(fileURLWithPath: directory.file()))
    }

    private func checkContents(_ file: StoreFile) throws {
        #expect(try file.verify().problems == [])
        for revision in 0...GoldenStore.steps.count {
            let objects = try file.objects(asOf: Revision(UInt64(revision)))
            #expect(objects == GoldenStore.expected(asOf: revision), "as of \(revision)")
        }
        for (index, step) in GoldenStore.steps.enumerated() {
            let revision = Revision(UInt64(index + 1))
            let commit = try file.read { try $0.commit(revision) }
            #expect(commit.revision == revision)
            #expect(
                commit.id
                    == CommitID(
                        store: file.storeID, base: Revision(UInt64(index)),
                        token: UInt64(index) + 1))
            #expect(
                [commit.author, commit.scope, commit.label] == [
                    step.author, step.scope, step.label,
                ])
            #expect(commit.time == Date(timeIntervalSinceReferenceDate: step.time))
            #expect(commit.cause == .edit)
            let edits = step.edits.sorted { $0.key < $1.key }
            #expect(commit.changeSet.changes.map(\.id) == edits.map(\.key.id))
            #expect(commit.changeSet.changes.map(\.kind) == edits.map(\.kind))
        }
        let tag = GoldenStore.tag
        #expect(try file.references(to: tag.id) == [])
        #expect(try file.references(to: GoldenStore.notebook.id) == [])
    }

    @Test func theGoldenStoreIsSmall() {
        #expect(golden.count < 200_000)
    }

    @Test func theGoldenStoreOpensVerifiesAndHasWhatItHad() throws {
        let file = try directory.open()
        #expect(file.feed.head.number == UInt64(GoldenStore.steps.count))
        try checkContents(file)
    }

    @Test func theGoldenStoreTakesAnotherCommit() throws {
        let file = try directory.open()
        let edits = [
            Edit(GoldenStore.tag, from: [.data(Data([1, 2, 3]))], to: nil, base: 1),
            Edit(ObjectKey(Number.tag, 303), from: nil, to: [.data(Data([3]))]),
        ]
        let commit = try file.commit(edits, EditNote(author: "laa", time: 600))
        #expect(commit.revision == 6)
        try checkContents(file)
        #expect(try file.object(GoldenStore.tag, asOf: 6) == nil)
        #expect(try file.object(ObjectKey(Number.tag, 303), asOf: 6)?.cells == [.bytes([3])])
        file.close()
        let again = try directory.open()
        #expect(try again.read { try $0.commit(6) } == commit)
        try checkContents(again)
    }

    /// Today's writer makes the same bytes, but for what is random.
    @Test func aStoreMadeTodayHasTheRecordsAndReferencesOfTheGoldenOne() throws {
        let path = directory.file("new.stet")
        try GoldenStore.make(at: path)
        let (old, new) = (try directory.open().dump(), try directory.open("new.stet").dump())
        for name in ["records.1", "records.2", "records.3", "members"] {
            #expect(old[name] == new[name], "\(name)")
        }
        #expect(old[""]?[Array("schema".utf8)] == new[""]?[Array("schema".utf8)])
        #expect(old["journal"]?.mapValues(\.count) == new["journal"]?.mapValues(\.count))
        try checkContents(try directory.open("new.stet"))
    }

    // MARK: Damaged twins

    /// Returns the report about a damaged file: the error of opening it, or the problem that
    /// `verify` finds.
    private func verdict(_ bytes: Data, _ name: String) throws -> String? {
        try directory.write(bytes, to: name)
        do {
            let file = try directory.open(name)
            defer { file.close() }
            let report = try file.verify()
            return report.isClean ? nil : report.description
        } catch let error as StoreError {
            return "\(error.code)"
        }
    }

    @Test func aTwinWithADamagedRecordIsDirty() throws {
        // A value has its bytes in its record and in the journal.
        let pattern = Data("Swift".utf8)
        var search = golden.startIndex..<golden.endIndex
        var count = 0
        while let found = golden.range(of: pattern, in: search) {
            var twin = golden
            twin[found.lowerBound] ^= 0x20
            let said = try verdict(twin, "twin-\(count).stet")
            // A free page may contain the bytes, too.
            if said != nil { count += 1 }
            search = found.upperBound..<golden.endIndex
        }
        #expect(count >= 2)
    }

    @Test func aTwinWithADamagedMetaPageIsRefused() throws {
        // The magic number and the version, of both meta pages.
        for (offset, code) in [(16, "notAStore"), (20, "newerFormat")] {
            var twin = golden
            twin[offset] ^= 0xff
            twin[4_096 + offset] ^= 0xff
            #expect(try verdict(twin, "meta-\(offset).stet") == code, "offset \(offset)")
        }
    }

    @Test func aTwinWithOneDamagedMetaPageIsRefused() throws {
        for page in [0, 1] {
            var twin = golden
            twin[page * 4_096 + 16] ^= 0xff
            #expect(try verdict(twin, "page-\(page).stet") == "damaged", "page \(page)")
        }
    }

    @Test func aTwinThatWasCutOffIsRefused() throws {
        for pageCount in [1, 2, 3, golden.count / 4_096 / 2] {
            let said = try verdict(golden.prefix(pageCount * 4_096), "cut-\(pageCount).stet")
            let isTyped = ["damaged", "notAStore"].contains(said)
            #expect(isTyped, "\(pageCount) pages: \(said ?? "clean")")
        }
    }

    @Test func flippedBytesInTheLongValueAreFoundWhereverTheyAre() throws {
        let seed: UInt64 = 0x57e7_4000
        var random = SeededGenerator(seed: seed)
        let long = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
        // The record is stored in one piece; the journal divides its copy into chunks.
        let range = try #require(golden.range(of: long))
        for round in 0..<20 {
            var twin = golden
            let offset = Int.random(in: range, using: &random)
            twin[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            let said = try verdict(twin, "long-\(round).stet")
            #expect(said?.hasPrefix("NOT VERIFIED") == true, "seed \(seed), offset \(offset)")
        }
    }
}

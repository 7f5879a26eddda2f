import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Synchronization
import Testing

/// Indexes of many objects are built before the migration, some objects at a time.
struct IndexBuildTests {
    private struct Interruption: Error {}

    private let directory: StoreDirectory
    private static let count = 25_000

    init() throws {
        directory = try StoreDirectory()
        let file = try open([])
        _ = try file.commit(
            (1...Self.count).map { number in
                Edit(
                    noteKey(number), from: nil,
                    to: [.string("title \(number % 12_000)"), .int(number)])
            })
        file.close()
    }

    private func noteKey(_ number: Int) -> ObjectKey { ObjectKey(1, number) }

    private func open(
        _ indexes: [EntityIndex],
        _ progress: (@Sendable (String, Int, Int) throws -> Void)? = nil
    ) throws -> StoreFile {
        var configuration = StoreFile.Configuration.small()
        configuration.progress = progress
        return try StoreFile.open(
            at: directory.file(),
            schema: try Schema(entities: [note(.title, .rating, indexes: indexes)]), configuration)
    }

    private static let added = [EntityIndex(0), EntityIndex(1, isUnique: true)]

    @Test func anIndexIsBuiltWithProgressAndGoesOnAfterAnInterruption() throws {
        let reports = Mutex<[Int]>([])
        for limit in 1...2 {
            #expect(throws: Interruption.self) {
                try open(Self.added) { work, done, count in
                    #expect(work == "indexes")
                    #expect(count == Self.count)
                    reports.withLock { $0.append(done) }
                    throw Interruption()
                }
            }
            // Other processes can still use the unmigrated store, which verifies.
            let file = try open([])
            #expect(file.schema.revision == 1)
            if limit == 1 { #expect(try file.verify().problems == []) }
            file.close()
        }
        let file = try open(Self.added) { _, done, _ in reports.withLock { $0.append(done) } }
        #expect(file.schema.revision == 2)
        let report = try file.verify()
        #expect(report.problems == [])
        #expect(report.indexEntryCount == 2 * Self.count)
        #expect(try file.dump()[""]?[Array("building".utf8)] == nil)
        // The build continues where it was interrupted.
        #expect(reports.withLock { $0 } == [10_000, 20_000, 25_000])
    }

    @Test func aStoreVerifiesAndIsCopiedBetweenTwoPartsOfABuildOfWords() throws {
        let present = [EntityIndex(1)]
        try open(present).close()
        let added = [EntityIndex(0), EntityIndex(words: [0]), EntityIndex(substringsOf: 0)]
        #expect(throws: Interruption.self) {
            try open(present + added) { _, _, _ in throw Interruption() }
        }
        var file = try open(present)
        #expect(try #require(try file.dump()["indexes"]).count > Self.count + 10_000)
        #expect(try file.verify().problems == [])
        let copy = try file.copy(to: directory.file("copy.stet"))
        #expect(copy.report.problems == [])
        file.close()
        file = try open(present + added)
        #expect(try file.verify().problems == [])
    }

    @Test func whoIsToldOfTheProgressMayOpenTheStore() throws {
        let counts = Mutex<[Int]>([])
        let directory = directory
        let file = try open(Self.added) { _, _, _ in
            // Tries this thread, and another one for which this thread waits.
            for isElsewhere in [false, true] {
                let look: @Sendable () throws -> Void = {
                    let file = try StoreFile.open(
                        at: directory.file(),
                        schema: try Schema(entities: [note(.title, .rating)]), .small())
                    let count = try file.verify().objectCount
                    counts.withLock { $0.append(count) }
                }
                if isElsewhere { try onThread(look) } else { try look() }
            }
        }
        #expect(file.schema.revision == 2)
        #expect(counts.withLock { $0 } == Array(repeating: Self.count, count: 6))
        #expect(try file.verify().problems == [])
    }

    @Test func whoIsToldOfTheProgressMayKeepTheStoreOpenWithItsEarlierModels() throws {
        let kept = Mutex<StoreFile?>(nil)
        let directory = directory
        let error = thrown(StoreError.self) {
            try open(Self.added) { _, _, _ in
                let file = try StoreFile.open(
                    at: directory.file(), schema: try Schema(entities: [note(.title, .rating)]),
                    .small())
                kept.withLock { $0 = file }
            }
        }
        #expect(error?.code == .modelMismatch)
        let file = try #require(kept.withLock { $0 })
        #expect(file.schema.revision == 1)
        #expect(try file.verify().problems == [])
    }

    @Test func whatIsSavedMeanwhileIsInTheIndex() throws {
        #expect(throws: Interruption.self) {
            try open(Self.added) { _, _, _ in throw Interruption() }
        }
        var file = try open([])
        _ = try file.commit([
            Edit(noteKey(5), from: [.string("title 5"), .int(5)], to: nil, base: 1),
            Edit(
                noteKey(7), from: [.string("title 7"), .int(7)],
                to: [.string("changed"), .int(-7)], base: 1),
        ])
        #expect(try file.verify().problems == [])
        file.close()
        file = try open(Self.added)
        #expect(try file.verify().problems == [])
        #expect(try file.objects(EntityIndex(0), [.string("changed")]) == [.fixed(7)])
    }

    @Test func aBuildForOtherModelsIsDiscarded() throws {
        #expect(throws: Interruption.self) {
            try open(Self.added) { _, _, _ in throw Interruption() }
        }
        let other = EntityIndex(1, 0)
        let file = try open([other])
        #expect(file.schema.indexes.map(\.index) == [other])
        let report = try file.verify()
        #expect(report.problems == [])
        #expect(report.indexEntryCount == Self.count)
        let indexes = try file.dump()["indexes"]
        #expect(indexes?.count == Self.count)
    }

    @Test func valuesThatAreNotUniqueLeaveNoEntries() throws {
        var file = try open([])
        let dump = try file.dump()
        file.close()
        let error = thrown(StoreError.self) { try open([EntityIndex(0, isUnique: true)]) }
        #expect(error?.code == .migrationFailed)
        file = try open([])
        var after = try file.dump()
        // The table of indexes exists now, and is empty.
        after[""]?[Array("indexes".utf8)] = nil
        #expect(after == dump)
        let table = try file.table("indexes")
        #expect(try file.environment.read { try $0.count(of: table) } == 0)
    }
}

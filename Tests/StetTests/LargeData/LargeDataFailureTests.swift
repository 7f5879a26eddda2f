import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Writes of large data that fail, and bytes that are damaged.
@Suite struct LargeDataFailureTests {
    @Test(arguments: [LMDBError.Operation.put, .commit, .begin, .delete], 1...4)
    func aWriteThatFailsLosesNothing(_ operation: LMDBError.Operation, count: Int) throws {
        let gallery = try Gallery()
        let data = Gallery.bytes(20 * 65_512)
        try gallery.add("a", Gallery.bytes(10))
        let faults = gallery.store.file.environment.faults
        faults.failNext(operation, after: count, code: operation == .put ? 28 : 5)
        let failure = gallery.code { try LargeData(data, in: gallery.store) }
        #expect((failure == nil) == faults.isArmed)
        faults.disarm()
        #expect(try gallery.store.verify().problems == [])
        let file = try LargeData(data, in: gallery.store)
        #expect(try file.data(in: gallery.store) == data)
        gallery.clock.pass(days: 2)
        try gallery.store.requestTrim(before: 1).confirm()
        try gallery.add("b", Gallery.bytes(9))
        try gallery.store.requestTrim(before: 2).confirm()
        #expect(try gallery.counts() == (2, 2))
        #expect(try gallery.store.verify().problems == [])
    }

    /// A commit that failed may have been made all the same.
    @Test(arguments: [1, 20]) func aWriteThatFailsAtItsEndLeavesAValue(chunks: Int) throws {
        let gallery = try Gallery()
        let data = Gallery.bytes(chunks * 65_512)
        let writer = try LargeValueWriter(gallery.store.file)
        try data.withUnsafeBytes { try writer.append($0) }
        _ = try writer.finish()
        writer.abandon()
        try gallery.add("a", data)
        #expect(try gallery.counts() == (1, chunks))
        #expect(try gallery.store.verify().problems == [])
    }

    @Test func damageIsReported() throws {
        let gallery = try Gallery()
        let data = Gallery.bytes(3 * 65_512)
        let file = try #require(try gallery.add("a", data).file)
        gallery.store.close()
        var bytes = try Data(contentsOf: URL(filePath: gallery.path))
        let part = data[65_512 + 1_000..<65_512 + 1_040]
        let place = try #require(bytes.range(of: part))
        bytes[place.lowerBound] ^= 1
        try bytes.write(to: URL(filePath: gallery.path))
        try gallery.reopen()
        #expect(gallery.code { try file.data(in: gallery.store) } == .damaged)
        #expect(try file.data(in: gallery.store, range: 0..<100) == data[..<100])
        let problems = try gallery.store.verify().problems
        #expect(problems.count == 1)
        #expect(problems.first?.contains(file.sha256) == true)
    }

    @Test func aValueThatCannotBeRemovedAfterAFailureIsSweptLater() throws {
        let gallery = try Gallery()
        try gallery.add("a", Data([1]))
        let faults = gallery.store.file.environment.faults
        faults.failNext(.put, after: 40, code: 28, isLasting: true)
        faults.failNext(.delete, code: 28, isLasting: true)
        #expect(
            gallery.code { try LargeData(Gallery.bytes(3_000_000), in: gallery.store) }
                == .diskFull)
        faults.disarm()
        #expect(try gallery.counts().chunks > 16)
        #expect(try gallery.store.verify().problems == [])
        gallery.clock.pass(days: 0.5)
        try gallery.store.requestTrim(before: 1).confirm()
        try gallery.add("b", Data([2]))
        try gallery.store.requestTrim(before: 2).confirm()
        #expect(try gallery.counts().chunks > 16)
        gallery.clock.pass(days: 1)
        try gallery.add("c", Data([3]))
        try gallery.store.requestTrim(before: 3).confirm()
        #expect(try gallery.counts() == (3, 3))
        #expect(try gallery.store.verify().problems == [])
    }

    @Test(arguments: [0.7, 2])
    func aTrimLeavesWhatStillArrives(days: Double) throws {
        let gallery = try Gallery()
        try gallery.add("a", Data([1]))
        let data = Gallery.bytes(48 * 65_512)
        let writer = try LargeValueWriter(gallery.store.file)
        func append(_ part: Int) throws {
            let size = 16 * 65_512
            try data[part * size..<(part + 1) * size].withUnsafeBytes(writer.append)
        }
        try append(0)
        for part in 1..<3 {
            gallery.clock.pass(days: days)
            try gallery.store.requestTrim(before: Revision(UInt64(part))).confirm()
            try gallery.add("\(part)", Data([1]))
            if days > 1 {
                #expect(gallery.code { try append(part) } == .largeDataMissing)
                #expect(gallery.code { try writer.finish() } == .largeDataMissing)
                writer.abandon()
                #expect(try gallery.counts() == (1, 1))
                return
            }
            try append(part)
        }
        let file = LargeData(try writer.finish())
        #expect(try file.data(in: gallery.store) == data)
        #expect(try gallery.store.verify().problems == [])
    }

    @Test(arguments: [Durability.logged, .relaxed(within: .seconds(60))])
    func bytesAreThereWithEachDurability(durability: Durability) throws {
        let directory = TemporaryDirectory()
        var configuration = Store.Configuration()
        configuration.durability = durability
        let data = Gallery.bytes(3_000_000)
        let store = try Store.open(
            at: directory.file(), for: Gallery.Photo.self, configuration: configuration)
        let file = try LargeData(data, in: store)
        try store.edit { $0.insert(Gallery.Photo(title: "a", file: file)) }
        #expect(try file.data(in: store) == data)
        store.close()
        let again = try Gallery.open(directory.file())
        #expect(try again.fetch(Gallery.Photo.self).first()?.file?.data(in: again) == data)
        #expect(try again.verify().problems == [])
    }

    /// Members of embedded values are slots as other attributes are.
    @Test func anEmbeddedValueHasLargeData() async throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: Letter.self)
        let context = store.context(author: "ada")
        let letter = Letter()
        letter.scan.page = try LargeData(Gallery.bytes(70_000, 1), in: store)
        letter.other = Scan(page: try LargeData(Gallery.bytes(70_000, 2), in: store))
        context.insert(letter)
        try await context.save()
        letter.other = nil
        try await context.save()
        try await store.undo(author: "ada")
        let found = try #require(try store.fetch(Letter.self).first())
        #expect(try found.scan.page?.data(in: store) == Gallery.bytes(70_000, 1))
        #expect(try found.other?.page?.data(in: store) == Gallery.bytes(70_000, 2))
        #expect(try store.verify().problems == [])
    }
}

@Embedded private struct Scan: EmbeddedValue {
    var page: LargeData?
}

@Model private final class Letter {
    var scan: Scan = Scan(page: nil)
    var other: Scan?
    init() {}
}

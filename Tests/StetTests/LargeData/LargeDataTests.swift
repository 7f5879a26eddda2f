import Crypto
import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Large data: written, read, saved, and kept as long as somebody can read it.
@Suite struct LargeDataTests {
    typealias Photo = Gallery.Photo

    private struct Interruption: Error {}

    /// A stream of parts, which may end with an error.
    private func stream(_ parts: [Data], fails: Bool = false) -> AsyncThrowingStream<
        Data, any Error
    > {
        AsyncThrowingStream { continuation in
            for part in parts { continuation.yield(part) }
            continuation.finish(throwing: fails ? Interruption() : nil)
        }
    }

    private static let chunk = 65_512

    // MARK: Bytes

    @Test(arguments: [
        0, 1, 15, chunk - 1, chunk, chunk + 1, 16 * chunk - 1, 16 * chunk, 16 * chunk + 1,
        33 * chunk + 7,
    ])
    func allBytesComeBack(count: Int) async throws {
        let gallery = try Gallery()
        let data = Gallery.bytes(count, count)
        let file = try LargeData(data, in: gallery.store)
        #expect(file.byteCount == count)
        #expect(
            file.sha256
                == SHA256.hash(data: data).map { String(format: "%02x", $0) }.joined())
        let photo = Photo(title: "a", file: file)
        gallery.context.insert(photo)
        try await gallery.context.save()
        try gallery.reopen()
        let found = try #require(try gallery.context.fetch(Photo.self).first()?.file)
        #expect(found == file)
        #expect(try found.data(in: gallery.store) == data)
        var parts: [Data] = []
        for try await part in found.bytes(in: gallery.store) { parts.append(part) }
        #expect(Data(parts.joined()) == data)
        #expect(parts.allSatisfy { 1...Self.chunk ~= $0.count })
        #expect(try gallery.counts() == (1, (count + Self.chunk - 1) / Self.chunk))
        #expect(try gallery.store.verify().problems == [])
    }

    @Test func partsOfTheBytesAreRead() async throws {
        let gallery = try Gallery()
        let data = Gallery.bytes(3 * Self.chunk + 100)
        let file = try LargeData(data, in: gallery.store)
        for range in [
            0..<0, 0..<1, 5..<9, Self.chunk - 1..<Self.chunk + 1, Self.chunk..<2 * Self.chunk,
            10..<data.count, data.count - 1..<data.count,
        ] {
            #expect(try file.data(in: gallery.store, range: range) == data[range])
            var parts = Data()
            for try await part in file.bytes(in: gallery.store, range: range) { parts += part }
            #expect(parts == data[range])
        }
        #expect(try file.data(in: gallery.store, range: data.count..<data.count + 9) == Data())
        #expect(try file.data(in: gallery.store, range: data.count - 2..<data.count + 9).count == 2)
    }

    @Test func aStreamIsWrittenInParts() async throws {
        let gallery = try Gallery()
        let data = Gallery.bytes(2_500_000)
        var parts: [Data] = []
        var random = SeededGenerator(seed: 1)
        var rest = data[...]
        while !rest.isEmpty {
            let part = rest.prefix(Int.random(in: 1...200_000, using: &random))
            parts.append(part)
            rest = rest.dropFirst(part.count)
        }
        let file = try await LargeData(stream(parts), in: gallery.store)
        #expect(try file == LargeData(data, in: gallery.store))
        #expect(try file.data(in: gallery.store) == data)
        #expect(try gallery.counts() == (1, 39))
    }

    @Test(arguments: [0, 10, 3_000_000])
    func aStreamThatFailsLeavesNothing(count: Int) async throws {
        let gallery = try Gallery()
        await #expect(throws: Interruption.self) {
            _ = try await LargeData(
                stream([Gallery.bytes(count), Gallery.bytes(9)], fails: true), in: gallery.store)
        }
        #expect(try gallery.counts() == (0, 0))
        #expect(try gallery.store.verify().problems == [])
    }

    @Test func equalBytesAreStoredOnce() throws {
        let gallery = try Gallery()
        let data = Gallery.bytes(200_000)
        try gallery.add("a", data)
        try gallery.add("b", data)
        let other = try gallery.add("c", Gallery.bytes(200_000, 1))
        #expect(try gallery.counts() == (2, 8))
        other.file = try LargeData(data, in: gallery.store)
        try gallery.context.save()
        let equal = gallery.context.fetch(Photo.self) { $0.file == other.file }
        #expect(try equal.count() == 3)
        #expect(try gallery.context.fetch(Photo.self) { $0.file == nil }.count() == 0)
        #expect(try gallery.store.verify().problems == [])
    }

    // MARK: History

    @Test func earlierBytesAreReadUndoneAndTrimmed() async throws {
        let gallery = try Gallery()
        let (one, two) = (Gallery.bytes(100_000, 1), Gallery.bytes(100_000, 2))
        let photo = try gallery.add("a", one)
        let before = try gallery.store.revision()
        photo.file = try LargeData(two, in: gallery.store)
        try await gallery.context.save()
        let past = try #require(
            try gallery.store.view(asOf: before).fetch(Photo.self).all().first?.file)
        #expect(try past.data(in: gallery.store) == one)
        try await gallery.store.undo(author: "ada")
        #expect(try gallery.store.fetch(Photo.self).first()?.file?.data(in: gallery.store) == one)
        try await gallery.store.redo(author: "ada")
        #expect(try gallery.store.fetch(Photo.self).first()?.file?.data(in: gallery.store) == two)

        gallery.clock.pass(days: 2)
        let last = try gallery.store.revision()
        try gallery.store.requestTrim(before: last).confirm()
        // The last commit itself, a redo, still contains the value before.
        #expect(try past.data(in: gallery.store) == one)
        try gallery.add("b", Data([1]))
        gallery.clock.pass(days: 2)
        try gallery.store.requestTrim(before: try gallery.store.revision()).confirm()
        #expect(gallery.code { try past.data(in: gallery.store) } == .largeDataMissing)
        #expect(try gallery.store.fetch(Photo.self).first()?.file?.data(in: gallery.store) == two)
        #expect(try gallery.counts() == (2, 3))
        #expect(try gallery.store.verify().problems == [])
    }

    @Test func whatIsNeverSavedStaysForADay() throws {
        let gallery = try Gallery()
        try gallery.add("a", Gallery.bytes(10, 1))
        let unsaved = try LargeData(Gallery.bytes(100_000, 2), in: gallery.store)
        gallery.clock.pass(days: 0.5)
        try gallery.store.requestTrim(before: 1).confirm()
        try gallery.add("b", Gallery.bytes(10, 3))
        try gallery.store.requestTrim(before: 2).confirm()
        #expect(try gallery.counts() == (3, 4))
        #expect(try unsaved.data(in: gallery.store).count == 100_000)
        gallery.clock.pass(days: 1)
        try gallery.add("c", Gallery.bytes(10, 4))
        try gallery.store.requestTrim(before: 3).confirm()
        #expect(try gallery.counts() == (3, 3))
        gallery.context.insert(Photo(title: "late", file: unsaved))
        #expect(gallery.code { try gallery.context.save() } == .largeDataMissing)
        #expect(!gallery.context.hasChanges)
        try gallery.add("again", Gallery.bytes(100_000, 2))
        #expect(try unsaved.data(in: gallery.store).count == 100_000)
        #expect(try gallery.store.verify().problems == [])
    }

    @Test func bytesOfAnotherStoreAreRefused() throws {
        let (gallery, other) = (try Gallery(), try Gallery())
        let file = try LargeData(Gallery.bytes(10), in: other.store)
        let photo = Photo(title: "a", file: file)
        gallery.context.insert(photo)
        #expect(gallery.code { try gallery.context.save() } == .largeDataMissing)
        #expect(gallery.code { try file.data(in: gallery.store) } == .largeDataMissing)
        #expect(try gallery.store.revision() == .zero)
        #expect(try file.data(in: other.store) == Gallery.bytes(10))
    }

    @Test func aRedactionErasesTheBytesAtOnce() async throws {
        let gallery = try Gallery()
        let photo = try gallery.add("a", Gallery.bytes(100_000, 1))
        let shared = try gallery.add("b", Gallery.bytes(10, 2))
        let secret = photo.file
        photo.file = shared.file
        try await gallery.context.save()
        shared.file = nil
        try await gallery.context.save()
        try gallery.store.requestRedaction(of: Photo.self, id: photo.id, \.file).confirm()
        #expect(gallery.code { try secret?.data(in: gallery.store) } == .largeDataMissing)
        // The other photo still has these bytes in its history.
        #expect(try gallery.counts() == (1, 1))
        try gallery.store.requestRedaction(of: Photo.self, id: shared.id, \.file).confirm()
        #expect(try gallery.counts() == (1, 1))
        #expect(try photo.file?.data(in: gallery.store) == Gallery.bytes(10, 2))
        #expect(try gallery.store.verify().problems == [])
        try gallery.reopen()
        #expect(try gallery.store.verify().problems == [])
    }

    @Test func aDeletedObjectIsRedactedWithItsBytes() throws {
        let gallery = try Gallery()
        let photo = try gallery.add("a", Gallery.bytes(100_000))
        let id = photo.id
        gallery.context.delete(photo)
        try gallery.context.save()
        #expect(try gallery.counts() == (1, 2))
        try gallery.store.requestRedaction(of: Photo.self, id: id, \.file).confirm()
        #expect(try gallery.counts() == (0, 0))
        #expect(try gallery.store.verify().problems == [])
    }

    // MARK: Copies

    @Test func copiesHaveTheBytes() async throws {
        let gallery = try Gallery()
        let data = Gallery.bytes(150_000)
        try gallery.add("a", data)
        let shipped = gallery.directory.file("shipped")
        try FileManager.default.createDirectory(
            atPath: shipped, withIntermediateDirectories: true)
        try await gallery.store.ship(to: shipped)
        // In segments behind the base.
        let more = Gallery.bytes(90_000, 5)
        let photo = try gallery.add("b", more)
        photo.file = try LargeData(data, in: gallery.store)
        try await gallery.context.save()
        try await gallery.store.ship(to: shipped)
        let (backup, compacted, restored) = (
            gallery.directory.file("backup"), gallery.directory.file("compacted"),
            gallery.directory.file("restored")
        )
        _ = try LargeData(Gallery.bytes(70_000, 9), in: gallery.store)
        try await gallery.store.backup(to: backup)
        try gallery.store.compact(to: compacted)
        let report = try await Store.restore(from: shipped, to: restored)
        #expect(report.problems == [])
        for path in [backup, compacted, restored] {
            let copy = try Gallery.open(path)
            #expect(try copy.verify().problems == [])
            let files = try copy.fetch(Photo.self).all().compactMap(\.file)
            #expect(try files.map { try $0.data(in: copy) } == [data, data])
            let past = try #require(
                try copy.view(asOf: 2).fetch(Photo.self).all().last?.file)
            #expect(try past.data(in: copy) == more)
        }
        try gallery.store.compactInPlace()
        #expect(try gallery.store.verify().problems == [])
        #expect(try gallery.counts() == (3, 7))
    }

    @Test func aShippedFileThatIsMissingOrChangedIsReported() async throws {
        let gallery = try Gallery()
        let shipped = gallery.directory.file("shipped")
        try FileManager.default.createDirectory(
            atPath: shipped, withIntermediateDirectories: true)
        try await gallery.store.ship(to: shipped)
        let photo = try gallery.add("a", Gallery.bytes(90_000))
        try await gallery.store.ship(to: shipped)
        let file = "\(shipped)/value-\(try #require(photo.file).sha256)"
        var bytes = try Data(contentsOf: URL(filePath: file))
        bytes[7] ^= 1
        try bytes.write(to: URL(filePath: file))
        for code in [StoreError.Code.damaged, .notFound] {
            do {
                _ = try await Store.restore(from: shipped, to: gallery.directory.file("restored"))
                Issue.record("the store was restored")
            } catch let error as StoreError {
                #expect(error.code == code)
                #expect(error.message.contains(file))
            }
            try? FileManager.default.removeItem(atPath: file)
        }
    }

    @Test func aStoreOfOtherModelsHasNoLargeData() throws {
        let gallery = try Gallery()
        let plain = try Store.open(at: gallery.directory.file("plain"), for: Plain.self)
        #expect(gallery.code { try LargeData(Data(), in: plain) } == .modelMismatch)
    }

    @Test func aStoreInMemoryHasLargeData() throws {
        let store = try Store.inMemory(for: Photo.self)
        let context = store.context()
        context.insert(
            Photo(title: "a", file: try LargeData(Gallery.bytes(100_000), in: store)))
        try context.save()
        #expect(
            try context.fetch(Photo.self).first()?.file?.data(in: store) == Gallery.bytes(100_000))
        #expect(try store.verify().problems == [])
    }

    @Test func itIsEncodedAsItsDigest() throws {
        let gallery = try Gallery()
        let file = try LargeData(Gallery.bytes(3), in: gallery.store)
        let encoded = try JSONEncoder().encode(file)
        #expect(try JSONDecoder().decode(LargeData.self, from: encoded) == file)
        // A digest with a size that no bytes have finds nothing.
        for size in [UInt64(1) << 40, .max >> 1, .max] {
            var bytes = Data(base64Encoded: encoded.dropFirst().dropLast()) ?? Data()
            withUnsafeBytes(of: size.littleEndian) { bytes.replaceSubrange(32..<40, with: $0) }
            let other = try? JSONDecoder().decode(
                LargeData.self, from: try JSONEncoder().encode(bytes))
            #expect((other == nil) == (size > 1 << 50))
            if let other {
                #expect(gallery.code { try other.data(in: gallery.store) } == .largeDataMissing)
            }
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(LargeData.self, from: Data("\"AAAA\"".utf8))
        }
        #expect(file.description == "3 bytes \(file.sha256.prefix(16))…")
    }
}

@Model private final class Plain {
    var title: String = ""
    init() {}
}

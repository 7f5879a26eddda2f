import Foundation
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet
@testable import StetLMDB
@testable import StetStore

/// The problems that `verify` reports of large values that are not as they were written.
@Suite struct LargeDataProofTests {
    private typealias Photo = Gallery.Photo

    private func problems(
        _ change: (LargeValueTable, LargeValueTable.Entry, borrowing WriteTransaction) throws ->
            Void
    ) throws -> (problems: [String], sha256: String) {
        let gallery = try Gallery()
        let photo = try gallery.add("a", Gallery.bytes(200_000))
        let file = try #require(photo.file)
        #expect(try gallery.store.verify().problems == [])
        let table = try #require(gallery.store.file.projection.largeValues)
        try gallery.store.file.environment.write { transaction in
            let entry = try #require(try table.entry(file.value, in: transaction.reading))
            try change(table, entry, transaction)
        }
        return (try gallery.store.verify().problems, file.sha256)
    }

    @Test func anotherNumberOfReferences() throws {
        let (problems, sha256) = try problems { table, entry, transaction in
            var entry = entry
            entry.referenceCount += 1
            try table.put(entry, in: transaction)
        }
        #expect(problems == ["Large value \(sha256) has 3 references where there are 2."])
    }

    @Test func aChunkThatIsMissing() throws {
        let (problems, sha256) = try problems { table, entry, transaction in
            _ = try table.removeChunks(entry.key, limit: 1, in: transaction)
        }
        #expect(problems.first?.contains("\(sha256) is missing or damaged") == true)
    }

    @Test func aChunkWithOtherBytes() throws {
        let (problems, sha256) = try problems { table, entry, transaction in
            let bytes = Gallery.bytes(65_512, 7)
            try bytes.withUnsafeBytes {
                try table.put($0, chunk: 1, of: entry.key, in: transaction)
            }
        }
        #expect(problems == ["Large value \(sha256) has other bytes."])
    }

    @Test func chunksThatBelongToNoValue() throws {
        let (problems, _) = try problems { table, _, transaction in
            try [1].withUnsafeBytes {
                try table.put($0, chunk: 0, of: ObjectID(), in: transaction)
            }
        }
        #expect(problems == ["The table of large values has chunks that belong to none."])
    }

    @Test func aValueThatIsMissing() throws {
        let (problems, sha256) = try problems { table, entry, transaction in
            var counts = LargeValueCounts()
            let cell = entry.value.stored
            try cell.withUnsafeBytes { bytes in
                try counts.remove(.bytes(bytes))
                try counts.remove(.bytes(bytes))
            }
            try table.change(counts, removesUnused: true, in: transaction)
        }
        #expect(problems == ["The bytes of large value \(sha256) are missing."])
    }

    @Test func aDamagedEntry() throws {
        let (problems, sha256) = try problems { table, entry, transaction in
            var key: [UInt8] = [1]
            entry.value.stored.prefix(32).forEach { key.append($0) }
            let value = try key.withUnsafeBytes { key in
                try #require(try transaction.reading.get(key, in: table.table)).map { $0 }
            }
            var damaged = value
            damaged[20] ^= 1
            try key.withUnsafeBytes { key in
                try damaged.withUnsafeBytes {
                    try transaction.put($0, for: key, in: table.table)
                }
            }
        }
        #expect(
            problems == ["The large values: the entry of large value \(sha256) is damaged."])
    }

    @Test func aSharedJournalRefusesModelsWithLargeData() throws {
        let directory = TemporaryDirectory()
        let error = try #require(throws: StoreError.self) {
            try Store.open(
                at: directory.file(), for: Photo.self, journal: MemoryJournal())
        }
        #expect(error.code == .invalidSchema)
        #expect(!FileManager.default.fileExists(atPath: directory.file()))
    }

    /// The messages of the compiler.
    @Test(arguments: [
        ("var files: [LargeData] = []", "an array can't contain large data"),
        ("var files: [LargeData]?", "an array can't contain large data"),
        ("var files: [String: LargeData] = [:]", "a dictionary can't contain large data"),
    ])
    func whatLargeDataCannotBe(property: String, message: String) throws {
        let errors = try CompiledProgram(
            """
            import Stet
            @Model final class Photo {
                \(property)
                init() {}
            }
            """
        ).errors
        let found = errors.filter { $0.line == 3 }
        #expect(found.count == 1, "\(errors)")
        #expect(found.first?.text.contains(message) == true, "\(errors)")
    }
}

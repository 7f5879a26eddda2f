import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Stores whose pages are damaged, opened with the inspection that finds it before LMDB does.
struct DamagedPagesTests {
    private static let pageByteCount = 4_096

    /// The bytes of a store with several commits, and all that it holds.
    private func makeStore() throws -> (bytes: Data, dump: [String: [[UInt8]: [UInt8]]]) {
        let library = try Library()
        // Small commits stay on pages of the tree; the one large value takes pages of its own.
        for round in 0..<150 {
            let edits = (0..<3).map { index in
                let byteCount = round == 70 && index == 0 ? 50_000 : 300
                return library.edit(
                    ObjectKey(Number.tag, (round * 7 + index) % 100),
                    [.data(Data(repeating: UInt8(round), count: byteCount))])
            }
            try library.commit(edits)
        }
        let dump = try library.file.dump()
        library.file.close()
        return (try library.directory.bytes(), dump)
    }

    private func inspecting() -> StoreFile.Configuration {
        var configuration = StoreFile.Configuration.small()
        configuration.inspectsPages = true
        return configuration
    }

    @Test func theProcessSurvivesEveryGarbageAndZeroPage() throws {
        let (whole, dump) = try makeStore()
        let directory = try StoreDirectory()
        var random = SeededGenerator(seed: 17)
        let pageCount = whole.count / Self.pageByteCount
        var outcomes: [String: Int] = [:]
        for round in 0..<200 {
            let page = Int.random(in: 0..<pageCount, using: &random)
            var twin = whole
            let start = page * Self.pageByteCount
            let isZero = round.isMultiple(of: 2)
            for offset in start..<start + Self.pageByteCount {
                twin[offset] = isZero ? 0 : UInt8.random(in: 0...255, using: &random)
            }
            try directory.write(twin)
            let note: Comment = "round \(round), page \(page)"
            do {
                let path = directory.file()
                let file = try StoreFile.open(at: path, schema: .library, inspecting())
                defer { file.close() }
                // The change affected no page of a table, but an unused page or a part of a long
                // value, which a checksum covers.
                outcomes["opened", default: 0] += 1
                if try file.verify().isClean { #expect(try file.dump() == dump, note) }
            } catch let error as StoreError {
                outcomes["refused", default: 0] += 1
                #expect(error.code == .damaged, note)
                #expect(error.path == directory.file(), note)
                #expect(error.advice == "Run verify on a copy, and restore from a backup.", note)
            }
            #expect(try directory.bytes() == twin, note)
        }
        #expect(outcomes["opened", default: 0] > 10)
        #expect(outcomes["refused", default: 0] > 50)
    }

    @Test func theDamagedPageIsNamedAndTheFileOpensAgainOnceItIsMended() throws {
        let (whole, dump) = try makeStore()
        let directory = try StoreDirectory()
        try directory.write(whole)
        let path = directory.file()
        let healthy = try StoreFile.open(at: path, schema: .library, inspecting())
        #expect(try healthy.dump() == dump)
        // Opening a store that is already open reports damage, too.
        #expect(try StoreFile.open(at: path, schema: .library, inspecting()) === healthy)
        healthy.close()
        // Finds the last leaf page: it begins with its own number and has the leaf flag.
        let page = try #require(
            (2..<whole.count / Self.pageByteCount).last { page in
                let start = page * Self.pageByteCount
                return whole[start] == UInt8(truncatingIfNeeded: page) && whole[start + 10] == 2
                    && (try? damage(of: page, in: whole)) != nil
            })
        var twin = whole
        let range = page * Self.pageByteCount..<(page + 1) * Self.pageByteCount
        twin.replaceSubrange(range, with: Data(count: Self.pageByteCount))
        try directory.write(twin)
        let error = thrown(StoreError.self) {
            try StoreFile.open(at: path, schema: .library, inspecting())
        }
        #expect(
            error
                == StoreError(
                    .damaged, path: path,
                    message: "The store is damaged: page \(page): "
                        + "its header carries another page number.",
                    advice: "Run verify on a copy, and restore from a backup."))
        try directory.write(whole)
        let mended = try StoreFile.open(at: path, schema: .library, inspecting())
        #expect(try mended.verify().isClean)
    }

    /// Returns the damage that is found when a page is zero; throws when none is, because the page
    /// is free.
    private func damage(of page: Int, in whole: Data) throws -> String {
        let directory = try StoreDirectory()
        var twin = whole
        let range = page * Self.pageByteCount..<(page + 1) * Self.pageByteCount
        twin.replaceSubrange(range, with: Data(count: Self.pageByteCount))
        try directory.write(twin)
        return try #require(StoreInspection.inspect(directory.file()).damages.first)
    }
}

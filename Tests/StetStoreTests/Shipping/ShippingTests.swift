import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// The journal as files in a directory, and stores that are restored from them.
struct ShippingTests {
    private let library: Library
    private let shipped: StoreDirectory
    private let restored: StoreDirectory

    init() throws {
        library = try Library()
        shipped = try StoreDirectory()
        restored = try StoreDirectory()
    }

    private func commit(_ number: Int) throws {
        let key = ObjectKey(Number.tag, number)
        try library.commit(
            [library.edit(key, [.data(Data([UInt8(truncatingIfNeeded: number)]))])],
            EditNote(author: "lala", time: 1_000 + Double(number)))
    }

    @discardableResult
    private func ship(_ makesBase: Bool = false) throws -> StoreShipment {
        try library.file.ship(to: shipped.path, makesBase: makesBase)
    }

    /// Restores a state to a new file, and opens it.
    private func restore(
        _ point: RestorePoint = .bound(.latest), to name: String = "restored.stet"
    ) throws -> StoreFile {
        let path = restored.file(name)
        let made = try StoreCopy.restore(from: shipped.path, to: path, at: point)
        #expect(made.report.isClean)
        return try StoreFile.open(at: path, schema: .library, .small())
    }

    @Test(arguments: 0..<UInt64(repetitions(3)))
    func eachRevisionOfARandomHistoryIsRestoredAsTheStoreShowedIt(seed: UInt64) throws {
        var history = RandomHistory(seed: 0x57e7_5000, stream: Int(seed))
        try ship()
        for round in 0..<15 {
            try library.commit(history.edits(of: library))
            if round % 4 == 3 { try ship() }
        }
        try ship()
        for number in 0...library.revision.number {
            let revision = Revision(number)
            let file = try restore(.bound(.revision(revision)), to: "\(number).stet")
            defer { file.close() }
            #expect(try file.head().revision == revision)
            #expect(
                try file.objects(asOf: revision) == library.file.objects(asOf: revision),
                "seed \(seed), revision \(number)")
            #expect(file.storeID == library.file.storeID)
            let hash = number == 0 ? nil : library.commits[Int(number) - 1].hash
            #expect(try file.verify().hash == hash ?? file.verify().hash)
        }
        // At the end every table is that of the store, byte for byte.
        let last = try restore(to: "last.stet")
        defer { last.close() }
        #expect(try contents(of: last) == contents(of: library.file))
    }

    @Test(arguments: 0..<UInt64(repetitions(6)))
    func theMigrationsOfAShippedStoreAreMadeAgain(seed: UInt64) throws {
        var driver = try MigrationDriver(seed: 900 + seed)
        for _ in 0..<3 {
            for _ in 0..<3 { try driver.commit() }
            _ = try driver.file.ship(to: shipped.path)
            try driver.migrate()
        }
        try driver.commit()
        _ = try driver.file.ship(to: shipped.path)
        let path = restored.file("migrated.stet")
        let made = try StoreCopy.restore(from: shipped.path, to: path, at: .bound(.latest))
        #expect(made.report == (try driver.file.verify()))
        let file = try StoreFile.open(at: path)
        defer { file.close() }
        #expect(file.schema == driver.file.schema)
        let last = try file.head().revision
        #expect(try file.objects(asOf: last) == driver.file.objects(asOf: last))
    }

    @Test func theFirstCallWritesABaseAndLaterOnesTheCommitsSince() throws {
        try commit(1)
        let first = try ship()
        #expect(first.base == 1)
        #expect(first.revision == 1)
        #expect(first.commitCount == 0)
        #expect(shipped.names.filter { !$0.hasSuffix("-lock") } == [base(1)])
        try commit(2)
        try commit(3)
        let second = try ship()
        #expect(second.base == nil)
        #expect(second.revision == 3)
        #expect(second.commitCount == 2)
        #expect(shipped.names.contains(segment(2, 3)))
        #expect(try shipped.bytes(segment(2, 3)).count == second.byteCount)
        let mode = try FileManager.default.attributesOfItem(
            atPath: shipped.file(segment(2, 3)))[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let names = shipped.names
        #expect(try ship().commitCount == 0)
        #expect(shipped.names == names)
    }

    /// The entries of all tables; those of the unnamed table without the roots of the others.
    private func contents(of file: StoreFile) throws -> [String: [[UInt8]: [UInt8]]] {
        var contents = try file.dump()
        for name in contents.keys { contents[""]?[Array(name.utf8)] = nil }
        return contents
    }

    private func digits(_ number: Int) -> String { String(format: "%020d", number) }
    private func base(_ number: Int) -> String { "base-\(digits(number)).stet" }
    private func segment(_ first: Int, _ last: Int) -> String {
        "journal-\(digits(first))-\(digits(last)).segment"
    }

    @Test func aDateMeansTheLastCommitThatIsNotDatedLater() throws {
        try commit(1)
        try ship()
        for number in 2...6 { try commit(number) }
        try ship()
        for (time, revision) in [(1_001.0, 1), (1_003.5, 3), (1_004.0, 4), (9_999.0, 6)] {
            let file = try restore(.time(time), to: "\(time).stet")
            defer { file.close() }
            #expect(try file.head().revision == Revision(UInt64(revision)), "\(time)")
        }
        let error = thrown(StoreError.self) { try restore(.time(1_000), to: "none") }
        #expect(error?.code == .historyTrimmed)
    }

    @Test func aStateThatWasNotShippedIsRefusedAndNothingIsLeft() throws {
        try commit(1)
        try ship()
        try commit(2)
        let later = thrown(StoreError.self) { try restore(.bound(2)) }
        #expect(later?.code == .noSuchRevision)
        let earlier = thrown(StoreError.self) { try restore(.bound(0)) }
        #expect(earlier?.code == .historyTrimmed)
        #expect(restored.names == [])
        let empty = thrown(StoreError.self) {
            try StoreCopy.restore(
                from: restored.path, to: restored.file(), at: .bound(.latest))
        }
        #expect(empty?.code == .notFound)
    }

    @Test func theStacksOfAuthorsAreThoseOfTheStore() throws {
        try ship()
        for number in 1...4 { try commit(number) }
        try ship()
        let file = try restore()
        defer { file.close() }
        let stacks = try #require(try contents(of: file)[""])
        #expect(stacks == (try contents(of: library.file)[""]))
        #expect(stacks.keys.contains { $0.starts(with: Array("undo.".utf8)) })
    }
}

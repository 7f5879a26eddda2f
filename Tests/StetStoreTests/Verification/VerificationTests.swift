import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Damage is done to the tables directly; `verify` must report each, and never trap.
struct VerificationTests {
    private let article = ObjectKey(Number.article, 101)
    private let tag = ObjectKey(Number.tag, 301)
    private let gone = ObjectKey(Number.tag, 302)

    /// Three commits: inserts with references, updates, a deletion; one entry of two chunks.
    private func library() throws -> Library {
        let library = try Library()
        let notebook = ObjectKey(Number.notebook, 201)
        var values = [Value](repeating: .null, count: Entity.article.properties.count)
        values[0] = .string("one")
        values[1] = .int(1)
        values[2] = .reference(notebook.id)
        values[10] = .reference(tag.id)
        try library.commit([
            library.edit(notebook, [.string("Swift"), .null]), library.edit(article, values),
            library.edit(tag, [.data(Data([1, 2, 3]))]), library.edit(gone, [.data(Data())]),
        ])
        values[0] = .string("two")
        values[2] = .null
        try library.commit([library.edit(article, values), library.edit(gone, nil)])
        try library.commit([library.edit(tag, [.data(Data([4]))])])
        return library
    }

    private func verify(_ library: Library) -> [String] {
        do { return try library.file.verify().problems } catch let error as StoreError {
            return ["\(error.code): \(error.message)"]
        } catch {
            // No other error is acceptable.
            return []
        }
    }

    private func entries(_ library: Library, _ table: String) throws -> [KeyAndValue] {
        (try library.file.dump()[table] ?? [:]).map { KeyAndValue(key: $0.key, value: $0.value) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    private struct KeyAndValue {
        var key: [UInt8]
        var value: [UInt8]
    }

    private static let tables = ["journal", "members", "records.1", "records.2", "records.3"]

    @Test func anUndamagedStoreIsClean() throws {
        let library = try library()
        let report = try library.file.verify()
        #expect(report.isClean)
        #expect(
            report.description
                == "verified: state equals journal (3 commits, 7 changes, 3 objects, 1 reference)")
        #expect(report.revision == 3)
        #expect(report.hash == library.commits[2].hash)
        #expect(try Library().file.verify().description.hasPrefix("verified"))
    }

    // MARK: Each byte, each entry

    @Test(arguments: tables)
    func everyAlteredByteIsReported(table: String) throws {
        let library = try library()
        var missed: [String] = []
        for entry in try entries(library, table) {
            for index in entry.value.indices {
                var damaged = entry.value
                damaged[index] ^= 1 << UInt8(index % 8)
                try library.file.tamper(table, entry.key, damaged)
                if verify(library).isEmpty { missed.append("\(entry.key) byte \(index)") }
            }
            try library.file.tamper(table, entry.key, entry.value)
        }
        #expect(missed == [])
        #expect(verify(library) == [])
    }

    @Test(arguments: tables)
    func everyTruncatedOrLengthenedValueIsReported(table: String) throws {
        let library = try library()
        var missed: [String] = []
        for entry in try entries(library, table) {
            for count in Set([0, 1, 15, 16, 17, entry.value.count / 2, entry.value.count - 1])
            where count >= 0 && count < entry.value.count {
                try library.file.tamper(table, entry.key, Array(entry.value[..<count]))
                if verify(library).isEmpty { missed.append("\(entry.key) cut to \(count)") }
            }
            try library.file.tamper(table, entry.key, entry.value + [0])
            if verify(library).isEmpty { missed.append("\(entry.key) with one byte more") }
            try library.file.tamper(table, entry.key, entry.value)
        }
        #expect(missed == [])
    }

    @Test(arguments: tables)
    func everyMissingEntryIsReported(table: String) throws {
        let library = try library()
        for entry in try entries(library, table) {
            try library.file.tamper(table, entry.key, nil)
            #expect(verify(library) != [], "\(entry.key)")
            try library.file.tamper(table, entry.key, entry.value)
        }
        #expect(verify(library) == [])
    }

    @Test(arguments: tables)
    func everyEntryThatNobodyWroteIsReported(table: String) throws {
        let library = try library()
        let entries = try entries(library, table)
        let value = try #require(entries.first).value
        var keys: [[UInt8]] = [[0], [0xff], [UInt8](repeating: 0xff, count: 100)]
        for key in entries.map(\.key) {
            for step in [1, 0xff] as [UInt8] {
                var other = key
                other[other.count - 1] &+= step
                keys.append(other)
            }
            keys += [key + [0], Array(key.dropLast())]
        }
        for key in keys where !entries.contains(where: { $0.key == key }) {
            try library.file.tamper(table, key, value)
            #expect(verify(library) != [], "\(key)")
            try library.file.tamper(table, key, nil)
        }
        #expect(verify(library) == [])
    }

    @Test(arguments: ["journal", "records.1", "records.3"])
    func swappedValuesAreReported(table: String) throws {
        let library = try library()
        if table == "records.1" {
            let other = ObjectKey(Number.article, 102)
            try library.commit([library.edit(other, library.now.values[article])])
        }
        let entries = try entries(library, table)
        for (one, other) in zip(entries, entries.dropFirst()) {
            try library.file.tamper(table, one.key, other.value)
            try library.file.tamper(table, other.key, one.value)
            #expect(verify(library) != [], "\(one.key) and \(other.key)")
            try library.file.tamper(table, one.key, one.value)
            try library.file.tamper(table, other.key, other.value)
        }
        #expect(verify(library) == [])
    }

    // MARK: The head

    private static let head = Array("head".utf8)

    @Test func everyAlteredByteOfTheHeadIsReported() throws {
        let library = try library()
        let value = try #require(try library.file.dump()[""]?[Self.head])
        var missed: [Int] = []
        // The six upper bytes of the revision have a test of their own.
        for index in value.indices where !(2..<8).contains(index) {
            var damaged = value
            damaged[index] ^= 1 << UInt8(index % 8)
            try library.file.tamper(nil, Self.head, damaged)
            if verify(library).isEmpty { missed.append(index) }
        }
        #expect(missed == [])
        for damaged in [nil, [], Array(value.dropLast()), value + [0]] {
            try library.file.tamper(nil, Self.head, damaged)
            #expect(verify(library) != [])
        }
        try library.file.tamper(nil, Self.head, value)
        #expect(verify(library) == [])
    }

    @Test func aHeadFarBeyondTheJournalIsReportedAtOnce() async {
        await #expect(processExitsWith: .success) {
            // A search through 2^63 entries would never end, so the alarm fails the test.
            alarm(10)
            let library = try Library()
            try library.commit([library.edit(ObjectKey(Number.tag, 1), [.data(Data())])])
            for byte in [0x00, 0x7f, 0xff] as [UInt8] {
                var head = try #require(try library.file.dump()[""]?[Array("head".utf8)])
                head.replaceSubrange(0..<8, with: [UInt8](repeating: 0xff, count: 7) + [byte])
                try library.file.tamper(nil, Array("head".utf8), head)
                var isClean = true
                let error = thrown(StoreError.self) { isClean = try library.file.verify().isClean }
                if isClean, error == nil { throw DecodingFailure("clean") }
            }
        }
    }

    @Test func theLastRevisionThereIsLeavesNoRoomForACommitAndDoesNotTrap() async {
        await #expect(processExitsWith: .success) {
            let library = try Library()
            var head = try #require(try library.file.dump()[""]?[Array("head".utf8)])
            head.replaceSubrange(0..<8, with: [UInt8](repeating: 0xff, count: 8))
            try library.file.tamper(nil, Array("head".utf8), head)
            let edit = library.edit(ObjectKey(Number.tag, 1), [.data(Data())])
            let error = thrown(StoreError.self) { try library.file.commit([edit]) }
            if error == nil { throw DecodingFailure("committed") }
        }
    }

    @Test func aCommitOntoARecordKeyOfAnotherLengthDoesNotTrap() async {
        await #expect(processExitsWith: .success) {
            let library = try Library()
            try library.file.tamper("records.3", [0xff], [1])
            let edit = library.edit(ObjectKey(Number.tag, 1), [.data(Data())])
            let error = thrown(StoreError.self) { try library.file.commit([edit]) }
            if error?.code != .damaged { throw DecodingFailure("committed") }
        }
    }

    // MARK: Damage with right checksums

    @Test func aRecordThatWasRewrittenWithARightChecksumIsReported() throws {
        let library = try library()
        let other = encodedBody([.data(Data([9, 9, 9]))])
        for (revision, body) in [(3, other), (2, encodedBody([.data(Data([4]))])), (3, [])] {
            let header = RecordHeader(
                isTombstone: body.isEmpty, schemaRevision: 1, revision: Revision(UInt64(revision)))
            var record = [UInt8](repeating: 0, count: 16) + body
            let hash = body.withUnsafeBytes { RecordHeader.bodyHash($0, of: tag.id) }
            record.withUnsafeMutableBytes { header.store(bodyHash: hash, to: $0.baseAddress!) }
            try library.file.tamper("records.3", tag.id.bytes, record)
            #expect(verify(library).count == 1)
        }
    }

    @Test func aReportHoldsAtMostAHundredProblems() throws {
        let library = try Library()
        try library.commit(
            (1...150).map { library.edit(ObjectKey(Number.tag, $0), [.data(Data())]) })
        for number in 1...150 {
            try library.file.tamper("records.3", ObjectID.fixed(number).bytes, nil)
        }
        let report = try library.file.verify()
        #expect(report.problems.count == 100)
        #expect(report.description.hasPrefix("NOT VERIFIED (1 commit, 150 changes, 150 objects"))
    }
}

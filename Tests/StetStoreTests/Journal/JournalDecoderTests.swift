import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// The decoders of the journal, applied to bytes that no encoder has written.
struct JournalDecoderTests {
    private static let envelopeByteCount = 176
    private static let hashedByteCount = 160

    private func library() throws -> Library {
        let library = try Library()
        let (article, tag) = (ObjectKey(Number.article, 1), ObjectKey(Number.tag, 3))
        let note = EditNote(author: "lala", scope: "notes", label: "first", time: 5, token: 9)
        let before: [Value] = [
            .string("t"), .int(1), .null, .string("body"), .double(1), .bool(true), .null,
            .data(Data([1, 2])), .uuid(ObjectID.fixed(4).uuid), .null, .reference(.fixed(3)),
        ]
        let after: [Value] = [
            .string("u"), .int(2), .null, .null, .double(2), .null, .date(.distantPast),
            .data(Data([3])), .uuid(ObjectID.fixed(5).uuid), .reference(.fixed(1)), .null,
        ]
        try library.commit(
            [library.edit(tag, [.data(Data())]), library.edit(article, before)], note)
        try library.commit([library.edit(article, after)], note)
        try library.commit([library.edit(tag, nil)], note)
        return library
    }

    private func chunk(_ library: Library, _ revision: UInt64) throws -> [UInt8] {
        let entries = try library.file.dump()["journal"] ?? [:]
        let key = withUnsafeBytes(of: revision.bigEndian) { Array($0) } + [0, 0, 0, 0]
        return try #require(entries[key])
    }

    private func envelope(_ bytes: [UInt8]) throws -> Envelope {
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try Envelope(decoding: &reader)
        }
    }

    @Test func theEnvelopeHoldsWhatWasCommitted() throws {
        let library = try library()
        let first = try envelope(chunk(library, 1))
        let second = try envelope(chunk(library, 2))
        #expect(first.revision == 1)
        #expect(second.revision == 2)
        #expect(first.previousHash == Digest.zero)
        #expect(second.previousHash == first.hash)
        #expect(first.time == 5)
        #expect(first.token == 9)
        #expect(first.base == 0)
        #expect(first.changeCount == 2)
        #expect(second.changeCount == 1)
        #expect(first.cause == .edit)
        #expect(first.isUndoable)
        #expect(first.schemaRevision == 1)
        #expect(first.chunkCount == 1)
        #expect(library.commits[1].hash == second.hash.hexadecimal)
        let commit = library.commits[0]
        #expect(commit.author == "lala")
        #expect(commit.scope == "notes")
        #expect(commit.label == "first")
        #expect(commit.id == CommitID(store: library.file.storeID, base: 0, token: 9))
        #expect(commit.description == "commit 1 \"first\" by lala: 2 changes")
        #expect(library.commits[2].description == "commit 3 \"first\" by lala: 1 change")
    }

    @Test func everyFlippedBitOfTheHashedPartOfAnEnvelopeIsFound() throws {
        let bytes = try chunk(library(), 2)
        for bit in 0..<Self.hashedByteCount * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(thrown(DecodingFailure.self) { try envelope(damaged) } != nil, "bit \(bit)")
        }
    }

    @Test func anEnvelopeOfALaterFormatIsRefusedThoughItsHashIsRight() throws {
        let later = DecodingFailure("the journal entry of revision 2 is of a later format")
        for (offset, byte) in [(2, UInt8(5)), (3, 1), (60, 1)] {
            var bytes = try chunk(library(), 2)
            bytes[offset] = byte
            let hash = bytes[..<128].withUnsafeBytes { Digest(of: $0) }
            withUnsafeBytes(of: hash.words) { bytes.replaceSubrange(128..<160, with: $0) }
            #expect(thrown(DecodingFailure.self) { try envelope(bytes) } == later, "\(offset)")
        }
    }

    /// The first entry of the library with its two changes in a chunk each, as these counts say.
    private func entry(_ counts: [(first: UInt32, changes: UInt32)]) throws -> Envelope {
        let library = try library()
        let commit = library.commits[0]
        var ends: [Int] = []
        try commit.forEachChange { ends.append($0.bytes.count) }
        let body = Array(commit.body.bytes)
        let borders = [0, body.count - ends[1], body.count]
        var first = Array(try chunk(library, 1)[..<Self.envelopeByteCount])
        first[Self.hashedByteCount] = 2
        let values = counts.enumerated().map { index, count in
            (index == 0 ? first : []) + withUnsafeBytes(of: count) { Array($0) }
                + body[borders[index]..<borders[index + 1]]
        }
        return try values[0].withUnsafeBytes { one in
            try values[1].withUnsafeBytes { two in
                try EntryChunks(of: 1) { [one, two][$0] }.entry().envelope
            }
        }
    }

    @Test func chunksThatMiscountTheirChangesAreRefusedThoughTheSumIsRight() throws {
        #expect(try entry([(0, 1), (1, 1)]).chunkCount == 2)
        let failure = thrown(DecodingFailure.self) { try entry([(0, 2), (1, 0)]) }
        #expect(failure == DecodingFailure("chunk 0 of revision 1 miscounts its changes"))
    }

    @Test func everyTruncatedEnvelopeIsRefused() throws {
        let bytes = try chunk(library(), 2)
        for count in 0..<Self.envelopeByteCount {
            let failure = thrown(DecodingFailure.self) { try envelope(Array(bytes[..<count])) }
            #expect(failure != nil, "\(count) bytes")
        }
    }

    @Test func damagedChangesNeverTrap() throws {
        let seed: UInt64 = 0x57e7_3100
        var random = SeededGenerator(seed: seed)
        let library = try library()
        var changes: [[UInt8]] = []
        for commit in library.commits {
            try commit.forEachChange { changes.append(Array($0.bytes)) }
        }
        #expect(changes.count == 4)
        for bytes in changes {
            for count in 0..<bytes.count {
                #expect(!isReadable(Array(bytes[..<count])), "\(count)")
            }
            #expect(isReadable(bytes))
        }
        var readable = 0
        for round in 0..<10_000 {
            var damaged = changes[round % changes.count]
            // Half of the time the leading length is kept, to reach the fields after it.
            let first = round % 2 == 0 ? 4 : 0
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: first..<damaged.count, using: &random)
                damaged[index] ^= UInt8.random(in: 1...255, using: &random)
            }
            if isReadable(damaged) { readable += 1 }
        }
        #expect((1..<10_000).contains(readable), "seed \(seed)")
    }

    private func isReadable(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard let change = try? JournalChange(decoding: &reader) else { return false }
            let cells = try? change.changedCells()
            let object = try? ObjectChange(change, .library)
            return object != nil && (change.kind != .update || cells != nil)
        }
    }

    /// Reads all that can be read; what it meets must be typed errors.
    private func readEverything(_ library: Library) -> [String] {
        var surprises: [String] = []
        func attempt(_ body: () throws -> Void) {
            do { try body() } catch {
                if !(error is StoreError) { surprises.append("\(error)") }
            }
        }
        for revision in 0...library.revision.number {
            attempt { _ = try library.file.objects(asOf: Revision(revision)) }
            attempt { _ = try library.file.read { try $0.commit(Revision(revision)) } }
        }
        attempt { _ = try library.file.verify() }
        return surprises
    }

    @Test func aDamagedChunkGivesTypedErrorsWhateverIsRead() throws {
        let seed: UInt64 = 0x57e7_3101
        var random = SeededGenerator(seed: seed)
        let library = try library()
        let entries = try library.file.dump()["journal"] ?? [:]
        for round in 0..<1_500 {
            let key = entries.keys.sorted { $0.lexicographicallyPrecedes($1) }[
                round % entries.count]
            let value = entries[key] ?? []
            var damaged = value
            if round % 5 == 0 {
                damaged = Array(value.prefix(Int.random(in: 0..<value.count, using: &random)))
            } else {
                // At least half of the changes are in the part that no hash covers.
                let range = round % 2 == 0 ? Self.hashedByteCount..<value.count : 0..<value.count
                let index = Int.random(in: range, using: &random)
                damaged[index] ^= UInt8.random(in: 1...255, using: &random)
            }
            try library.file.tamper("journal", key, damaged)
            #expect(readEverything(library) == [], "seed \(seed), round \(round)")
            try library.file.tamper("journal", key, value)
        }
        #expect(try library.file.verify().problems == [])
    }
}

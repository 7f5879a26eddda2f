import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Entries of all sizes, and single changes found in them.
struct JournalTests {
    // The sizes of format 1, repeated here on purpose.
    private static let chunkRoom = 8 * 4_096 - 16 - 8
    private static let envelopeByteCount = 176
    /// Length, salt, flags and the count of what later formats add.
    private static let attributesByteCount = 4 + 16 + 1 + 2
    // A change has length, salt, kind, flags, entity, id and revision; a tag has bitmap and slot.
    private static let insertOverhead = 48 + 16

    private static let pattern = Data((0..<110_000).map { UInt8(truncatingIfNeeded: $0 * 31) })

    private func mark(_ byteCount: Int, _ seed: Int = 0) -> [Value] {
        [.data(Self.pattern[seed..<byteCount + seed])]
    }

    private func tag(_ number: Int) -> ObjectKey { ObjectKey(Number.tag, number) }

    /// Finds each change of a commit by itself, and none that it does not have.
    private func checkEachChange(_ library: Library, _ commit: Commit, _ note: Comment) throws {
        let journal = Journal(table: try library.file.table(Journal.tableName))
        var changes: [(ObjectKey, ChangeKind, [UInt8])] = []
        try commit.forEachChange { change in
            changes.append(
                (ObjectKey(change.entity, change.id), change.kind, Array(change.payload)))
        }
        #expect(changes.count == commit.changeCount, note)
        let present = Set(changes.map(\.0))
        try library.file.environment.read { transaction in
            for (key, kind, payload) in changes {
                let found = try journal.withChange(
                    ofEntity: key.entity, key.id, at: commit.revision, in: transaction
                ) { change, _ in
                    change.id == key.id && change.kind == kind
                        && change.payload.elementsEqual(payload)
                }
                #expect(found == true, "\(note), \(key)")
                for absent in Self.neighbours(of: key) where !present.contains(absent) {
                    let none: Bool? = try journal.withChange(
                        ofEntity: absent.entity, absent.id, at: commit.revision, in: transaction
                    ) { _, _ in true }
                    #expect(none == nil, "\(note), \(absent)")
                }
            }
        }
        let stored = try library.file.read { try $0.commit(commit.revision) }
        #expect(stored == commit, note)
    }

    private static func neighbours(of key: ObjectKey) -> [ObjectKey] {
        [
            ObjectKey(key.entity, ObjectID(high: key.id.high, low: key.id.low - 1)),
            ObjectKey(key.entity, ObjectID(high: key.id.high, low: key.id.low + 1)),
            ObjectKey(key.entity, ObjectID(high: 0, low: 1)),
            ObjectKey(key.entity, ObjectID(high: .max, low: .max)),
            ObjectKey(EntityNumber(index: key.entity.index - 1), key.id),
            ObjectKey(EntityNumber(index: key.entity.index + 1), key.id),
        ]
    }

    private func chunkByteCounts(_ library: Library, _ revision: Revision) throws -> [Int] {
        let prefix = withUnsafeBytes(of: revision.number.bigEndian) { Array($0) }
        let table = try library.file.table(Journal.tableName)
        return try library.file.environment.read { transaction in
            var counts: [Int] = []
            try transaction.scan(table, KeyRange(prefix: prefix)) { _, value in
                counts.append(value.count)
                return true
            }
            return counts
        }
    }

    @Test(arguments: -2...2)
    func aChangeThatJustFitsStaysInTheFirstChunk(difference: Int) throws {
        let library = try Library()
        let room = Self.chunkRoom - Self.envelopeByteCount - Self.attributesByteCount
        let byteCount = room - Self.insertOverhead + difference
        let edits = [library.edit(tag(2), mark(byteCount))]
        let commit = try library.commit(edits)
        let counts = try chunkByteCounts(library, commit.revision)
        #expect(counts.count == (difference <= 0 ? 1 : 2))
        #expect(counts.allSatisfy { $0 <= 8 * 4_096 - 16 })
        try checkEachChange(library, commit, "difference \(difference)")
        #expect(try library.file.verify().problems == [])
    }

    @Test(arguments: [1, 2, 3], -2...2)
    func aChangeAtTheBorderOfChunksIsFound(chunkCount: Int, difference: Int) throws {
        let library = try Library()
        let byteCount = chunkCount * Self.chunkRoom - Self.insertOverhead + difference
        // One change precedes it, two follow it.
        let edits = [(1, 10), (3, byteCount), (5, 20), (7, 30)].map { number, count in
            library.edit(tag(number), mark(count))
        }
        let commit = try library.commit(edits)
        let note: Comment = "\(chunkCount) chunks and \(difference) bytes"
        let pieces = chunkCount + (difference > 0 ? 1 : 0)
        #expect(try chunkByteCounts(library, commit.revision).count == 1 + pieces + 1, note)
        try checkEachChange(library, commit, note)
        let updated = try library.commit([library.edit(tag(3), mark(byteCount, 1))])
        try checkEachChange(library, updated, note)
        #expect(try library.file.objects(asOf: 1) == library.expected(asOf: 1), note)
        let deleted = try library.commit([library.edit(tag(3), nil), library.edit(tag(1), mark(1))])
        try checkEachChange(library, deleted, note)
        #expect(try library.file.objects(asOf: 2) == library.expected(asOf: 2), note)
        #expect(try library.file.verify().problems == [], note)
    }

    @Test func entriesOfRandomSizesGiveBackEachChange() throws {
        let seed: UInt64 = 0x57e7_3000
        let edge = Self.chunkRoom - Self.insertOverhead
        let sizes = [0, 10, 1_000, 16_000, edge - 1, edge, edge + 1, 40_000, 100_000, 2 * edge]
        for stream in 0..<repetitions(25) {
            var random = SeededGenerator(seed: seed, stream: stream)
            let library = try Library()
            for round in 0..<2 {
                let count = Int.random(in: 1...20, using: &random)
                let edits = (0..<count).map { number in
                    let size = sizes.randomElement(using: &random) ?? 0
                    return library.edit(tag(10 + 2 * number), mark(size, round))
                }.filter { $0.before != $0.after }
                if edits.isEmpty { continue }
                let commit = try library.commit(edits, EditNote(author: "lala", label: "round"))
                try checkEachChange(library, commit, "seed \(seed), stream \(stream)")
            }
            for revision in 0...library.revision.number {
                let objects = try library.file.objects(asOf: Revision(revision))
                #expect(
                    objects == library.expected(asOf: Revision(revision)),
                    "seed \(seed), stream \(stream), as of \(revision)")
            }
            #expect(try library.file.verify().problems == [], "seed \(seed), stream \(stream)")
        }
    }

    @Test func eachOfTenThousandChangesIsFound() throws {
        let library = try Library()
        let count = 10_000
        try library.commit((0..<count).map { library.edit(tag(10 + 2 * $0), mark($0 % 5)) })
        let updated = try library.commit(
            (0..<count).map { library.edit(tag(10 + 2 * $0), mark($0 % 5 + 1, 1)) })
        let journal = Journal(table: try library.file.table(Journal.tableName))
        // Every number of the first commit, every seventh of the second; the odd ones are absent.
        for (commit, step) in [(library.commits[0], 2), (updated, 7)] {
            #expect(commit.changeCount == count)
            try library.file.environment.read { transaction in
                var wrong: [Int] = []
                for number in Array(stride(from: 10, to: 2 * count + 10, by: step)) + Array(0...100)
                {
                    let found = try journal.withChange(
                        ofEntity: Number.tag, .fixed(number), at: commit.revision, in: transaction
                    ) { change, _ in change.id }
                    let isThere = number % 2 == 0 && number >= 10
                    if found != (isThere ? .fixed(number) : nil) { wrong.append(number) }
                }
                #expect(wrong == [], "revision \(commit.revision)")
            }
        }
        #expect(try library.file.objects(asOf: 1) == library.expected(asOf: 1))
        #expect(try library.file.verify().problems == [])
    }

    @Test func anEntryThatIsNotThereIsAnError() throws {
        let library = try Library()
        try library.commit([library.edit(tag(1), mark(1))])
        for revision in [Revision.zero, 2, Revision(.max)] {
            let error = thrown(StoreError.self) {
                try library.file.read { try $0.commit(revision) }
            }
            #expect(error?.code == .damaged, "\(revision)")
        }
    }

    @Test func commitsOfManyEntitiesAreFoundToo() throws {
        let library = try Library()
        var history = RandomHistory(seed: 0x57e7_3001)
        history.poolSize = 40
        for round in 0..<60 {
            let commit = try library.commit(history.edits(of: library))
            try checkEachChange(library, commit, "seed 0x57e73001, round \(round)")
        }
    }
}

import Foundation
import StetStore
import StetTestSupport
import Testing

/// Entries whose blocks are encoded with the bodies of the records, or copied from them, on one
/// core or two.
struct EntryLayoutTests {
    private static let headerByteCount = 48
    private static let room = 256
    private static let longText = String(repeating: "a", count: 300)

    /// Encodes edits in their order as a context does, with the header of each inserted object.
    private func laidOut(
        _ edits: [Edit], in file: StoreFile, _ note: EditNote, parallelCount: Int
    ) throws -> EncodedChangeSet {
        var changes = ChangeSetBuilder(schema: file.schema)
        changes.limits.parallelCount = parallelCount
        for edit in edits {
            let (entity, id) = (edit.key.entity, edit.key.id)
            let before = edit.before.map { changes.encode($0, entity: entity) }
            let after = edit.after.map { values in
                guard before == nil else { return changes.encode(values, entity: entity) }
                return changes.encodeInsertion(of: id, entity: entity, base: edit.base) {
                    $0.write(values, of: file.schema.entities[entity])
                }
            }
            changes.append(
                ChangeSetBuilder.Item(
                    kind: edit.kind, entity: entity, id: id, base: edit.base,
                    before: before ?? 0..<0, after: after ?? 0..<0))
        }
        changes.sort()
        try changes.collectIndexChanges()
        return try changes.encoded(
            attributes: CommitAttributes(
                author: note.author, scope: note.scope, label: note.label),
            base: note.base, token: note.token, time: note.time)
    }

    /// Commits edits, and compares the store with one that has them by another layout.
    private func commit(
        _ edits: [Edit], _ note: EditNote, to library: Library, and other: StoreFile,
        parallelCount: Int
    ) throws {
        let commit = try library.commit(edits, note)
        let set = try laidOut(edits, in: other, note, parallelCount: parallelCount)
        let made = try other.commit(set)
        #expect(made.revision == commit.revision)
        #expect(made.changeSet == commit.changeSet)
        #expect(made.author == note.author)
        #expect(made.label == note.label)
        let stored = try other.read { try $0.commit(made.revision) }
        #expect(stored.changeSet == commit.changeSet)
        #expect(stored.label == note.label)
        #expect(stored.envelope.bodyDigest == made.envelope.bodyDigest)
        var salts: Set<[UInt8]> = []
        try stored.forEachChange { change in
            salts.insert(Array(change.bytes[JournalChange.saltOffset...].prefix(16)))
        }
        #expect(salts.count == edits.count)
    }

    private func expectSame(_ library: Library, _ other: StoreFile) throws {
        // The salts of the journal's entries differ, and with them the digests in the head.
        let (expected, found) = (try library.file.dump(), try other.dump())
        for (table, entries) in expected where !["journal", ""].contains(table) {
            #expect(found[table] == entries, "\(table)")
        }
        #expect(try other.verify().problems == [])
        #expect(
            try other.objects(asOf: library.revision) == library.expected(asOf: library.revision))
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func anEntryIsTheSameInEveryLayout(seed: UInt64) throws {
        var history = RandomHistory(seed: 0x57e7_1900, stream: Int(seed))
        history.poolSize = 12
        let library = try Library()
        let other = try Library()
        for number in 0..<30 {
            let edits = history.edits(of: library).sorted {
                seed.isMultiple(of: 2) ? $0.key < $1.key : $1.key < $0.key
            }
            var note = EditNote(
                author: number % 3 == 0 ? nil : "ada",
                label: number % 4 == 0 ? Self.longText : "edit \(number)")
            note.base = library.revision
            try commit(edits, note, to: library, and: other.file, parallelCount: number % 2 * 1_000)
        }
        try expectSame(library, other.file)
    }

    @Test(arguments: [nil, "label", longText], [0, 2_000])
    func newObjectsInTheirOrderAreLaidOutAsTheEntry(label: String?, parallelCount: Int) throws {
        let library = try Library()
        let other = try Library()
        for step in 0..<2 {
            var note = EditNote(label: label)
            note.base = library.revision
            let edits = (0..<1_500).map { number in
                library.edit(
                    ObjectKey(Number.tag, step * 1_500 + number),
                    [.data(Data(repeating: UInt8(number % 256), count: number % 70))])
            }
            try commit(edits, note, to: library, and: other.file, parallelCount: parallelCount)
        }
        try expectSame(library, other.file)
    }

    @Test(
        arguments: [
            EntryLayoutTests.headerByteCount - 24, EntryLayoutTests.headerByteCount,
            EntryLayoutTests.room + EntryLayoutTests.headerByteCount,
        ], [false, true])
    func bytesOfNoChangeAreNoHeader(byteCount: Int, isBehindAnInsertion: Bool) throws {
        let library = try Library()
        var changes = ChangeSetBuilder(schema: library.file.schema)
        var bodies: [Range<Int>] = []
        if isBehindAnInsertion {
            bodies.append(
                changes.encodeInsertion(of: .fixed(1), entity: Number.tag, base: .zero) {
                    $0.write([.data(Data([1]))], of: library.file.schema.entities[Number.tag])
                })
        }
        _ = [UInt8](repeating: 0xff, count: byteCount).withUnsafeBytes { changes.copy($0) }
        bodies.append(changes.encode([.data(Data([2]))], entity: Number.tag))
        for (index, body) in bodies.enumerated() {
            changes.append(
                ChangeSetBuilder.Item(
                    kind: .insert, entity: Number.tag, id: .fixed(index + 1), base: .zero,
                    before: 0..<0, after: body))
        }
        let set = try changes.encoded(
            attributes: CommitAttributes(), base: .zero, token: 1, time: 0)
        #expect(try set.changeSet().changes.map(\.kind) == bodies.map { _ in .insert })
        #expect(try library.file.commit(set).changeSet == set.changeSet())
    }

    @Test func aValueBeyondItsLimitIsRefusedOnTwoCores() throws {
        let library = try Library()
        var changes = ChangeSetBuilder(schema: library.file.schema)
        changes.limits.parallelCount = 0
        changes.limits.attributeByteCount = 10
        let body = changes.encode([.data(Data(count: 11))], entity: Number.tag)
        changes.append(
            ChangeSetBuilder.Item(
                kind: .insert, entity: Number.tag, id: .fixed(1), base: .zero, before: 0..<0,
                after: body))
        try changes.collectIndexChanges()
        do {
            _ = try changes.encoded(
                attributes: CommitAttributes(), base: .zero, token: 1, time: 0)
            Issue.record("a value that is too long was encoded")
        } catch let error as StoreError {
            #expect(error.code == .limitExceeded)
        }
    }
}

import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Random histories against a plain array of states.
struct HistoryTests {
    @Test(arguments: 0..<20)
    func everyRevisionOfRandomHistoriesReadsAsItWas(family: Int) throws {
        for member in 0..<repetitions(10) {
            let stream = family * 10 + member
            let library = try Library()
            var history = RandomHistory(seed: 0x57e7_1000, stream: stream)
            for _ in 0..<40 { try library.commit(history.edits(of: library)) }
            // Reopens every other history, to read it as another process would.
            if member % 2 == 1 { try library.reopen() }
            try compare(library, "seed 0x57e71000, stream \(stream)")
            library.file.close()
        }
    }

    private func compare(_ library: Library, _ note: Comment) throws {
        let file = library.file
        let keys = Set(library.states.flatMap(\.values.keys)).sorted()
        for number in 0...library.revision.number {
            let revision = Revision(number)
            let expected = library.expected(asOf: revision)
            #expect(try file.objects(asOf: revision) == expected, "\(note), as of \(revision)")
            // Reads single objects at every third revision only; the scan follows the same chains.
            for key in keys where number % 3 == 0 {
                let object = try file.object(key, asOf: revision)
                #expect(object == expected[key], "\(note), \(key) as of \(revision)")
            }
        }
        let absent = ObjectKey(Number.tag, 999_999)
        #expect(try file.object(absent, asOf: library.revision) == nil)
        let references = try file.references()
        #expect(references == library.expectedReferences, note)
        let read = try file.read { reader in
            try library.commits.map { try reader.commit($0.revision) }
        }
        #expect(read == library.commits, note)
        let report = try file.verify()
        #expect(report.problems == [], note)
        #expect(report.commitCount == library.commits.count, note)
        #expect(report.objectCount == library.now.values.count, note)
        #expect(report.referenceCount == references.count, note)
        #expect(report.hash == library.commits.last?.hash, note)
    }

    @Test func theChangeSetOfACommitShowsWhatItDid() throws {
        let library = try Library()
        var history = RandomHistory(seed: 0x57e7_1001)
        for round in 0..<200 {
            let edits = history.edits(of: library)
            let commit = try library.commit(edits)
            let expected = edits.sorted { $0.key < $1.key }.map { edit in
                Described(edit, library.file.schema.entities[edit.key.entity])
            }
            let note: Comment = "seed 0x57e71001, round \(round)"
            #expect(commit.changeSet.changes.map(Described.init) == expected, note)
            let stored = try library.file.read { try $0.commit(commit.revision).changeSet }
            #expect(stored.changes.map(Described.init) == expected, note)
            #expect(commit.changeCount == edits.count, note)
        }
    }

    /// An object's change by the bits of its values.
    private struct Described: Equatable {
        var entity: String
        var id: ObjectID
        var kind: ChangeKind
        var properties: [[OwnedCell?]]
        var names: [String]

        init(_ change: ObjectChange) {
            entity = change.entity
            id = change.id
            kind = change.kind
            properties = change.properties.map { [$0.old.cell, $0.new.cell] }
            names = change.properties.map(\.name)
        }

        init(_ edit: Edit, _ description: Entity) {
            entity = description.name
            id = edit.key.id
            kind = edit.kind
            properties = []
            names = []
            for (slot, property) in description.properties.slotted {
                let (old, new) = (edit.before?[slot].cell, edit.after?[slot].cell)
                if edit.kind == .update, old == new { continue }
                properties.append([old, new])
                names.append(property.name)
            }
        }
    }

    @Test func recordsThatDifferInNothingButOtherRevisionsAreReadAtEachOfThem() throws {
        let library = try Library()
        let key = ObjectKey(Number.tag, 1)
        for number in 1...60 {
            // Inserted, deleted, inserted again: the chain runs through tombstones.
            let values: [Value]? = number % 3 == 0 ? nil : [.data(Data([UInt8(number)]))]
            try library.commit([library.edit(key, values)])
        }
        for number in (0...60).reversed() {
            let revision = Revision(UInt64(number))
            let expected = library.expected(asOf: revision)[key]
            #expect(try library.file.object(key, asOf: revision) == expected, "\(number)")
        }
    }
}

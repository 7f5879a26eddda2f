import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// Counters in the tool: increments of several authors, and rows that set them.
struct CounterToolTests {
    private let fixture: Fixture
    private static let page = "\(ObjectID.fixed(1))"

    /// A page that two authors have counted up: 0, 5, 12.
    init() throws {
        let page = Entity(
            name: "Page",
            properties: [
                Property(name: "title", type: .string),
                Property(name: "views", type: .int, isCounter: true),
            ])
        fixture = try Fixture(schema: try Schema(entities: [page]))
        for (author, count) in [("a", 0), ("a", 5), ("b", 12)] {
            try fixture.commit([(1, .fixed(1), [.string("one"), .int(count)])], author: author)
        }
    }

    private func run(_ words: String...) throws -> Tool.Outcome {
        var words = words
        words.insert(fixture.path, at: 1)
        return try Tool.Running(words).outcome()
    }

    private func importing(_ line: String) throws -> Tool.Outcome {
        let path = fixture.directory.file("lines.jsonl")
        try line.write(toFile: path, atomically: true, encoding: .utf8)
        return try run("import", "Page", path, "--without-validators")
    }

    private func views() throws -> Int? {
        let values = try fixture.file.read { reader in
            try reader.withRecord(ofEntity: 1, .fixed(1), asOf: .max) { record in
                try RecordBody(record.body, of: fixture.file.schema.entities[0]).values()
            }
        }
        if case .int(let count)? = values?[1] { return count }
        return nil
    }

    @Test func changesOfACounterAreShownWithBothValues() throws {
        let shown = try run("show", "2").output
        #expect(shown.hasSuffix("update Page \(Self.page)\n  views: 0 → 5\n"), "\(shown)")
        #expect(
            try run("diff", "1", "3").output == "update Page \(Self.page)\n  views: 0 → 12\n")
        #expect(
            try run("diff", "3", "2").output == "update Page \(Self.page)\n  views: 12 → 5\n")
        let blame = try run("blame", Self.page, "views").output
        #expect(blame.hasPrefix("3 "), "\(blame)")
        #expect(blame.hasSuffix(" by b  views: 12\n"), "\(blame)")
    }

    @Test func anUndoTakesOneIncrementAndKeepsThoseOfOthers() throws {
        let preview = try run("undo", "--author", "a", "--dry-run").output
        #expect(
            preview == "would undo 2\nupdate Page \(Self.page)\n  views: 12 → 7\n", "\(preview)")
        #expect(try run("undo", "--author", "a", "--without-validators").status == 0)
        #expect(try views() == 7)
        #expect(try run("show", "4").output.contains("  views: 12 → 7\n"))
        #expect(try run("redo", "--author", "a", "--without-validators").status == 0)
        #expect(try views() == 12)
        #expect(try run("revert", "3", "--without-validators").status == 0)
        #expect(try views() == 5)
        #expect(try run("verify").status == 0)
    }

    @Test func redactedIncrementsAreNotUndone() throws {
        let redacted = try run("redact", Self.page, "views", "--yes")
        #expect(redacted.output.hasSuffix("redacted in commits 3, 2, 1\n"), "\(redacted)")
        #expect(try views() == 12)
        let shown = try run("show", "2").output
        #expect(!shown.contains("→ 5"), "\(shown)")
        let undo = try run("undo", "--author", "a", "--without-validators")
        #expect(undo.status == 1, "\(undo)")
        #expect(try views() == 12)
        #expect(try run("verify").status == 0)
    }

    @Test func aRowSetsTheCounter() throws {
        let row = "{\"id\":\"\(Self.page)\",\"views\":3}\n"
        #expect(try importing(row).output == "revision 4: 1 updated\n")
        #expect(try views() == 3)
        #expect(try importing(row).output == "1 unchanged\n")
        // A revert of the import takes what it added, which was less than nothing.
        try fixture.file.add(4, to: .fixed(1), base: 4)
        #expect(try views() == 7)
        #expect(try run("revert", "4", "--without-validators").status == 0)
        #expect(try views() == 16)
        #expect(try run("verify").status == 0)
    }

    @Test func incrementsOfOthersMeanwhileAreNotWrittenOver() throws {
        var batch = try ImportBatch(fixture.file, entity: "Page", time: 0)
        let fields: [String: ImportRecord.Field] = ["views": .json(.integer(20))]
        try batch.add([ImportRecord(line: 1, id: Self.page, fields: fields)])
        try batch.check()
        #expect(batch.rows.count == 1)
        try fixture.file.add(1, to: .fixed(1), base: 3)
        #expect(throws: ImportWork.Overtaken.self) {
            try ImportWork(batch: batch, attributes: CommitAttributes(), time: 0).commit()
        }
        #expect(try views() == 13)
    }
}

extension StoreFile {
    /// Adds to the counter of a page, whose record has not changed since `base`.
    fileprivate func add(_ number: Int, to id: ObjectID, base: Revision) throws {
        var changes = ChangeSetBuilder(schema: schema)
        let entity = schema.entities[0]
        let old = try read { reader in
            try reader.withRecord(ofEntity: 1, id, asOf: .max) { record in
                try RecordBody(record.body, of: entity).values()
            }
        }
        guard let old, case .int(let count) = old[1] else { return }
        let before = changes.encode(entity: 1) { $0.write(old) }
        let after = changes.encode(entity: 1) { $0.write([old[0], .int(count + number)]) }
        changes.append(
            ChangeSetBuilder.Item(
                kind: .update, entity: 1, id: id, base: base, before: before, after: after))
        _ = try commit(
            try changes.encoded(
                attributes: CommitAttributes(), base: .zero, token: 9, time: 4))
    }
}

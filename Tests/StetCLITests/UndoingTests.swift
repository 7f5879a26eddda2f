import Foundation
import StetStore
import Testing

/// The output and the effects of `diff`, `blame`, `undo`, `redo` and `revert`, on a store that is
/// in use.
struct UndoingTests {
    private let fixture: Fixture
    private let notebook = "01900000-0000-7000-8000-000000000001"

    /// Three commits: a notebook, its renaming by another author, another notebook.
    init() throws {
        fixture = try Fixture()
        try fixture.commit(
            [(2, .fixed(1), [.string("one")])], author: "a", label: "make", time: 1)
        try fixture.commit(
            [(2, .fixed(1), [.string("two")])], author: "b", label: "rename", time: 2)
        try fixture.commit([(2, .fixed(3), [.string("three")])], time: 3)
    }

    private func names() throws -> [String] {
        var names: [String] = []
        try fixture.file.read { reader in
            try reader.forEachRecord(ofEntity: 2, asOf: .max) { _, record in
                let entity = fixture.file.schema.entities[1]
                names.append("\(try RecordBody(record.body, of: entity).value(0))")
                return true
            }
        }
        return names
    }

    @Test func diffIsNetAndGoesBothWays() throws {
        let forward = """
            update Notebook \(notebook)
              name: "one" → "two"

            """
        #expect(
            try Tool.run("diff", fixture.path, "1", "2") == Tool.Outcome(status: 0, output: forward)
        )
        let backward = try Tool.run("diff", fixture.path, "2", "1", "--json")
        let json =
            #"{"entity":"Notebook","id":"\#(notebook)","kind":"update","#
            + #""properties":{"name":{"new":"one","old":"two"}}}"# + "\n"
        #expect(backward == Tool.Outcome(status: 0, output: json))
        #expect(try Tool.run("diff", fixture.path, "1", "9").status == 66)
    }

    @Test func blameNamesTheLastAuthor() throws {
        let line = "2 2001-01-01T00:00:02.000Z update \"rename\" by b  name: \"two\"\n"
        #expect(
            try Tool.run("blame", fixture.path, notebook)
                == Tool.Outcome(status: 0, output: line))
        #expect(try Tool.run("blame", fixture.path, notebook, "colour").status == 66)
        #expect(try Tool.run("blame", fixture.path, "x").status == 64)
    }

    @Test func anUndoNeedsToBeToldThatValidatorsAreNotAsked() throws {
        let refused = try Tool.run("undo", fixture.path, "--author", "b")
        #expect(refused.status == 64)
        #expect(refused.errors.contains("--without-validators"))
        #expect(try names() == ["\"two\"", "\"three\""])
        let preview = try Tool.run("undo", fixture.path, "--author", "b", "--dry-run")
        let lines = """
            would undo 2 "rename"
            update Notebook \(notebook)
              name: "two" → "one"

            """
        #expect(preview == Tool.Outcome(status: 0, output: lines))
        let json = try Tool.run("undo", fixture.path, "--author", "b", "--dry-run", "--json")
        let object =
            #"{"changes":[{"entity":"Notebook","id":"\#(notebook)","kind":"update","#
            + #""properties":{"name":{"new":"one","old":"two"}}}],"commits":[2],"#
            + #""label":"rename"}"# + "\n"
        #expect(json == Tool.Outcome(status: 0, output: object))
        let revert = try Tool.run("revert", fixture.path, "2", "--dry-run")
        #expect(revert.output.hasPrefix("would revert 2 \"rename\"\n"))
        #expect(try names() == ["\"two\"", "\"three\""])
    }

    @Test func objectsOfProtectedModelsAreNotDeleted() throws {
        let schema = try Schema(entities: [
            Entity(
                name: "Invoice", properties: [Property(name: "text", type: .string)],
                isProtected: true),
            Entity(name: "Tag", properties: [Property(name: "name", type: .string)]),
        ])
        let fixture = try Fixture(schema: schema)
        try fixture.commit([(1, .fixed(1), [.string("one")])], author: "a")
        try fixture.commit([(1, .fixed(1), [.string("two")])], author: "a")
        try fixture.commit([(2, .fixed(2), [.string("tag")])], author: "b")
        let refusal = "Invoice: Invoice is protected, and its deletion was not confirmed\n"
        let revert = ["revert", fixture.path, "1", "--policy", "overwrite", "--without-validators"]
        #expect(
            try Tool.Running(revert).outcome() == Tool.Outcome(status: 1, output: refusal))
        let undo = ["undo", fixture.path, "--author", "a", "--without-validators"]
        #expect(try Tool.Running(undo).outcome().status == 0)
        #expect(try Tool.Running(undo).outcome() == Tool.Outcome(status: 1, output: refusal))
        let other = ["undo", fixture.path, "--author", "b", "--without-validators"]
        #expect(try Tool.Running(other).outcome().status == 0)
        #expect(try fixture.file.read { try $0.recordCount(ofEntity: 1) } == 1)
    }

    @Test func theLogTellsWhatACommitUndoesAndThatNoValidatorsRan() throws {
        let schema = try Schema(entities: [
            Entity(name: "Tag", properties: [Property(name: "name", type: .string)])
        ])
        let fixture = try Fixture(schema: schema)
        try fixture.commit([(1, .fixed(1), [.string("one")])], author: "a")
        try fixture.commit([(1, .fixed(1), [.string("two")])], author: "a")
        let undo = ["undo", fixture.path, "--author", "a", "--without-validators"]
        #expect(try Tool.Running(undo).outcome().status == 0)
        let line = try Tool.run("log", fixture.path, "--limit", "1").output
        #expect(line.hasPrefix("3 "), "\(line)")
        #expect(line.hasSuffix(", undo of 2, without validators\n"), "\(line)")
        let shown = try Tool.run("show", fixture.path, "3", "--json").output
        #expect(shown.contains("\"cause\":\"undo\""))
        #expect(shown.contains("\"subject\":2"))
        #expect(shown.contains("\"metadata\":{\"stet.withoutValidators\":\"true\"}"))
        let commit = try fixture.file.read { try $0.commit(3) }
        #expect(commit.description.hasSuffix("1 change, undo of 2"))
    }

    @Test func undoRedoAndRevertWriteToALiveStore() throws {
        func run(_ arguments: String...) throws -> Int32 {
            let outcome = try Tool.Running(arguments + ["--without-validators"]).outcome()
            return outcome.status
        }
        #expect(try run("undo", fixture.path, "--author", "b") == 0)
        #expect(try names() == ["\"one\"", "\"three\""])
        let commit = try fixture.file.read { try $0.commit(4) }
        #expect(commit.cause == .undo(of: 2))
        #expect(commit.author == "b")
        #expect(commit.label == "rename")
        #expect(commit.metadata == ["stet.withoutValidators": "true"])
        #expect(try run("redo", fixture.path, "--author", "b") == 0)
        #expect(try names() == ["\"two\"", "\"three\""])
        #expect(try run("revert", fixture.path, "3", "--author", "c") == 0)
        #expect(try names() == ["\"two\""])
        #expect(try run("revert", fixture.path, "99") == 66)
        let conflict = try Tool.run(
            "undo", fixture.path, "--author", "a", "--without-validators")
        #expect(conflict.status == 1)
        #expect(
            conflict.output
                == "Notebook \(notebook) would be deleted, but has since been changed "
                + "by commit 5 of b\n")
        #expect(try run("undo", fixture.path, "--author", "a", "--policy", "overwrite") == 0)
        #expect(try names() == [])
        let nothing = try Tool.run("undo", fixture.path, "--author", "a", "--without-validators")
        #expect(nothing == Tool.Outcome(status: 0, output: "nothing to undo\n"))
        let redo = try Tool.run("redo", fixture.path, "--author", "c", "--without-validators")
        #expect(redo == Tool.Outcome(status: 0, output: "nothing to redo\n"))
        #expect(try fixture.file.verify().problems == [])
    }
}

import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// The output and the effects of `trim`, `redact` and `info`, on a store that is in use.
struct RetentionTests {
    private let fixture: Fixture
    private let notebook = "01900000-0000-7000-8000-000000000001"

    /// Four commits: three names of a notebook, another notebook.
    init() throws {
        fixture = try Fixture()
        for (number, name) in ["secret", "hidden", "public"].enumerated() {
            try fixture.commit(
                [(2, .fixed(1), [.string(name)])], author: "a", time: Double(number))
        }
        try fixture.commit([(2, .fixed(3), [.string("other")])], time: 3)
    }

    @Test func aTrimShowsItsPlanAndIsDoneWhenItIsConfirmed() throws {
        let bytes = try fixture.file.read { try TrimPlan(through: 2, $0) }.byteCount
        let shown = try Tool.run("trim", fixture.path, "--before", "3")
        let plan = """
            2 commits (\(byteCountText(bytes))) would be removed; the journal begins after 2
              2 undo and 0 redo steps of a

            """
        #expect(shown == Tool.Outcome(status: 0, output: plan))
        #expect(try fixture.file.read { try $0.floor() } == 0)
        let json = """
            {"byteCount":\(bytes),"commitCount":2,"floor":2,"heldBy":[],"isDone":true,"lostSteps":\
            [{"author":"a","redoCount":0,"scope":null,"undoCount":2}]}

            """
        #expect(
            try Tool.run("trim", fixture.path, "--before", "3", "--yes", "--json")
                == Tool.Outcome(status: 0, output: json))
        #expect(try fixture.file.read { try $0.floor() } == 2)
        #expect(
            try Tool.run("trim", fixture.path, "--before", "2", "--yes").output
                == "0 commits (0 bytes) removed; the journal begins after 2\n")
        #expect(try Tool.run("trim", fixture.path, "--before", "0").status == 64)
        #expect(try Tool.run("trim", fixture.path).status == 64)
        #expect(try Tool.run("verify", fixture.path).status == 0)
    }

    @Test func whatWasTrimmedIsSaidByEachCommand() throws {
        try fixture.file.trim(through: 2)
        #expect(
            try Tool.run("log", fixture.path).output.split(separator: "\n").map { $0.prefix(1) }
                == ["4", "3"])
        let text =
            "stet: Commit 2 was trimmed: the journal begins after 2. "
            + "Ask for what came after 2, or look into a backup.\n"
        for arguments in [["show", "2"], ["log", "--from", "1"]] {
            let outcome = try Tool.Running([arguments[0], fixture.path] + arguments[1...]).outcome()
            #expect(outcome.status == 66, "\(arguments)")
            #expect(outcome.errors == text, "\(arguments)")
        }
        #expect(try Tool.run("dump", fixture.path, "--as-of", "1").status == 66)
        #expect(try Tool.run("dump", fixture.path, "--as-of", "2").status == 0)
        #expect(try Tool.run("diff", fixture.path, "1", "4").status == 66)
        #expect(try Tool.run("undo", fixture.path, "--author", "a", "--dry-run").status == 0)
        #expect(
            try Tool.run("show", fixture.path, notebook).output == """
                Notebook \(notebook), last changed in revision 3
                  name: "public"
                history after revision 2
                3 2001-01-01T00:00:02.000Z update by a
                  name: "hidden" → "public"

                """)
        #expect(
            try Tool.run("info", fixture.path).output.contains(
                "commits     2; trimmed up to 2\n"))
        try fixture.file.trim(through: 3, for: .count(1))
        #expect(
            try Tool.run("info", fixture.path).output.contains(
                "commits     1; trimmed up to 3, to keep 1\n"))
        #expect(
            try Tool.run("blame", fixture.path, notebook).output == "up to 3, trimmed  name\n")
        let json = try Tool.run("info", fixture.path, "--json").output
        #expect(json.contains(#""commitCount":1,"#))
        #expect(json.contains(#""floor":3,"#))
    }

    @Test func aRedactionShowsItsPlanAndIsDoneWhenItIsConfirmed() throws {
        #expect(
            try Tool.run("redact", fixture.path, notebook, "name")
                == Tool.Outcome(
                    status: 0, output: "4 values would be redacted in commits 3, 2, 1\n"))
        #expect(try fixture.file.read { try $0.commit(1) }.isRedacted == false)
        #expect(
            try Tool.run("redact", fixture.path, notebook, "name", "--yes", "--json")
                == Tool.Outcome(
                    status: 0,
                    output: #"{"isDone":true,"revisions":[3,2,1],"valueCount":4}"# + "\n"))
        let shown = try Tool.run("show", fixture.path, "2")
        #expect(shown.output.contains("  name: (redacted) → (redacted)\n"))
        let json = try Tool.run("show", fixture.path, "3", "--json").output
        #expect(
            json.contains(#""name":{"new":"public","old":null,"redacted":["old"]}"#))
        let other = "01900000-0000-7000-8000-000000000003"
        #expect(try Tool.run("redact", fixture.path, other, "name").status == 1)
        #expect(try Tool.run("redact", fixture.path, notebook, "colour").status == 66)
        #expect(
            try Tool.run("redact", fixture.path, "01900000-0000-7000-8000-000000000009", "name")
                .status == 66)
        #expect(try Tool.run("redact", fixture.path, "x", "name").status == 64)
        let undo = try Tool.run(
            "undo", fixture.path, "--author", "a", "--without-validators")
        #expect(undo.status == 1)
        #expect(undo.errors.contains("redacted"))
        #expect(try Tool.run("verify", fixture.path).status == 0)
    }

    @Test func aRedactedValueIsEmptyInStatesOfThePast() throws {
        let request = RedactionRequest(entity: 2, object: .fixed(1), slots: [0])
        try fixture.file.redact(request)
        let object = """
            {"entity":"Notebook","id":"\(notebook)","values":{"name":""}}

            """
        let path = fixture.path
        #expect(try Tool.run("dump", path, "--as-of", "1").output.contains(#""name":"""#))
        #expect(try Tool.run("export", path, "--as-of", "1").output == object)
        let found = try Tool.run("query", path, "Notebook", "name == \"\"", "--as-of", "1")
        #expect(found.status == 0, "\(found)")
        #expect(found.output.contains(notebook), "\(found)")
        #expect(try !Tool.run("query", path, "Notebook", "name == \"\"").output.contains(notebook))
    }

    @Test func aCompactedCopyHasNoRedactedBytes() throws {
        let request = RedactionRequest(entity: 2, object: .fixed(1), slots: [0])
        try fixture.file.redact(request)
        let target = fixture.directory.file("small")
        let backup = fixture.directory.file("backup")
        #expect(try Tool.run("compact", fixture.path, target).status == 0)
        #expect(try Tool.run("backup", fixture.path, backup).status == 0)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: target))
        let copied = try Data(contentsOf: URL(fileURLWithPath: backup))
        for text in ["secret", "hidden"] {
            #expect(bytes.range(of: Data(text.utf8)) == nil)
            #expect(copied.range(of: Data(text.utf8)) == nil)
        }
        #expect(bytes.range(of: Data("public".utf8)) != nil)
        #expect(try Tool.run("dump", target) == Tool.run("dump", fixture.path))
    }
}

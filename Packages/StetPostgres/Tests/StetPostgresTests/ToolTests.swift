import Foundation
import Stet
import Testing

/// The program `stet-postgres`.
struct ToolTests {
    private let nodes: PostgresNodes

    init() throws { nodes = try PostgresNodes() }

    /// Runs the program on a node; returns its exit code and its output.
    private func run(
        _ command: String, _ node: String, _ arguments: String..., connection: String? = nil
    ) throws -> (status: Int32, output: String) {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent()
            .appending(path: "stet-postgres")
        process.arguments =
            [command, nodes.path(node)] + arguments + [
                "--journal", connection ?? nodes.server.connection, "--journal-store", nodes.name,
            ]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }

    @Test func aStoreMovesIntoTheDatabaseAndBack() throws {
        let local = try Store.open(at: nodes.path("one"), for: Item.self)
        try local.insertItem("a secret")
        local.close()
        let attached = try run("attach", "one")
        #expect(attached.status == 0)
        #expect(attached.output.hasPrefix("attached to the shared journal"))
        let one = try nodes.open("one")
        try one.renameItem("a secret", to: "apple")
        try one.insertItem("pear")
        let id = try #require(try one.fetch(Item.self) { $0.name == "apple" }.first()).id
        one.close()

        let redaction = try run("redact", "one", "\(id)", "name", "--yes")
        #expect(redaction.status == 0, "\(redaction.output)")
        #expect(try !nodes.contain("a secret"))
        let trim = try run("trim", "one", "--before", "3", "--yes")
        #expect(trim.status == 0, "\(trim.output)")
        #expect(try nodes.server.rows(of: nodes.name, in: "stet_entry") == 3)
        let undo = try run("undo", "one", "--author", "lala", "--without-validators")
        #expect(undo.status == 0, "\(undo.output)")
        #expect(try nodes.open("other").itemNames() == ["apple"])

        let detached = try run("detach", "one")
        #expect(detached.status == 0)
        #expect(detached.output.hasPrefix("detached from the shared journal"))
        let alone = try Store.open(at: nodes.path("one"), for: Item.self)
        #expect(try alone.itemNames() == ["apple"])
        #expect(try alone.verify().problems == [])
    }

    @Test func infoShowsHowFarANodeIsBehind() throws {
        try nodes.open("one").close()
        let other = try nodes.open("other")
        for number in 1...3 { try other.insertItem("\(number)") }
        let info = try run("info", "one")
        #expect(info.status == 0)
        #expect(
            info.output.contains(
                "of the shared journal “\(nodes.name)” in PostgreSQL at 3, 3 behind"))
        let json = try run("info", "one", "--json").output
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        let node = try #require(object["node"] as? [String: Any])
        #expect(node["commitsBehind"] as? Int == 3)
        #expect(node["head"] as? Int == 3)
        let renewal = try run("renew-base", "one")
        #expect(renewal.status == 0)
        #expect(renewal.output == "new nodes begin with a copy of revision 3 or later\n")
        let remade = try run("remake", "one")
        #expect(remade.status == 0)
        #expect(remade.output.hasPrefix("made anew at revision 3; the former file is"))
        #expect(try run("remake", "one").status == 73)
    }

    @Test func mistakesAreReported() throws {
        try nodes.open("one").close()
        let missing = try run("trim", "none", "--before", "1", "--yes")
        #expect(missing.status == 66)
        #expect(!FileManager.default.fileExists(atPath: nodes.path("none")))
        let unreachable = try run(
            "info", "one", connection: "host=/nowhere user=stet password=secret")
        #expect(unreachable.status == 74)
        #expect(unreachable.output.contains("can't be used"))
        #expect(!unreachable.output.contains("secret"))
        let local = try Store.open(at: nodes.path("local"), for: Item.self)
        local.close()
        let foreign = try run("info", "local")
        #expect(foreign.status == 65)
        #expect(foreign.output.contains("not that of the store"))
        let renewal = try run("renew-base", "local")
        #expect(renewal.status == 64, "\(renewal.output)")
        let taken = try run("attach", "local")
        #expect(taken.status != 0)
        #expect(try nodes.open("one").revision() == 0)
    }
}

import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// Backup, restore and compact: copies that are whole, or not there.
struct CopyTests {
    private func dump(_ path: String) throws -> String {
        let outcome = try Tool.run("dump", path)
        #expect(outcome.status == 0)
        return outcome.output
    }

    /// The files in a store's directory.
    private func names(_ fixture: Fixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path).sorted()
    }

    private func byteCount(_ path: String) throws -> Int {
        try #require(
            FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    @Test("C2 a backup has the objects, commits and id of the store, and verifies")
    func aBackupHasTheSameObjectsCommitsAndIdAsTheStoreAndVerifies() throws {
        let fixture = try Fixture()
        try fixture.commitArticles(40)
        try fixture.commitArticles(40, first: 2_000)
        let target = fixture.directory.file("notes.backup")
        let made = try Tool.run("backup", fixture.path, target)
        let hash = try fixture.file.verify().hash
        let expected = """
            \(target): \(byteCountText(try byteCount(target)))
            verified: state equals journal (2 commits, 80 changes, 80 objects, 0 references)
            hash \(hash)

            """
        #expect(made == Tool.Outcome(status: 0, output: expected))
        #expect(try names(fixture) == ["notes.backup", "notes.stet", "notes.stet-lock"])
        #expect(try dump(target) == dump(fixture.path))
        #expect(
            try Tool.run("log", target, "--json") == Tool.run("log", fixture.path, "--json"))
        let copy = try StoreFile.open(at: target, schema: .notes)
        defer { copy.close() }
        #expect(copy.storeID == fixture.file.storeID)
        #expect(try copy.verify() == fixture.file.verify())
        let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func progressIsToldOnStandardError() throws {
        let fixture = try Fixture()
        try fixture.commitArticles(400)
        let target = fixture.directory.file("copy")
        let made = try Tool.run("backup", fixture.path, target, "--progress", "--json")
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(made.output.utf8)) as? [String: Any])
        let total = try byteCount(target)
        #expect(object["byteCount"] as? Int == total)
        #expect(object["path"] as? String == target)
        let counts = try made.errors.split(separator: "\n").map { line in
            try JSONDecoder().decode([String: Int].self, from: Data(line.utf8))
        }
        #expect(counts.count > 1)
        #expect(counts.count <= 101)
        #expect(counts.last == ["count": total, "doneCount": total])
        #expect(
            counts.compactMap { $0["doneCount"] } == counts.compactMap { $0["doneCount"] }.sorted())
    }

    @Test(arguments: ["backup", "restore", "compact"])
    func aFileThatIsThereIsNotReplaced(command: String) throws {
        let fixture = try Fixture()
        let target = fixture.directory.file("taken")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: target))
        let text =
            "stet: There is a file \(target) already. "
            + "Choose a name that does not exist yet. Nothing was changed.\n"
        #expect(
            try Tool.run(command, fixture.path, target) == Tool.Outcome(status: 73, errors: text))
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data("mine".utf8))
        let locked = fixture.directory.file("locked")
        try Data().write(to: URL(fileURLWithPath: "\(locked)-lock"))
        #expect(try Tool.run(command, fixture.path, locked).status == 73)
        let nowhere = fixture.directory.file("no/copy")
        #expect(try Tool.run(command, fixture.path, nowhere).status == 73)
        #expect(
            try names(fixture) == ["locked-lock", "notes.stet", "notes.stet-lock", "taken"])
    }

    @Test func compactLeavesOutWhatDeletionsHaveFreed() throws {
        let fixture = try Fixture()
        // Values larger than a page, whose pages the update frees.
        try fixture.commitArticles(200, byteCount: 9_000)
        try fixture.commitArticles(200, byteCount: 10)
        let plain = fixture.directory.file("plain")
        let small = fixture.directory.file("small")
        #expect(try Tool.run("backup", fixture.path, plain).status == 0)
        #expect(try Tool.run("compact", fixture.path, small).status == 0)
        #expect(try byteCount(small) < byteCount(fixture.path) - 200 * 8_192)
        #expect(try byteCount(small) == byteCount(plain))
        #expect(try dump(small) == dump(fixture.path))
        #expect(try Tool.run("verify", small) == Tool.run("verify", fixture.path))
        #expect(try StoreInspection.inspect(small).freePageCount == 0)
        #expect(try StoreInspection.inspect(small).damages == [])
    }

    @Test func aStoreIsCompactedInPlaceAndNoSaveIsLost() throws {
        let fixture = try Fixture()
        try fixture.commitArticles(200, byteCount: 9_000)
        try fixture.commitArticles(200, byteCount: 10)
        let before = try dump(fixture.path)
        let (path, size) = (fixture.path, try byteCount(fixture.path))
        #expect(try Tool.run("compact", path, "--in-place", "x").status == 64)
        #expect(try Tool.run("compact", path).status == 64)
        let made = try Tool.run("compact", path, "--in-place")
        let small = try byteCount(path)
        #expect(made.status == 0)
        #expect(made.output.hasPrefix("\(path): \(byteCountText(small))\n"))
        #expect(small < size - 200 * 8_192)
        // A store that was open refuses further commits.
        #expect(throws: StoreError.self) { try fixture.commitArticles(1, first: 9_000) }
        fixture.file.close()
        #expect(try dump(path) == before)
        #expect(try Tool.run("verify", path).status == 0)
        let store = try StoreFile.open(at: path, schema: .notes)
        defer { store.close() }
        #expect(try store.read { try $0.head().revision } == 2)
        #expect(try names(fixture) == ["notes.stet", "notes.stet-lock"])
    }

    @Test("C2 a restored store goes on where the backup was")
    func aRestoredStoreGoesOnWhereTheBackupWas() throws {
        let fixture = try Fixture()
        try fixture.commitArticles(3)
        let backup = fixture.directory.file("backup")
        let restored = fixture.directory.file("restored")
        #expect(try Tool.run("backup", fixture.path, backup).status == 0)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
        #expect(try Tool.run("restore", backup, restored).status == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: backup)) == bytes)
        #expect(try dump(restored) == dump(fixture.path))
        let store = try StoreFile.open(at: restored, schema: .notes)
        defer { store.close() }
        #expect(try store.read { try $0.head() } == fixture.file.read { try $0.head() })
        #expect(try store.verify().isClean)
    }

    @Test func aStoreThatIsWrittenToCanBeReadCopiedAndVerified() throws {
        let fixture = try Fixture()
        try fixture.commitArticles(300)
        let path = fixture.path
        let copies = ["backup", "compact"].map { ($0, fixture.directory.file($0)) }
        let commands =
            copies.map { [$0.0, path, $0.1] }
            + [["verify", path], ["dump", path], ["log", path], ["info", path]]
        for command in commands {
            let before = try fixture.file.read { try $0.head().revision }
            let running = try Tool.Running(command)
            var count = 0
            while running.isRunning || count == 0 {
                count += 1
                try fixture.commitArticles(5, first: 1_000 + count % 300, byteCount: count % 2_000)
            }
            let outcome = try running.outcome()
            #expect(outcome.status == 0, "\(command): \(outcome.errors)")
            #expect(outcome.errors == "", "\(command): \(outcome.errors)")
            guard let copy = copies.first(where: { $0.0 == command[0] }) else { continue }
            // The copy shows the store at one of the revisions since the command started.
            let store = try StoreFile.open(at: copy.1, schema: .notes)
            let head = try store.read { try $0.head() }
            store.close()
            #expect(head.revision >= before)
            let commit = try fixture.file.read { try $0.commit(head.revision) }
            #expect(commit.hash == head.hash.hexadecimal)
            let past = try Tool.run("dump", path, "--as-of", "\(head.revision)")
            #expect(try dump(copy.1) == past.output)
        }
    }
}

import Foundation
import StetStore
import StetTestSupport
import Testing

/// `stet ship`, and `stet restore` from what it has written.
struct ShippingTests {
    private let fixture: Fixture
    private let shipped: String

    init() throws {
        fixture = try Fixture()
        shipped = fixture.directory.file("shipped")
        try FileManager.default.createDirectory(
            atPath: shipped, withIntermediateDirectories: false)
        try fixture.commit([(2, .fixed(1), [.string("one")])], time: 100)
    }

    private func restore(_ name: String, _ arguments: String...) throws -> Tool.Outcome {
        let target = fixture.directory.file(name)
        return try Tool.Running(["restore", shipped, target] + arguments).outcome()
    }

    private func revision(_ name: String) throws -> Revision {
        let file = try StoreFile.open(at: fixture.directory.file(name), schema: .notes)
        defer { file.close() }
        return try file.head().revision
    }

    @Test func aShippedStoreIsRestoredAtARevisionAndAtATime() throws {
        let first = try Tool.run("ship", fixture.path, shipped)
        #expect(
            first
                == Tool.Outcome(
                    status: 0,
                    output: "0 commits, 0 bytes, through revision 1; base of revision 1\n"
                ))
        for number in 2...4 {
            try fixture.commit(
                [(2, .fixed(1), [.string("\(number)")])], time: Double(number * 100))
        }
        let second = try Tool.run("ship", fixture.path, shipped, "--json")
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(second.output.utf8)) as? [String: Any])
        #expect(object["commitCount"] as? Int == 3)
        #expect(object["revision"] as? Int == 4)
        #expect(object["base"] is NSNull)
        #expect(try restore("last").status == 0)
        #expect(try revision("last") == 4)
        #expect(try restore("second", "--at", "2").status == 0)
        #expect(try revision("second") == 2)
        #expect(try restore("third", "--at", "2001-01-01T00:05:50Z").status == 0)
        #expect(try revision("third") == 3)
        let store = try Tool.run("dump", fixture.path)
        #expect(try Tool.run("dump", fixture.directory.file("last")) == store)
    }

    @Test func aRevisionThatWasNotShippedIsRefused() throws {
        _ = try Tool.run("ship", fixture.path, shipped)
        let later = try restore("later", "--at", "2")
        #expect(later.status != 0)
        #expect(later.errors.contains("there is no 2"))
        let earlier = try restore("earlier", "--at", "0")
        #expect(earlier.status == 66)
        #expect(
            try !FileManager.default.contentsOfDirectory(atPath: fixture.directory.path)
                .contains { $0.hasPrefix("later") || $0.hasPrefix("earlier") })
    }

    @Test func aTimeNeedsADirectory() throws {
        let target = fixture.directory.file("copy")
        #expect(try Tool.run("restore", fixture.path, target, "--at", "1").status == 64)
    }
}

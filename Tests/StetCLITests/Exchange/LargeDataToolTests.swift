import Foundation
import StetStore
import StetTestSupport
import Testing

/// Large data in the tool, which moves digests: the bytes stay in their store.
struct LargeDataToolTests {
    private let directory = TemporaryDirectory()
    private static let ann = "01900000-0000-7000-8000-000000000001"

    private func store(_ name: String) throws -> StoreFile {
        let person = Entity(
            name: "Person",
            properties: [Property(name: "photo", type: .data, isOptional: true, isLarge: true)])
        return try StoreFile.open(
            at: directory.file(name), schema: try Schema(entities: [person]))
    }

    private func importing(_ value: [UInt8], into file: StoreFile) throws -> Tool.Outcome {
        let path = directory.file("lines.jsonl")
        let text =
            "{\"id\":\"\(Self.ann)\",\"photo\":\"\(Data(value).base64EncodedString())\"}\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.Running(
            ["import", file.path, "Person", path, "--without-validators"]
        ).outcome()
    }

    @Test func digestsAreImportedWhereTheBytesAre() throws {
        let file = try store("first.stet")
        let writer = try LargeValueWriter(file)
        try [UInt8](repeating: 7, count: 100_000).withUnsafeBytes(writer.append)
        let value = try writer.finish()
        let outcome = try importing(value.stored, into: file)
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: 1 inserted\n"))
        let text = Data(value.stored).base64EncodedString()
        #expect(try Tool.run("export", file.path, "Person").output.contains(text))
        #expect(try Tool.run("verify", file.path).status == 0)
        let info = try Tool.run("info", file.path).output
        #expect(info.contains("photo: large data?"), "\(info)")
        #expect(info.contains("\nlarge data  1"), "\(info)")
        let json = try Tool.run("info", file.path, "--json").output
        #expect(json.contains("\"isLargeData\":true"), "\(json)")

        let other = try store("second.stet")
        let refused = try importing(value.stored, into: other)
        #expect(refused.status != 0)
        #expect(refused.errors.contains("does not have the bytes"), "\(refused.errors)")
        #expect(try other.head().revision == .zero)
        let none = try importing([1, 2, 3], into: file)
        #expect(none.status != 0)
        #expect(try file.head().revision == 1)
    }
}

import Foundation
import StetStore
import StetTestSupport
import Testing

/// Large data in the tool: digests in the lines, and bytes in files of a folder.
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

    private func write(_ bytes: [UInt8], to file: StoreFile) throws -> LargeValue {
        let writer = try LargeValueWriter(file)
        try bytes.withUnsafeBytes(writer.append)
        return try writer.finish()
    }

    private func importing(
        _ value: [UInt8], into file: StoreFile, _ options: String...
    ) throws -> Tool.Outcome {
        let path = directory.file("lines.jsonl")
        let text =
            "{\"id\":\"\(Self.ann)\",\"photo\":\"\(Data(value).base64EncodedString())\"}\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.Running(
            ["import", file.path, "Person", path, "--without-validators"] + options
        ).outcome()
    }

    @Test func digestsAreImportedWhereTheBytesAre() throws {
        let file = try store("first.stet")
        let value = try write([UInt8](repeating: 7, count: 100_000), to: file)
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
        #expect(refused.status == 1)
        #expect(
            refused.output.hasPrefix(
                "line 1: photo is large data whose bytes the store does not have; "),
            "\(refused.output)")
        #expect(try other.head().revision == .zero)
        let none = try importing([1, 2, 3], into: file)
        #expect(none.status != 0)
        #expect(try file.head().revision == 1)
    }

    @Test(arguments: [0, 1, 100_000, 1_500_000])
    func bytesAreExportedToAFolderAndImported(byteCount: Int) throws {
        let first = try store("first.stet")
        let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let value = try write(bytes, to: first)
        #expect(try importing(value.stored, into: first).status == 0)
        let folder = directory.file("photos")
        for _ in 0..<2 {
            #expect(try Tool.run("export", first.path, "--large-data", folder).status == 0)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names == [value.digest.hexadecimal])
        let second = try store("second.stet")
        let dry = try importing(
            value.stored, into: second, "--large-data", folder, "--dry-run")
        #expect(dry.status == 0)
        #expect(try second.read { try !$0.hasBytes(of: value) })
        let outcome = try importing(value.stored, into: second, "--large-data", folder)
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: 1 inserted\n"))
        var read: [UInt8] = []
        try LargeValueReader(second).read(value, 0..<byteCount) { read += $0 }
        #expect(read == bytes)
        #expect(try Tool.run("verify", second.path).status == 0)
    }

    /// Opening a named pipe would wait for somebody who writes to it.
    @Test func aNamedPipeIsNoFileOfAnEmptyValue() throws {
        let value = [UInt8]().withUnsafeBytes { LargeValue(of: $0) }
        let folder = directory.file("photos")
        #expect(mkdir(folder, 0o700) == 0)
        #expect(mkfifo("\(folder)/\(value.digest.hexadecimal)", 0o600) == 0)
        let file = try store("first.stet")
        let outcome = try importing(value.stored, into: file, "--large-data", folder)
        #expect(outcome.status == 1)
        #expect(
            outcome.output.hasPrefix("line 1: photo is large data whose bytes "),
            "\(outcome.output)")
        #expect(try file.head().revision == .zero)
    }

    @Test func theBytesOfRejectedRowsAreNotImported() throws {
        let first = try store("first.stet")
        let value = try write([1, 2, 3], to: first)
        #expect(try importing(value.stored, into: first).status == 0)
        let folder = directory.file("photos")
        #expect(try Tool.run("export", first.path, "--large-data", folder).status == 0)
        let second = try store("second.stet")
        let text = Data(value.stored).base64EncodedString()
        let path = directory.file("rows.jsonl")
        // The second row is rejected for the id of the first.
        let rows = ["null", "\"\(text)\""].map { "{\"id\":\"\(Self.ann)\",\"photo\":\($0)}\n" }
        try rows.joined().write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = try Tool.run(
            "import", second.path, "Person", path, "--without-validators", "--skip-invalid",
            "--large-data", folder)
        #expect(outcome.output.contains("line 2: it has the id of line 1"), "\(outcome.output)")
        #expect(try second.head().revision == 1)
        #expect(try second.read { try !$0.hasBytes(of: value) })
    }

    @Test func aFileWithOtherBytesThanItsNameSaysIsRefused() throws {
        let first = try store("first.stet")
        let value = try write([1, 2, 3], to: first)
        #expect(try importing(value.stored, into: first).status == 0)
        let folder = directory.file("photos")
        #expect(try Tool.run("export", first.path, "--large-data", folder).status == 0)
        let file = "\(folder)/\(value.digest.hexadecimal)"
        try Data([1, 2, 4]).write(to: URL(filePath: file))
        let second = try store("second.stet")
        let outcome = try importing(value.stored, into: second, "--large-data", folder)
        #expect(outcome.status != 0)
        #expect(outcome.errors.contains("has other bytes than"), "\(outcome.errors)")
        #expect(try second.head().revision == .zero)
        // One of another size is none.
        try Data([1, 2]).write(to: URL(filePath: file))
        let shorter = try importing(value.stored, into: second, "--large-data", folder)
        #expect(shorter.status == 1)
        #expect(try Tool.run("export", first.path, "--large-data", folder).status != 0)
        #expect(try second.head().revision == .zero)
    }
}

import Foundation
import StetStore
import StetTestSupport
import Testing

/// Sealed attributes in the tool, which has no keys: it moves their bytes.
struct SealedValueToolTests {
    private let directory = TemporaryDirectory()
    private let keys: KeyFile
    private static let ann = "01900000-0000-7000-8000-000000000001"
    private static let bob = "01900000-0000-7000-8000-000000000002"

    init() async throws {
        let key = directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        keys = try await KeyFile.open(at: directory.file("keys"), provider: .file(key))
    }

    private func store(_ name: String) throws -> StoreFile {
        let person = Entity(
            name: "Person",
            properties: [
                Property(name: "name", type: .data, isOptional: true, seal: .own),
                Property(name: "age", type: .int),
            ])
        return try StoreFile.open(
            at: directory.file(name), schema: try Schema(entities: [person]))
    }

    private func sealed(_ text: String, for id: String) throws -> SealedBytes {
        let object = ObjectID(try #require(UUID(uuidString: id)))
        try keys.makeKeys(for: [object])
        return try SealedBytes(
            Array(text.utf8),
            at: .init(
                owner: object, object: object,
                label: SealedBytes.Place.label(ofProperty: "name")), by: keys)
    }

    private func row(_ id: String, _ bytes: [UInt8]) -> String {
        "{\"id\":\"\(id)\",\"age\":7,\"name\":\"\(Data(bytes).base64EncodedString())\"}\n"
    }

    private func importing(_ text: String, into file: StoreFile) throws -> Tool.Outcome {
        let path = directory.file("lines.jsonl")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.Running(
            ["import", file.path, "Person", path, "--without-validators"]
        ).outcome()
    }

    @Test func sealedBytesAreExportedAndImported() throws {
        let first = try store("first.stet")
        let value = try sealed("Ann", for: Self.ann)
        let outcome = try importing(row(Self.ann, value.bytes), into: first)
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: 1 inserted\n"))
        let exported = try Tool.run("export", first.path, "Person")
        #expect(exported.output.contains(Data(value.bytes).base64EncodedString()))
        let second = try store("second.stet")
        #expect(try importing(exported.output, into: second).status == 0)
        for file in [first, second] {
            #expect(try Tool.run("verify", file.path).status == 0)
            let shown = try Tool.run("show", file.path, "Person", Self.ann)
            #expect(!shown.output.contains("Ann"))
        }
        let info = try Tool.run("info", first.path)
        #expect(info.output.contains("name: sealed value?"), "\(info.output)")
    }

    @Test func bytesThatAreNotSealedForTheirObjectAreRefused() throws {
        let file = try store("third.stet")
        let other = try sealed("Bob", for: Self.bob)
        for bytes in [other.bytes, Array("plain".utf8)] {
            let outcome = try importing(row(Self.ann, bytes), into: file)
            #expect(outcome.status != 0)
            #expect(outcome.output.contains("name is not sealed for this Person"), "\(outcome)")
        }
        #expect(try importing(row(Self.bob, other.bytes), into: file).status == 0)
    }

    /// The sealed value of an object in a store.
    private func stored(_ id: String, in file: StoreFile) throws -> SealedBytes {
        let object = ObjectID(try #require(UUID(uuidString: id)))
        let value = try file.read { reader in
            try reader.withRecord(ofEntity: 1, object, asOf: try reader.head().revision) {
                try EncodedBody($0.body).values(of: file.schema.entities[0])[0]
            }
        }
        guard case .data(let bytes)? = value else { throw CocoaError(.fileReadCorruptFile) }
        return SealedBytes(bytes: Array(bytes))
    }

    @Test(arguments: ["jsonl", "csv"])
    func anImportedValueOpensUntilItsKeyIsDestroyed(format: String) throws {
        let first = try store("first.stet")
        let rows =
            try row(Self.ann, sealed("Ann Lee", for: Self.ann).bytes)
            + row(Self.bob, sealed("Bob Ray", for: Self.bob).bytes)
        #expect(try importing(rows, into: first).status == 0)
        let before = try Tool.run("export", first.path, "Person", "--format", format)
        try keys.destroyKey(of: ObjectID(try #require(UUID(uuidString: Self.bob))))
        let exported = try Tool.run("export", first.path, "Person", "--format", format)
        #expect(exported == before)
        #expect(exported.output.contains("7"))
        for text in ["Ann Lee", "Bob Ray"] {
            #expect(!exported.output.contains(text))
            #expect(!exported.output.contains(Data(text.utf8).base64EncodedString()))
        }
        let second = try store("second.stet")
        let path = directory.file("lines.\(format)")
        try exported.output.write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = try Tool.run(
            "import", second.path, "Person", path, "--without-validators")
        #expect(outcome.output == "revision 1: 2 inserted\n", "\(outcome)")
        #expect(try stored(Self.ann, in: second).opened() == Array("Ann Lee".utf8))
        let error = #expect(throws: SealingError.self) {
            try stored(Self.bob, in: second).opened()
        }
        #expect(error?.code == .erased)
        #expect(try Tool.run("verify", second.path).status == 0)
        #expect(
            try Tool.run("export", second.path, "Person", "--format", format).output
                == exported.output)
    }
}

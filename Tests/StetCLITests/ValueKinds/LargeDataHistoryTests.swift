import Foundation
import StetStore
import StetTestSupport
import Testing

/// The history of large data in the tool: digests, which lead to the bytes.
struct LargeDataHistoryTests {
    private let fixture: Fixture
    private let values: [LargeValue]
    private static let ann = "\(ObjectID.fixed(1))"

    /// Two photos of one person, the second by another author.
    init() throws {
        let photo = Property(name: "photo", type: .data, isOptional: true, isLarge: true)
        let fixture = try Fixture(
            schema: try Schema(entities: [Entity(name: "Person", properties: [photo])]))
        values = try [UInt8(1), 2].map { byte in
            let writer = try LargeValueWriter(fixture.file)
            try [UInt8](repeating: byte, count: 50_000).withUnsafeBytes(writer.append)
            return try writer.finish()
        }
        for (value, author) in zip(values, ["a", "b"]) {
            try fixture.commit([(1, .fixed(1), [.data(Data(value.stored))])], author: author)
        }
        self.fixture = fixture
    }

    private func run(_ words: String...) throws -> Tool.Outcome {
        var words = words
        words.insert(fixture.path, at: 1)
        return try Tool.Running(words).outcome()
    }

    private func text(_ index: Int) -> String {
        Data(values[index].stored).base64EncodedString()
    }

    private func photo() throws -> Value? {
        try fixture.file.read { reader in
            try reader.withRecord(ofEntity: 1, .fixed(1), asOf: .max) { record in
                try RecordBody(record.body, of: fixture.file.schema.entities[0]).values()[0]
            }
        }
    }

    @Test func changesAreShownWithoutTheBytes() throws {
        for words in [["show", fixture.path, "2"], ["diff", fixture.path, "1", "2"]] {
            let json = try Tool.Running(words + ["--json"]).outcome().output
            #expect(
                json.contains("\"photo\":{\"new\":\"\(text(1))\",\"old\":\"\(text(0))\"}"),
                "\(json)")
            let plain = try Tool.Running(words).outcome()
            #expect(plain.output.contains("  photo: "), "\(plain)")
            #expect(plain.output.utf8.count < 1_000)
        }
        let blame = try run("blame", Self.ann, "photo", "--json").output
        #expect(blame.contains("\"value\":\"\(text(1))\""), "\(blame)")
        #expect(blame.contains("\"author\":\"b\""), "\(blame)")
    }

    @Test func undoneDataHasItsBytes() throws {
        #expect(try run("undo", "--author", "b", "--without-validators").status == 0)
        #expect(try photo() == .data(Data(values[0].stored)))
        var read: [UInt8] = []
        try LargeValueReader(fixture.file).read(values[0], 0..<50_000) { read += $0 }
        #expect(read == [UInt8](repeating: 1, count: 50_000))
        #expect(try run("redo", "--author", "b", "--without-validators").status == 0)
        #expect(try photo() == .data(Data(values[1].stored)))
        #expect(try run("verify").status == 0)
    }

    @Test func redactedDataIsNotUndone() throws {
        let redacted = try run("redact", Self.ann, "photo", "--yes")
        #expect(redacted.output == "2 values redacted in commits 2, 1\n", "\(redacted)")
        #expect(!(try run("show", "2", "--json").output.contains(text(0))))
        let undo = try run("undo", "--author", "b", "--without-validators")
        #expect(undo.status == 1, "\(undo)")
        #expect(try photo() == .data(Data(values[1].stored)))
        #expect(try run("verify").status == 0)
    }
}

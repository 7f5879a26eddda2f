import Foundation
import StetStore
import StetTestSupport
import Testing

/// The history of sealed values in the tool, whose keys may be gone.
struct SealedHistoryTests {
    private let fixture: Fixture
    private let keys: KeyFile
    private var values: [SealedBytes] = []
    private static let ann = "\(ObjectID.fixed(1))"
    private static let words = ["Ann Lee", "Eva Lee"]

    /// Two names of one person, the second by another author.
    init() async throws {
        let name = Property(name: "name", type: .data, isOptional: true, seal: .own)
        fixture = try Fixture(
            schema: try Schema(entities: [Entity(name: "Person", properties: [name])]))
        let key = fixture.directory.file("key")
        try Data(repeating: 7, count: 32).write(to: URL(filePath: key))
        keys = try await KeyFile.open(
            at: fixture.directory.file("keys"), provider: .file(key))
        try keys.makeKeys(for: [.fixed(1)])
        let place = SealedBytes.Place(
            owner: .fixed(1), object: .fixed(1),
            label: SealedBytes.Place.label(ofProperty: "name"))
        for (word, author) in zip(Self.words, ["a", "b"]) {
            let value = try SealedBytes(Array(word.utf8), at: place, by: keys)
            values.append(value)
            try fixture.commit([(1, .fixed(1), [.data(Data(value.bytes))])], author: author)
        }
    }

    private func run(_ words: String...) throws -> Tool.Outcome {
        var words = words
        words.insert(fixture.path, at: 1)
        let outcome = try Tool.Running(words).outcome()
        for word in Self.words {
            #expect(!outcome.output.contains(word))
            #expect(!outcome.output.contains(Data(word.utf8).base64EncodedString()))
        }
        return outcome
    }

    private func stored() throws -> SealedBytes? {
        let value = try fixture.file.read { reader in
            try reader.withRecord(ofEntity: 1, .fixed(1), asOf: .max) { record in
                try RecordBody(record.body, of: fixture.file.schema.entities[0]).values()[0]
            }
        }
        guard case .data(let bytes)? = value else { return nil }
        return SealedBytes(bytes: Array(bytes))
    }

    @Test(arguments: [false, true])
    func sealedValuesAreShownAndUndoneByTheirBytes(isErased: Bool) throws {
        if isErased { try keys.destroyKey(of: .fixed(1)) }
        #expect(try run("show", "2").output.contains("  name: "))
        #expect(try run("diff", "1", "2").output.contains("  name: "))
        #expect(try run("show", Self.ann).output.contains("  name: "))
        let blame = try run("blame", Self.ann, "name", "--json").output
        #expect(blame.contains(Data(values[1].bytes).base64EncodedString()), "\(blame)")
        #expect(try run("undo", "--author", "b", "--without-validators").status == 0)
        #expect(try stored() == values[0])
        if isErased {
            let error = #expect(throws: SealingError.self) { try stored()?.opened() }
            #expect(error?.code == .erased)
        } else {
            #expect(try stored()?.opened() == Array("Ann Lee".utf8))
        }
        #expect(try run("revert", "3", "--without-validators").status == 0)
        #expect(try stored() == values[1])
        #expect(try run("verify").status == 0)
    }

    @Test func redactedSealedValuesAreNotUndone() throws {
        let redacted = try run("redact", Self.ann, "name", "--yes")
        #expect(redacted.output == "2 values redacted in commits 2, 1\n", "\(redacted)")
        let shown = try run("show", "1", "--json").output
        #expect(!shown.contains(Data(values[0].bytes).base64EncodedString()), "\(shown)")
        #expect(try run("undo", "--author", "b", "--without-validators").status == 1)
        #expect(try stored()?.opened() == Array("Eva Lee".utf8))
        #expect(try run("verify").status == 0)
    }
}

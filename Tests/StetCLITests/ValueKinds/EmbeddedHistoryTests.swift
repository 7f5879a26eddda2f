import StetStore
import Testing

/// The history of arrays of embedded values in the tool: elements that several authors change.
struct EmbeddedHistoryTests {
    private let fixture: Fixture
    private static let order = "\(ObjectID.fixed(1))"

    /// Two lines: one author changes the first, another one the second.
    init() throws {
        let lines = EmbeddedElements(
            members: [
                Property(name: "id", type: .int), Property(name: "article", type: .string),
                Property(name: "price", type: .double, isOptional: true),
            ], identity: 0)
        let order = Entity(
            name: "Order",
            properties: [
                Property(name: "number", type: .int),
                Property(name: "lines", type: .list, elements: [.embedded]).array(of: lines),
            ])
        fixture = try Fixture(schema: try Schema(entities: [order]))
        let steps = [
            ("a", ["nut", "saw"]), ("a", ["nail", "saw"]), ("b", ["nail", "axe"]),
        ]
        for (author, articles) in steps {
            let list = articles.enumerated().map { index, article in
                lines.element([.int(index + 1), .string(article), .null])
            }
            try fixture.commit([(1, .fixed(1), [.int(1), .list(list)])], author: author)
        }
    }

    private func run(_ words: String...) throws -> Tool.Outcome {
        var words = words
        words.insert(fixture.path, at: 1)
        return try Tool.Running(words).outcome()
    }

    private func articles() throws -> [Value] {
        let value = try fixture.file.read { reader in
            try reader.withRecord(ofEntity: 1, .fixed(1), asOf: .max) { record in
                try RecordBody(record.body, of: fixture.file.schema.entities[0]).values()[1]
            }
        }
        guard case .list(let elements)? = value else { return [] }
        return elements.map { element in
            guard case .dictionary(let members) = element else { return .null }
            return members[.string("article")] ?? .null
        }
    }

    @Test func changesOfElementsAreShown() throws {
        let shown = try run("show", "2").output
        #expect(shown.contains("update Order \(Self.order)\n  lines: "), "\(shown)")
        #expect(shown.contains("nut"), "\(shown)")
        #expect(shown.contains("nail"), "\(shown)")
        let json = try run("diff", "2", "3", "--json").output
        #expect(json.contains("{\"article\":\"axe\",\"id\":2,\"price\":null}"), "\(json)")
        #expect(!json.contains("nut"), "\(json)")
        let blame = try run("blame", Self.order).output
        #expect(blame.contains(" by b  lines: "), "\(blame)")
        #expect(blame.contains(" by a  number: 1\n"), "\(blame)")
    }

    @Test func anUndoLeavesTheElementsOfOthers() throws {
        #expect(try run("undo", "--author", "a", "--without-validators").status == 0)
        #expect(try articles() == [.string("nut"), .string("axe")])
        #expect(try run("revert", "3", "--without-validators").status == 0)
        #expect(try articles() == [.string("nut"), .string("saw")])
        #expect(try run("redo", "--author", "a", "--without-validators").status == 0)
        #expect(try articles() == [.string("nail"), .string("saw")])
        #expect(try run("verify").status == 0)
    }

    @Test func redactedElementsAreNotUndone() throws {
        let redacted = try run("redact", Self.order, "lines", "--yes")
        #expect(redacted.output == "4 values redacted in commits 3, 2, 1\n", "\(redacted)")
        let shown = try run("show", "2").output
        #expect(!shown.contains("nut"), "\(shown)")
        #expect(try run("undo", "--author", "b", "--without-validators").status == 1)
        #expect(try articles() == [.string("nail"), .string("axe")])
        #expect(try run("verify").status == 0)
    }
}

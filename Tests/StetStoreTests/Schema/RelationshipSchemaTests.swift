import Foundation
import StetStore
import StetTestSupport
import Testing

/// Relationships as data: their bytes, what cannot be, and what `verify` says of their members.
///
/// Resources/golden-relationships.stet was made by `make(at:)` and is never made again.
struct RelationshipSchemaTests {
    /// Notebooks with articles, at most `maximum`, in an order; articles with tags.
    private static func entities(maximum: Int? = nil) -> [Entity] {
        [
            Entity(
                name: "Notebook", properties: [Property(name: "name", type: .string)],
                relationships: [
                    Relationship(
                        name: "articles", target: "Article",
                        members: .references(property: "notebook"), isOrdered: true,
                        deleteRule: .cascade, minimumCount: 1, maximumCount: maximum,
                        removesOrphans: true)
                ]),
            Entity(
                name: "Article",
                properties: [
                    Property(
                        name: "notebook", type: .reference, isOptional: true, target: "Notebook",
                        hasPosition: true, deleteRule: .deny)
                ],
                relationships: [
                    Relationship(
                        name: "tags", target: "Tag", members: .targets(ofLinks: "Article.tags"))
                ]),
            Entity(
                name: "Tag", properties: [],
                relationships: [
                    Relationship(
                        name: "articles", target: "Article",
                        members: .sources(ofLinks: "Article.tags"), deleteRule: .none)
                ]),
        ]
    }

    private static let links = [LinkType(name: "Article.tags", source: "Article", target: "Tag")]

    private static let schema: Schema = {
        do {
            return try Schema(entities: entities(), links: links)
        } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()

    private static func key(_ entity: String, _ number: Int) -> ObjectKey {
        ObjectKey(schema.number(ofEntity: entity)!, number)
    }

    /// A reference to a notebook, with the last byte of a position that begins as all do.
    private static func placed(_ number: Int, _ last: UInt8) -> Value {
        let position = ListPosition(bytes: [128, 0, 0, 0, 0, 0, 0, last])
        return .placed(.fixed(number), position ?? .first)
    }

    private static let edits: [Edit] = [
        Edit(key("Notebook", 1), from: nil, to: [.string("Swift")]),
        Edit(key("Article", 11), from: nil, to: [placed(1, 16)]),
        Edit(key("Article", 12), from: nil, to: [placed(1, 0)]),
        Edit(key("Tag", 21), from: nil, to: []),
    ]

    private static func tagging(_ article: Int) -> LinkChange {
        LinkChange(
            LinkKey(link: 1, source: .fixed(article), target: .fixed(21)), before: .absent,
            after: .present(nil), previous: .zero)
    }

    private static func make(at path: String) throws {
        let file = try StoreFile.open(at: path, schema: schema, .small(mapByteCount: 1 << 20))
        _ = try file.commit(edits, links: [tagging(11)])
        file.close()
    }

    @Test func theGoldenStoreWithRelationshipsIsReadAndKept() throws {
        let directory = try StoreDirectory()
        try GoldenFile.copy("relationships", to: directory.file(), madeBy: Self.make)
        let file = try directory.open(schema: Self.schema)
        #expect(file.schema == Self.schema)
        #expect(try file.verify().problems == [])
        _ = try file.commit([], links: [Self.tagging(12)])
        #expect(try file.verify().problems == [])
        #expect(
            try file.members(of: Self.key("Notebook", 1), "articles")
                == [12, 11].map(ObjectID.fixed))
        #expect(
            try file.members(of: Self.key("Tag", 21), "articles") == [11, 12].map(ObjectID.fixed))
    }

    @Test func encodingBringsRelationshipsBack() throws {
        let bytes = Self.schema.encoded()
        let decoded = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        #expect(decoded == Self.schema)
        #expect(decoded.links == Self.links)
        #expect(
            decoded.entity(named: "Notebook")?.relationships == Self.entities()[0].relationships)
        #expect(decoded.entity(named: "Article")?.properties[0].deleteRule == .deny)
    }

    @Test func damagedSchemasAreRefusedOrAreOtherSchemas() {
        let bytes = Self.schema.encoded()
        for count in bytes.indices {
            #expect(throws: (any Error).self) {
                try bytes.prefix(count).withUnsafeBytes { try Schema(decoding: $0) }
            }
        }
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<20_000 {
            var damaged = bytes
            let index = Int.random(in: damaged.indices, using: &generator)
            damaged[index] ^= UInt8.random(in: 1...255, using: &generator)
            let decoded = try? damaged.withUnsafeBytes { try Schema(decoding: $0) }
            #expect(decoded != Self.schema)
        }
    }

    @Test func relationshipsThatCannotBeAreRefused() {
        func problem(_ change: (inout [Entity]) -> Void) -> String? {
            var entities = Self.entities()
            change(&entities)
            do {
                _ = try Schema(entities: entities, links: Self.links)
                return nil
            } catch {
                return (error as? StoreError)?.message
            }
        }
        func notebook(_ relationship: Relationship) -> (inout [Entity]) -> Void {
            { entities in
                entities[0] = Entity(
                    name: "Notebook", properties: [Property(name: "name", type: .string)],
                    relationships: [relationship])
            }
        }
        let inverse = Relationship.Members.references(property: "notebook")
        let cases: [(Relationship, String)] = [
            (
                Relationship(name: "name", target: "Article", members: inverse),
                "Notebook has two properties called name"
            ),
            (
                Relationship(name: "pages", target: "Page", members: inverse),
                "Notebook.pages refers to Page, which is not in the schema"
            ),
            (
                Relationship(name: "tags", target: "Tag", members: inverse),
                "Notebook.tags is the inverse of Tag.notebook, which does not refer to it"
            ),
            (
                Relationship(
                    name: "tags", target: "Tag", members: .targets(ofLinks: "Article.tags")),
                "Notebook.tags has links of Article.tags, which do not connect such objects"
            ),
            (
                Relationship(
                    name: "all", target: "Article", members: inverse, minimumCount: 3,
                    maximumCount: 2),
                "Notebook.all has bounds of its count that no count can have"
            ),
            (
                Relationship(name: "all", target: "Article", members: inverse),
                "Article.notebook has positions exactly if one ordered relationship is its inverse"
            ),
        ]
        for (relationship, message) in cases {
            #expect(problem(notebook(relationship)) == "The schema is not usable: \(message).")
        }
        #expect(problem { _ in } == nil)
    }

    @Test func theWriterAndVerifyCountMembers() throws {
        let directory = try StoreDirectory()
        let file = try directory.open(schema: Self.schema)
        _ = try file.commit(Self.edits)
        let refusal = #expect(throws: CommitRefusal.self) {
            try file.commit([Edit(Self.key("Notebook", 2), from: nil, to: [.string("empty")])])
        }
        #expect(refusal?.reasons.count == 1)
        file.close()
        // `verify` reports a tightened bound, and so do changes of the members.
        let tighter = try directory.open(
            schema: try Schema(entities: Self.entities(maximum: 1), links: Self.links))
        let problems = try tighter.verify().problems
        #expect(problems.count == 1)
        #expect(problems.first?.hasSuffix("has 2 members in articles, which allows 1...1.") == true)
    }
}

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
                        members: .references(property: "notebook"), order: "Notebook.articles",
                        deleteRule: .cascade, minimumCount: 1, maximumCount: maximum,
                        removesOrphans: true)
                ]),
            Entity(
                name: "Article",
                properties: [
                    Property(
                        name: "notebook", type: .reference, isOptional: true, target: "Notebook",
                        deleteRule: .deny)
                ],
                relationships: [
                    Relationship(
                        name: "tags", target: "Tag", members: .sourceOf(links: "Article.tags"))
                ]),
            Entity(
                name: "Tag", properties: [],
                relationships: [
                    Relationship(
                        name: "articles", target: "Article",
                        members: .targetOf(links: "Article.tags"), deleteRule: .none)
                ]),
            .links("Article.tags", from: "Article", to: "Tag", isOrdered: false),
            .links(
                "Notebook.articles", from: "Notebook", to: "Article", isOrdered: true,
                targetsAreExclusive: true),
        ]
    }

    private static let schema: Schema = {
        do {
            return try Schema(entities: entities())
        } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()

    private static func key(_ entity: String, _ number: Int) -> ObjectKey {
        ObjectKey(schema.entities.firstIndex { $0.name == entity }! + 1, number)
    }

    private static func reference(_ number: Int) -> Value { .reference(.fixed(number)) }

    private static let edits: [Edit] = [
        Edit(key("Notebook", 1), from: nil, to: [.string("Swift")]),
        Edit(key("Article", 11), from: nil, to: [reference(1)]),
        Edit(key("Article", 12), from: nil, to: [reference(1)]),
        Edit(key("Tag", 21), from: nil, to: []),
        Edit(key("Article.tags", 31), from: nil, to: [reference(11), reference(21)]),
        Edit(
            key("Notebook.articles", 41), from: nil,
            to: [reference(1), reference(11), .data(Data([128, 0, 0, 0, 0, 16, 0, 0]))]),
        Edit(
            key("Notebook.articles", 42), from: nil,
            to: [reference(1), reference(12), .data(Data([128, 0, 0, 0, 0, 0, 0, 0]))]),
    ]

    private static func make(at path: String) throws {
        let file = try StoreFile.open(at: path, schema: schema, .small(mapByteCount: 1 << 20))
        _ = try file.commit(edits)
        file.close()
    }

    @Test func theGoldenStoreWithRelationshipsIsReadAndKept() throws {
        let directory = try StoreDirectory()
        try GoldenFile.copy("relationships", to: directory.file(), madeBy: Self.make)
        let file = try directory.open(schema: Self.schema)
        #expect(file.schema == Self.schema)
        #expect(try file.verify().problems == [])
        _ = try file.commit([
            Edit(
                Self.key("Article.tags", 32), from: nil,
                to: [Self.reference(12), Self.reference(21)])
        ])
        #expect(try file.verify().problems == [])
    }

    @Test func encodingBringsRelationshipsBack() throws {
        let bytes = Self.schema.encoded()
        let decoded = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        #expect(decoded == Self.schema)
        #expect(decoded.entity(named: "Article.tags")?.isLink == true)
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
                _ = try Schema(entities: entities)
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
                    name: "tags", target: "Tag", members: .sourceOf(links: "Article.tags")),
                "Notebook.tags has links of Article.tags, which are none between such objects"
            ),
            (
                Relationship(
                    name: "all", target: "Article", members: inverse, minimumCount: 3,
                    maximumCount: 2),
                "Notebook.all has bounds of its count that no count can have"
            ),
            (
                Relationship(
                    name: "all", target: "Article", members: inverse, order: "Article.tags"),
                "Notebook.all has its order in Article.tags, which is none of such objects"
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
        // A bound that was tightened is seen by verify, and by who changes the members.
        let tighter = try directory.open(schema: try Schema(entities: Self.entities(maximum: 1)))
        let problems = try tighter.verify().problems
        #expect(problems.count == 1)
        #expect(problems.first?.hasSuffix("has 2 members in articles, which allows 1...1.") == true)
    }

    @Test func verifyFindsAPlaceWithAnotherOwner() throws {
        let directory = try StoreDirectory()
        let file = try directory.open(schema: Self.schema)
        var edits = Self.edits
        edits += [
            Edit(Self.key("Notebook", 2), from: nil, to: [.string("other")]),
            Edit(Self.key("Article", 13), from: nil, to: [Self.reference(2)]),
            Edit(
                Self.key("Notebook.articles", 43), from: nil,
                to: [Self.reference(1), Self.reference(13), .data(Data())]),
        ]
        _ = try file.commit(edits)
        let problems = try file.verify().problems
        #expect(problems.count == 1)
        #expect(
            problems.first?.hasSuffix(
                "has a place in Notebook.articles of an object that it does not refer to.") == true)
    }
}

import StetStore
import StetTestSupport
import Testing

/// Links and positions of stores whose models have changed since.
struct LinkMigrationTests {
    /// The models of `Shelf` with each order given up, and an order where there was none.
    private static func reordered(
        related: String = "related", hasTags: Bool = true
    ) throws -> Schema {
        var relationships = [
            Relationship(
                name: related, target: "Article", members: .targets(ofLinks: "Article.\(related)"))
        ]
        var links = [
            LinkType(name: "Article.\(related)", source: "Article", target: "Article")
        ]
        if hasTags {
            relationships.append(
                Relationship(
                    name: "tags", target: "Tag", members: .targets(ofLinks: "Article.tags"),
                    isOrdered: true))
            links.append(
                LinkType(name: "Article.tags", source: "Article", target: "Tag", isOrdered: true))
        }
        return try Schema(
            entities: [
                Entity(
                    name: "Article",
                    properties: [
                        Property(name: "title", type: .string),
                        Property(
                            name: "notebook", type: .reference, isOptional: true,
                            target: "Notebook"),
                    ], relationships: relationships),
                Entity(
                    name: "Notebook", properties: [Property(name: "name", type: .string)],
                    relationships: [
                        Relationship(
                            name: "articles", target: "Article",
                            members: .references(property: "notebook"))
                    ]),
                Entity(name: "Tag", properties: []),
            ], links: links)
    }

    /// Compares the members at a revision before the migration with those of the plain model, whose
    /// positions are gone, or the first.
    private func compare(
        _ shelf: Shelf, _ file: StoreFile, asOf revision: Revision, _ note: Comment
    ) throws {
        let state = WorkingState(file.schema, at: revision)
        for end in file.schema.ends {
            let former = try #require(Shelf.schema.end(numbered: end.number))
            for key in shelf.keys where key.entity == end.owner {
                let expected = shelf.members(of: key.id, at: former, asOf: revision)
                    .map { MemberPlace(end.layout.isOrdered ? .first : nil, $0.id) }.sorted()
                let members = try file.read { try state.members(of: key.id, at: end, $0) }
                #expect(members == expected, note)
            }
        }
    }

    private func open(
        _ shelf: Shelf, _ schema: Schema, _ origins: SchemaOrigins = SchemaOrigins()
    ) throws -> StoreFile {
        shelf.file.close()
        return try StoreFile.open(
            at: shelf.directory.file(), schema: schema, origins: origins, .small())
    }

    @Test(arguments: 0..<8)
    func membersAreKeptWhereOrdersComeAndGo(seed: UInt64) throws {
        let shelf = try Shelf()
        var history = ShelfHistory(seed: 600 + seed)
        for _ in 0..<25 { try history.commit(to: shelf) }
        // Some runs trim before the migration, some after, some never.
        if seed % 3 == 1 { try shelf.file.trim(through: 10) }
        let file = try open(shelf, try Self.reordered())
        if seed % 3 == 2 { try file.trim(through: 10) }
        let note: Comment = "seed \(seed)"
        #expect(try file.verify().problems == [], note)
        let floor = try file.read { try $0.floor() }
        for number in floor.number...25 {
            try compare(shelf, file, asOf: Revision(number), "\(note), as of \(number)")
        }
        try compare(shelf, file, asOf: 25, note)
        // Reverts the commits of the earlier models with the new ones.
        for number in (floor.number + 1...25).reversed() {
            _ = try file.undo(.revert(Revision(number)), .skip)
            #expect(try file.verify().problems == [], "\(note), reverted \(number)")
        }
        try file.trim(through: .max)
        #expect(try file.verify().problems == [], "\(note), trimmed")
    }

    @Test func allChangesAreUndoneByLaterModels() throws {
        let shelf = try Shelf()
        var history = ShelfHistory(seed: 77)
        for _ in 0..<25 { try history.commit(to: shelf, EditNote(author: "a")) }
        let file = try open(shelf, try Self.reordered())
        let owner = UndoOwner(author: "a", scope: nil)
        // A commit that only moved members has no effect any more, and is discarded.
        while try file.read({ try $0.heads(of: owner).undo }) > .zero {
            _ = try file.undo(.undo(owner))
        }
        #expect(try file.objects(asOf: .max) == [:])
        #expect(try file.dump()["members"]?.isEmpty == false)
        #expect(try file.verify().problems == [])
    }

    @Test func linksThatAreRemovedFromTheModelsAreGoneAndTheOthersStay() throws {
        let shelf = try Shelf()
        var history = ShelfHistory(seed: 78)
        for _ in 0..<25 { try history.commit(to: shelf) }
        var origins = SchemaOrigins()
        origins.linkNames["Article.similar"] = "Article.related"
        let schema = try Self.reordered(related: "similar", hasTags: false)
        let comparison = try SchemaComparison(of: Shelf.schema, with: schema, origins)
        #expect(comparison.problems == [])
        #expect(
            comparison.steps == [
                "drops the order of the objects that share a Article.notebook",
                "renames the links Article.related to Article.similar",
                "drops the order of Article.similar", "removes the links Article.tags",
            ])
        let file = try open(shelf, schema, origins)
        #expect(file.schema.links.map(\.name) == ["Article.similar", ""])
        #expect(try file.verify().problems == [])
        for number in 0...25 {
            try compare(shelf, file, asOf: Revision(UInt64(number)), "as of \(number)")
        }
        for number in (1...25).reversed() {
            _ = try file.undo(.revert(Revision(UInt64(number))), .skip)
        }
        #expect(try file.verify().problems == [])
        for number in 1...25 {
            _ = try file.read { try $0.commit(Revision(UInt64(number))).changeSet }
        }
        // Links that are declared again are new ones.
        file.close()
        let again = try StoreFile.open(
            at: shelf.directory.file(), schema: try Self.reordered(related: "similar"), .small())
        #expect(again.schema.links.map(\.name) == ["Article.similar", "", "Article.tags"])
        #expect(try again.verify().problems == [])
        for number in 101...108 {
            #expect(try again.members(of: .article(number), "tags") == [])
        }
        try again.trim(through: .max)
        #expect(try again.verify().problems == [])
    }
}

import Foundation
import StetStore

extension Schema {
    /// The schema of the stores of all campaigns: a property of each type, an array of embedded
    /// values, a counter, indexes of words and of substrings, references within and between
    /// entities, and links with and without an order.
    static let campaign: Schema = {
        do { return try Schema(entities: [article, notebook, tag], links: links) } catch {
            preconditionFailure("the schema of the campaigns: \(error)")
        }
    }()

    private static let article = Entity(
        name: "Article",
        properties: [
            Property(name: "title", type: .string),
            Property(name: "rating", type: .int),
            Property(name: "notebook", type: .reference, isOptional: true, target: "Notebook"),
            Property(name: "body", type: .string, isOptional: true),
            Property(name: "score", type: .double, isOptional: true),
            Property(name: "isDraft", type: .bool, isOptional: true),
            Property(name: "created", type: .date, isOptional: true),
            Property(name: "cover", type: .data, isOptional: true),
            Property(name: "code", type: .uuid, isOptional: true),
            Property(name: "next", type: .reference, isOptional: true, target: "Article"),
            Property(
                name: "tag", type: .reference, isOptional: true, target: "Tag",
                hasPosition: true),
            Property(name: "file", type: .data, isOptional: true, isLarge: true),
            Property(name: "note", type: .string, isOptional: true),
            Property(name: "parts", type: .list, elements: [.embedded]).array(
                of: EmbeddedElements(
                    members: [
                        Property(name: "id", type: .int),
                        Property(name: "text", type: .string, isOptional: true),
                    ], identity: 0)),
            Property(name: "count", type: .int, isCounter: true),
        ],
        indexes: [
            EntityIndex([.init(slot: 0)]),
            EntityIndex([.init(slot: 2), .init(slot: 1)]),
            EntityIndex([.init(slot: 1)]).only(
                where: .comparison(.notEqual, .property(.root, slot: 3), .constant(.null))),
            // Contains random values, which never repeat.
            EntityIndex([.init(slot: 8)], isUnique: true),
            EntityIndex(words: [12]), EntityIndex(substringsOf: 12), EntityIndex([.init(slot: 14)]),
        ],
        relationships: [
            Relationship(
                name: "steps", target: "Article", members: .targets(ofLinks: "Article.steps"),
                isOrdered: true),
            Relationship(name: "tags", target: "Tag", members: .targets(ofLinks: "Article.tags")),
        ])

    private static let notebook = Entity(
        name: "Notebook",
        properties: [
            Property(name: "name", type: .string),
            Property(name: "parent", type: .reference, isOptional: true, target: "Notebook"),
        ])

    private static let tag = Entity(
        name: "Tag", properties: [Property(name: "mark", type: .data)],
        relationships: [
            Relationship(
                name: "articles", target: "Article", members: .references(property: "tag"),
                isOrdered: true),
            Relationship(
                name: "tagged", target: "Article", members: .sources(ofLinks: "Article.tags")),
        ])

    private static let links = [
        LinkType(name: "Article.steps", source: "Article", target: "Article", isOrdered: true),
        LinkType(name: "Article.tags", source: "Article", target: "Tag"),
    ]
}

extension StoreFile {
    /// Commits edits of a workload under a token, after the bytes of their large values.
    func commit(_ edits: [Workload.Edit], base: Revision, token: UInt64) throws -> Commit {
        try LargeContents.write(edits, to: self)
        var changes = ChangeSetBuilder(schema: schema, expectedCount: edits.count)
        for edit in edits {
            let entity = edit.key.entity
            for link in edit.links {
                let previous = try read { try $0.link(link.key).revision }
                changes.append(
                    LinkChange(link.key, before: link.before, after: link.after, previous: previous)
                )
            }
            if edit.old?.values == edit.new { continue }
            let before = edit.old.map { old in
                changes.encode(entity: entity) { $0.write(old.values, of: schema.entities[entity]) }
            }
            let after = edit.new.map { new in
                changes.encode(entity: entity) { $0.write(new, of: schema.entities[entity]) }
            }
            changes.append(
                ChangeSetBuilder.Item(
                    kind: before == nil ? .insert : after == nil ? .delete : .update,
                    entity: entity, id: edit.key.id, base: edit.old?.revision ?? .zero,
                    before: before ?? 0..<0, after: after ?? 0..<0))
        }
        changes.sort()
        return try commit(
            try changes.encoded(
                attributes: CommitAttributes(author: "campaign", scope: nil, label: nil),
                base: base, token: token, time: Date().timeIntervalSinceReferenceDate))
    }
}

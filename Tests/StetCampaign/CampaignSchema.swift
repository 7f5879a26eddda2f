import Foundation
import StetStore

extension Schema {
    /// The schema of the stores of all campaigns: a property of each type, and references within
    /// and between entities.
    static let campaign: Schema = {
        do { return try Schema(entities: [article, notebook, tag]) } catch {
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
            Property(name: "tag", type: .reference, isOptional: true, target: "Tag"),
        ],
        indexes: [
            EntityIndex([.init(slot: 0)]),
            EntityIndex([.init(slot: 2), .init(slot: 1)]),
            // Random: never the same twice.
            EntityIndex([.init(slot: 8)], isUnique: true),
        ])

    private static let notebook = Entity(
        name: "Notebook",
        properties: [
            Property(name: "name", type: .string),
            Property(name: "parent", type: .reference, isOptional: true, target: "Notebook"),
        ])

    private static let tag = Entity(name: "Tag", properties: [Property(name: "mark", type: .data)])
}

extension StoreFile {
    /// Commits edits of a workload under a token.
    func commit(_ edits: [Workload.Edit], base: Revision, token: UInt64) throws -> Commit {
        var changes = NetChanges(schema: schema, expectedCount: edits.count)
        for edit in edits {
            let entity = edit.key.entity
            let before = edit.old.map { old in
                changes.encode(entity: entity) { $0.write(old.values) }
            }
            let after = edit.new.map { new in changes.encode(entity: entity) { $0.write(new) } }
            changes.append(
                NetChanges.Item(
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

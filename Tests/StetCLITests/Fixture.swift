import Foundation
import StetLMDB
import StetStore
import StetTestSupport

/// A store of notebooks and articles, and the objects that it must have.
final class Fixture {
    let directory = TemporaryDirectory()
    let file: StoreFile
    private var states: [ObjectID: (entity: EntityNumber, values: [Value], revision: Revision)] =
        [:]

    var path: String { file.path }

    init(schema: Schema = .notes, durability: Durability? = nil) throws {
        var configuration = StoreFile.Configuration()
        if let durability { configuration.durability = durability }
        file = try StoreFile.open(
            at: directory.file("notes.stet"), schema: schema, configuration)
    }

    deinit { file.close() }

    /// Commits new values of objects, nil for those that are deleted.
    @discardableResult
    func commit(
        _ edits: [(entity: EntityNumber, id: ObjectID, values: [Value]?)], author: String? = nil,
        label: String? = nil, time: Double = 0
    ) throws -> Commit {
        var changes = ChangeSetBuilder(schema: file.schema)
        for edit in edits {
            let old = states[edit.id]
            let before = old.map { old in
                changes.encode(entity: edit.entity) {
                    $0.write(old.values, of: file.schema.entities[edit.entity])
                }
            }
            let after = edit.values.map { values in
                changes.encode(entity: edit.entity) {
                    $0.write(values, of: file.schema.entities[edit.entity])
                }
            }
            changes.append(
                ChangeSetBuilder.Item(
                    kind: before == nil ? .insert : after == nil ? .delete : .update,
                    entity: edit.entity, id: edit.id, base: old?.revision ?? .zero,
                    before: before ?? 0..<0, after: after ?? 0..<0))
        }
        changes.sort()
        let commit = try file.commit(
            try changes.encoded(
                attributes: CommitAttributes(author: author, label: label), base: .zero, token: 7,
                time: time))
        for edit in edits {
            states[edit.id] = edit.values.map { (edit.entity, $0, commit.revision) }
        }
        return commit
    }

    /// Articles with bodies of this size, numbers from `first`.
    func commitArticles(_ count: Int, first: Int = 1_000, byteCount: Int = 600) throws {
        try commit(
            (first..<first + count).map { number in
                (
                    1, .fixed(number),
                    [
                        .string(String(repeating: "x", count: byteCount)), .int(number), .null,
                        .null, .null, .null, .null, .null,
                    ]
                )
            })
    }
}

extension Schema {
    /// Two entities with a property of each type; `Article` is number 1.
    static let notes: Schema = {
        do {
            return try Schema(entities: [
                Entity(
                    name: "Article",
                    properties: [
                        Property(
                            name: "title", type: .string,
                            rules: [.length(minimum: 1, maximum: 25)]),
                        Property(name: "rating", type: .int),
                        Property(name: "score", type: .double, isOptional: true),
                        Property(name: "isDraft", type: .bool, isOptional: true),
                        Property(name: "created", type: .date, isOptional: true),
                        Property(name: "cover", type: .data, isOptional: true),
                        Property(name: "code", type: .uuid, isOptional: true),
                        Property(
                            name: "notebook", type: .reference, isOptional: true,
                            target: "Notebook"),
                    ]),
                Entity(name: "Notebook", properties: [Property(name: "name", type: .string)]),
            ])
        } catch {
            preconditionFailure("the schema of the tests: \(error)")
        }
    }()
}

extension ObjectID {
    /// An id that is the same in every run.
    static func fixed(_ number: Int) -> ObjectID {
        ObjectID(high: 0x0190_0000_0000_7000, low: 1 << 63 | UInt64(number))
    }
}

import StetStore
import Testing

@testable import Stet

extension Store {
    /// Commits other values of a saved object, which nothing has sealed, derived or checked.
    func commitUnchecked<M: Model>(
        _ object: M, _ change: (inout [Value]) throws -> Void
    ) throws {
        let number = try #require(file.schema.number(ofEntity: M._$name))
        let entity = file.schema.entities[number]
        let context = context()
        let stored = try #require(try context.object(M.self, id: object.id))
        let before = try stored._$body()
        var values = try before.values(of: entity)
        try change(&values)
        let after = try EncodedBody(values, of: entity)
        var changes = ChangeSetBuilder(schema: file.schema)
        changes.append(
            ChangeSetBuilder.Item(
                kind: .update, entity: number, id: object.id, base: stored._$revision,
                before: before.bytes.withUnsafeBytes { changes.copy($0) },
                after: after.bytes.withUnsafeBytes { changes.copy($0) }))
        let revision = try revision()
        let set = try changes.encoded(
            attributes: CommitAttributes(), base: revision, token: try file.token(at: revision),
            time: 0)
        _ = try file.submit(set).wait()
    }
}

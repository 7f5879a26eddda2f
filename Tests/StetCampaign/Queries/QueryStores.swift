import Foundation
import StetLMDB
import StetStore
import StetTestSupport

/// Stores with the same contents and different indexes, and the state that a context sees of them.
final class QueryStores {
    /// A store, and the memberships that queries see.
    private struct Opened {
        let file: StoreFile
        let state: WorkingState
    }

    private let directory = TemporaryDirectory()
    private let revision: Revision
    /// The pending changes by entity.
    private let pending: [EntityNumber: [ObjectID: EncodedBody?]]
    private var stores: [Opened] = []

    /// Creates stores whose commits lead through `worlds` in order; queries see `seen` on top of
    /// the one at `base`.
    init(
        _ worlds: [QueryWorld], base: Int, seen: QueryWorld, _ random: inout SeededGenerator
    ) throws {
        revision = Revision(UInt64(base + 1))
        let schemas = try Self.schemas(&random)
        pending = try Self.pending(seen, worlds[base], schemas[0])
        for (place, schema) in schemas.enumerated() {
            let file = try Self.open(directory.file("\(place).stet"), schema)
            var last = QueryWorld()
            var revisions: [ObjectID: Revision] = [:]
            for world in worlds {
                try Self.commit(world, last, file, &revisions)
                last = world
            }
            let state = WorkingState(schema, at: revision)
            Self.change(state, from: worlds[base], to: seen)
            stores.append(Opened(file: file, state: state))
        }
    }

    deinit {
        for store in stores { store.file.close() }
    }

    var count: Int { stores.count }

    /// Calls `body` with the state that a query sees of a store.
    func read<Result>(_ place: Int, _ body: (QueryState) throws -> Result) throws -> Result {
        let store = stores[place]
        let view = QueryState.View(store.state, pending: { [pending] in pending[$0] ?? [:] })
        return try store.file.read { reader in try body(QueryState(reader, view)) }
    }

    /// Returns the body of an object as in a record.
    static func body(_ values: [Value], _ entity: EntityNumber, _ schema: Schema) -> [UInt8] {
        var encoding = ChangeSetBuilder(schema: schema)
        let range = encoding.encode(values, entity: entity)
        return Array(encoding.body(range))
    }

    func body(_ values: [Value], _ entity: EntityNumber) -> [UInt8] {
        Self.body(values, entity, stores[0].file.schema)
    }

    // MARK: Preparing

    /// Returns schemas without an index, with one each, with about half of all, and with all.
    private static func schemas(_ random: inout SeededGenerator) throws -> [Schema] {
        let (samples, boxes) = (QuerySchema.sampleIndexes, QuerySchema.boxIndexes)
        return try [
            QuerySchema.schema(ofSamples: [], ofBoxes: []),
            QuerySchema.schema(ofSamples: [random.pick(samples)], ofBoxes: [random.pick(boxes)]),
            QuerySchema.schema(
                ofSamples: samples.filter { _ in random.chance(2) },
                ofBoxes: boxes.filter { _ in random.chance(2) }),
            QuerySchema.schema(ofSamples: samples, ofBoxes: boxes),
        ]
    }

    /// Opens a store without syncs: the campaign tests the results, not their durability.
    private static func open(_ path: String, _ schema: Schema) throws -> StoreFile {
        var sizes = StoreFile.Configuration()
        sizes.mapByteCount = 256 << 20
        try StoreFile.open(at: path, schema: schema, sizes).close()
        var configuration = Environment.Configuration()
        configuration.skipsSync = true
        configuration.mapByteCount = sizes.mapByteCount
        let environment = try Environment.open(at: path, configuration)
        let file = try withExtendedLifetime(environment) {
            try StoreFile.open(at: path, schema: schema, sizes)
        }
        for value in LargeContents.few { try LargeContents.write(value, to: file) }
        return file
    }

    private static func commit(
        _ world: QueryWorld, _ last: QueryWorld, _ file: StoreFile,
        _ revisions: inout [ObjectID: Revision]
    ) throws {
        let base = try file.read { try $0.head().revision }
        var changes = ChangeSetBuilder(schema: file.schema)
        for link in last.links.symmetricDifference(world.links) {
            let (wasPresent, isPresent) = (last.links.contains(link), world.links.contains(link))
            changes.append(
                LinkChange(
                    link, before: wasPresent ? .present(nil) : .absent,
                    after: isPresent ? .present(nil) : .absent,
                    previous: try file.read { try $0.link(link).revision }))
        }
        for entity in [QuerySchema.box, QuerySchema.sample] {
            let (old, new) = (last.values(entity), world.values(entity))
            for id in Set(old.keys).union(new.keys).sorted() {
                // The engine computes derived values itself.
                let underived = new[id].map { Self.replacingDerived(in: $0, by: old[id], entity) }
                if old[id] == underived { continue }
                let before = old[id].map { changes.encode($0, entity: entity) }
                let after = underived.map { changes.encode($0, entity: entity) }
                changes.append(
                    ChangeSetBuilder.Item(
                        kind: before == nil ? .insert : after == nil ? .delete : .update,
                        entity: entity, id: id, base: revisions[id] ?? .zero,
                        before: before ?? 0..<0, after: after ?? 0..<0))
            }
        }
        try file.read { try changes.derive($0, at: base) }
        for item in changes.items { revisions[item.id] = base.next }
        changes.sort()
        _ = try file.commit(
            try changes.encoded(
                attributes: CommitAttributes(author: "campaign", scope: nil, label: nil),
                base: base, token: base.number, time: Double(base.number + 1)))
    }

    private static func replacingDerived(
        in values: [Value], by old: [Value]?, _ entity: EntityNumber
    ) -> [Value] {
        var values = values
        if entity == QuerySchema.sample {
            values[QuerySchema.boxRank] = old?[QuerySchema.boxRank] ?? .null
        }
        return values
    }

    /// Returns pending changes as a context encodes them; some of them are in the store already.
    private static func pending(
        _ seen: QueryWorld, _ base: QueryWorld, _ schema: Schema
    ) throws -> [EntityNumber: [ObjectID: EncodedBody?]] {
        var pending: [EntityNumber: [ObjectID: EncodedBody?]] = [:]
        for entity in schema.entities.numbers {
            let (old, new) = (base.values(entity), seen.values(entity))
            for id in Set(old.keys).union(new.keys).sorted()
            where new[id] == nil || seen.edited.contains(id) {
                pending[entity, default: [:]].updateValue(
                    try new[id].map { try EncodedBody($0, of: schema.entities[entity]) }, forKey: id
                )
            }
        }
        return pending
    }

    /// Updates the lists of members, as a context does.
    private static func change(
        _ state: WorkingState, from base: QueryWorld, to seen: QueryWorld
    ) {
        let schema = state.schema
        for entity in schema.entities.numbers {
            let (old, new) = (base.values(entity), seen.values(entity))
            for id in Set(old.keys).union(new.keys) where old[id] != new[id] {
                if new[id] == nil { state.pending.deleted.insert(ObjectKey(entity, id)) }
                for end in schema.referenceEnds(ofMember: entity) {
                    let (before, after) = (old[id]?[end.slot], new[id]?[end.slot])
                    if before == after { continue }
                    if let owner = before?.target {
                        state.pending.members.set(.absent, of: id, in: owner, at: end)
                    }
                    if let after, let owner = after.target {
                        let membership = Membership.present(after.position)
                        state.pending.members.set(membership, of: id, in: owner, at: end)
                    }
                }
            }
        }
        guard let ends = schema.ends(ofLink: QuerySchema.links) else { return }
        for link in base.links.symmetricDifference(seen.links) {
            let membership = seen.links.contains(link) ? Membership.present(nil) : .absent
            state.pending.members.set(
                membership, of: link.target, in: link.source, at: ends.targets)
            state.pending.members.set(
                membership, of: link.source, in: link.target, at: ends.sources)
        }
    }
}

extension Value {
    /// The position of an object among the members to which it belongs by a reference.
    fileprivate var position: ListPosition? {
        if case .placed(_, let position) = self { position } else { nil }
    }
}

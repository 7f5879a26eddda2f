import Foundation
import StetLMDB
import StetStore
import StetTestSupport

/// Stores with the same contents and different indexes, and what a context sees of them.
final class QueryStores {
    /// A store, and what has changed in it since the revision that queries see.
    private struct Opened {
        let file: StoreFile
        let later: [Int: Set<ObjectID>]
    }

    private let directory = TemporaryDirectory()
    private let revision: Revision
    /// What is pending, by entity.
    private let pending: [Int: [ObjectID: [UInt8]?]]
    private var stores: [Opened] = []

    /// `worlds` are what the commits have made, one after the other; queries see `seen` on top of
    /// the one at `base`.
    init(
        _ worlds: [QueryWorld], base: Int, seen: QueryWorld, _ random: inout SeededGenerator
    ) throws {
        revision = Revision(UInt64(base + 1))
        let schemas = try Self.schemas(&random)
        pending = Self.pending(seen, worlds[base], schemas[0], &random)
        for (place, schema) in schemas.enumerated() {
            let file = try Self.open(directory.file("\(place).stet"), schema)
            var last = QueryWorld()
            var revisions: [ObjectID: Revision] = [:]
            for world in worlds {
                try Self.commit(world, last, file, &revisions)
                last = world
            }
            stores.append(
                Opened(file: file, later: try Self.later(file, behind: revision)))
        }
    }

    deinit {
        for store in stores { store.file.close() }
    }

    var count: Int { stores.count }

    /// Calls `body` with what a query sees of a store.
    func read<Result>(_ place: Int, _ body: (QueryState) throws -> Result) throws -> Result {
        let store = stores[place]
        let view = QueryState.View(
            revision: revision, pending: { [pending] in pending[$0] ?? [:] },
            later: { _, entity in store.later[entity] ?? [] })
        return try store.file.read { reader in try body(QueryState(reader, view)) }
    }

    /// The body of an object as a record has it.
    static func body(_ values: [Value], _ entity: Int, _ schema: Schema) -> [UInt8] {
        var encoding = NetChanges(schema: schema)
        let range = encoding.encode(entity: entity) { $0.write(values) }
        return Array(encoding.body(range))
    }

    func body(_ values: [Value], _ entity: Int) -> [UInt8] {
        Self.body(values, entity, stores[0].file.schema)
    }

    // MARK: Preparing

    /// Without an index, with one each, with about half of all, with all.
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

    /// Not synced: what is asked is what is found, not whether it is on the disk.
    private static func open(_ path: String, _ schema: Schema) throws -> StoreFile {
        var sizes = StoreFile.Configuration()
        sizes.mapByteCount = 256 << 20
        try StoreFile.open(at: path, schema: schema, sizes).close()
        var configuration = Environment.Configuration()
        configuration.skipsSync = true
        configuration.mapByteCount = sizes.mapByteCount
        let environment = try Environment.open(at: path, configuration)
        return try withExtendedLifetime(environment) {
            try StoreFile.open(at: path, schema: schema, sizes)
        }
    }

    private static func commit(
        _ world: QueryWorld, _ last: QueryWorld, _ file: StoreFile,
        _ revisions: inout [ObjectID: Revision]
    ) throws {
        let base = try file.read { try $0.head().revision }
        var changes = NetChanges(schema: file.schema)
        for entity in [QuerySchema.box, QuerySchema.link, QuerySchema.sample] {
            let (old, new) = (last.values(entity), world.values(entity))
            for id in Set(old.keys).union(new.keys).sorted() where old[id] != new[id] {
                let before = old[id].map { values in
                    changes.encode(entity: entity) { $0.write(values) }
                }
                let after = new[id].map { values in
                    changes.encode(entity: entity) { $0.write(values) }
                }
                changes.append(
                    NetChanges.Item(
                        kind: before == nil ? .insert : after == nil ? .delete : .update,
                        entity: entity, id: id, base: revisions[id] ?? .zero,
                        before: before ?? 0..<0, after: after ?? 0..<0))
                revisions[id] = base.next
            }
        }
        changes.sort()
        _ = try file.commit(
            try changes.encoded(
                attributes: CommitAttributes(author: "campaign", scope: nil, label: nil),
                base: base, token: base.number, time: Double(base.number + 1)))
    }

    /// As a context encodes it; some of it is what the store has anyway.
    private static func pending(
        _ seen: QueryWorld, _ base: QueryWorld, _ schema: Schema, _ random: inout SeededGenerator
    ) -> [Int: [ObjectID: [UInt8]?]] {
        var pending: [Int: [ObjectID: [UInt8]?]] = [:]
        let isEdited = [QuerySchema.box, QuerySchema.link, QuerySchema.sample]
            .contains { seen.values($0) != base.values($0) }
        for entity in 1...schema.entities.count {
            let (old, new) = (base.values(entity), seen.values(entity))
            for id in Set(old.keys).union(new.keys).sorted() {
                let isTouched = isEdited && random.chance(20)
                guard old[id] != new[id] || isTouched else { continue }
                pending[entity, default: [:]].updateValue(
                    new[id].map { body($0, entity, schema) }, forKey: id)
            }
        }
        return pending
    }

    /// What a context learns from the journal.
    private static func later(
        _ file: StoreFile, behind revision: Revision
    ) throws -> [Int: Set<ObjectID>] {
        try file.read { reader in
            var objects: [Int: Set<ObjectID>] = [:]
            var next = revision.next
            while next <= (try reader.head().revision) {
                try reader.forEachTouchedObject(of: next) { entity, id, _ in
                    objects[entity, default: []].insert(id)
                }
                next = next.next
            }
            return objects
        }
    }
}

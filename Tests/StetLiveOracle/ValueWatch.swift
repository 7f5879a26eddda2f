import Stet
import StetStore

/// A live value, and the value that its observer has seen.
struct ValueWatch {
    enum Kind: CaseIterable {
        case count, sum, least, greatest, average
    }

    let text: String
    /// Polls the live value; returns nil if it has not changed.
    private let poll: () throws -> String?
    private let count: () -> LiveQueryStatistics
    /// Returns the value that the query returns when it is run afresh.
    private let compute: () throws -> String
    private var seen: String?

    init(
        _ store: Store, _ fetch: SnapshotFetch<LiveSample>, _ kind: Kind, _ number: QueryNode
    ) throws {
        text = try "\(kind) of \(number): \(fetch.explain())"
        let live = store.observe(fetch)
        let value = QueryExpression<Int?>(number)
        switch kind {
        case .count:
            (poll, count) = Self.poll(live.count)
            compute = { "\(try fetch.count())" }
        case .sum:
            (poll, count) = Self.poll(live.sum { _ in value })
            compute = { "\(try fetch.sum { _ in value })" }
        case .least:
            (poll, count) = Self.poll(live.min { _ in value })
            compute = { "\(try fetch.min { _ in value } as Int?)" }
        case .greatest:
            (poll, count) = Self.poll(live.max { _ in value })
            compute = { "\(try fetch.max { _ in value } as Int?)" }
        case .average:
            (poll, count) = Self.poll(live.average { _ in value })
            compute = { "\(try fetch.average { _ in value } as Double?)" }
        }
    }

    private static func poll<Value>(
        _ live: LiveValue<LiveSample, Value>
    ) -> (poll: () throws -> String?, count: () -> LiveQueryStatistics) {
        var iterator = live.makeAsyncIterator()
        return ({ try iterator.poll().map { "\($0.value)" } }, { live.statistics })
    }

    var statistics: LiveQueryStatistics { count() }

    /// Follows the commits, and returns a description of a difference from the query run afresh.
    mutating func follow() throws -> String? {
        let fresh = Result { try compute() }
        do {
            let value = try poll()
            if let value, value == seen { return "\(value) is told twice" }
            seen = value ?? seen
            let expected = try fresh.get()
            return seen == expected ? nil : "\(seen ?? "nothing") is not \(expected)"
        } catch let error as QueryError {
            // Both report the same overflow of a sum.
            if case .failure(let other as QueryError) = fresh, other == error { return nil }
            return "it threw \(error)"
        }
    }
}

/// A live object, and the state that its observer has seen.
struct ObjectWatch {
    private let store: Store
    private let id: ObjectID
    private var iterator: LiveObject<LiveSample>.Iterator
    private var seen: LiveSample.Snapshot??

    init(_ store: Store, _ id: ObjectID) {
        self.store = store
        self.id = id
        iterator = store.observe(LiveSample.self, id: id).makeAsyncIterator()
    }

    /// Follows the commits, and returns a description of a difference from the object in the store.
    mutating func follow() throws -> String? {
        let fresh = try store.fetch(LiveSample.self) { [id] in $0.id == id }.first()
        if let update = try iterator.poll() {
            if update.changes.isEmpty != update.commits.isEmpty {
                return "\(update.commits.count) commits have \(update.changes.count) changes"
            }
            seen = .some(update.snapshot)
        }
        guard let seen else { return "there is no first update" }
        return "\(seen as Any)" == "\(fresh as Any)" ? nil : "\(seen as Any) is not \(fresh as Any)"
    }
}

/// The members of an object, and the list that their observer has seen.
struct MemberWatch {
    enum Kind: CaseIterable {
        case box, shelf, others, tags
    }

    let text: String
    private let poll: () throws -> (ids: [ObjectID], update: Update)?
    /// Returns the members, read afresh, as text.
    private let compute: () throws -> [(id: ObjectID, text: String)]
    private var seen: [(id: ObjectID, text: String)]?

    /// An update without its type.
    struct Update {
        let texts: [String]
        let difference: CollectionDifference<ObjectID>
        let updated: [ObjectID]
    }

    init(_ store: Store, _ kind: Kind, of id: ObjectID) {
        text = "\(kind) of \(id)"
        switch kind {
        case .box: (poll, compute) = Self.watch(store, id, LiveBox.self, \.samples)
        case .shelf: (poll, compute) = Self.watch(store, id, LiveBox.self, \.shelf)
        case .others: (poll, compute) = Self.watch(store, id, LiveSample.self, \.others)
        case .tags: (poll, compute) = Self.watch(store, id, LiveSample.self, \.tags)
        }
    }

    private static func watch<M: Model, Member: Model>(
        _ store: Store, _ id: ObjectID, _ type: M.Type,
        _ relationship: @escaping @Sendable (M.Fields) -> ToManyField<Member>
    ) -> (
        poll: () throws -> (ids: [ObjectID], update: Update)?,
        compute: () throws -> [(id: ObjectID, text: String)]
    ) {
        var iterator = store.observe(membersOf: id, in: type, relationship).makeAsyncIterator()
        let poll: () throws -> (ids: [ObjectID], update: Update)? = {
            try iterator.poll().map { update in
                (
                    update.result.ids,
                    Update(
                        texts: update.result.map { "\($0)" }, difference: update.difference,
                        updated: update.updatedObjects.map(\.id))
                )
            }
        }
        return (
            poll,
            {
                try store.view(asOf: store.revision()).members(of: id, in: type, relationship)
                    .map { ($0.id, "\($0)") }
            }
        )
    }

    /// Follows the commits, and returns a description of a difference from the members in the
    /// store.
    mutating func follow() throws -> String? {
        let fresh = try compute()
        guard let (ids, update) = try poll() else {
            guard let seen else { return "there is no first update" }
            return seen.elementsEqual(fresh, by: ==) ? nil : "nothing is told of \(fresh)"
        }
        let before = seen ?? []
        seen = fresh
        if ids != fresh.map(\.id) || update.texts != fresh.map(\.text) {
            return "\(ids) are not \(fresh)"
        }
        if before.map(\.id).applying(update.difference) != ids { return "the difference is wrong" }
        let texts = Dictionary(uniqueKeysWithValues: before.map { ($0.id, $0.text) })
        let changed = fresh.filter { texts[$0.id].map { [text = $0.text] in $0 != text } ?? false }
        // Values that were changed and changed back are reported, too.
        return Set(changed.map(\.id)).isSubset(of: update.updated)
            ? nil : "\(update.updated) are told of as updated, not \(changed)"
    }
}

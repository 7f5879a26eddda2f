import Stet
import StetStore

/// A live query, and the result that its observer has seen, replayed from differences and updates.
struct LiveWatch<M: Model> {
    /// A description of the query.
    let text: String
    private let fetch: SnapshotFetch<M>
    private let query: LiveQuery<M>
    private var iterator: LiveQuery<M>.Iterator
    private let readsOthers: Bool
    private let hasPage: Bool
    private var hasBegun = false
    private var seen: [M.Snapshot] = []

    init(
        _ store: Store, _ fetch: SnapshotFetch<M>, readsOthers: Bool, hasPage: Bool,
        spareCount: Int?
    ) throws {
        text = try fetch.explain().split(separator: "\n").joined(separator: "; ")
        self.fetch = fetch
        self.readsOthers = readsOthers
        self.hasPage = hasPage
        var query = store.observe(fetch)
        query.spareCount = spareCount
        self.query = query
        iterator = query.makeAsyncIterator()
    }

    var statistics: LiveQueryStatistics { query.statistics }

    /// Follows the commits, and returns a description of a difference from the query run afresh.
    mutating func follow(_ head: Revision) throws -> String? {
        let fresh = try fetch.all()
        guard let update = try iterator.poll() else {
            if !hasBegun { return "there is no first result" }
            return isSame(seen, fresh) ? nil : "nothing is told of \(names(seen)) → \(names(fresh))"
        }
        defer {
            hasBegun = true
            seen = fresh
        }
        if update.revision != head { return "it shows \(update.revision), not \(head)" }
        if update.result.ids != fresh.map(\.id) {
            return "the result is \(update.result.ids), not \(names(fresh))"
        }
        if !isSame(update.result.snapshots, fresh) || !isSame(Array(update.result), fresh) {
            return "the result has other values"
        }
        return try differenceProblem(update, fresh) ?? updateProblem(update, fresh)
    }

    private func differenceProblem(
        _ update: QueryUpdate<M>, _ fresh: [M.Snapshot]
    ) throws -> String? {
        let (old, new) = (seen.map(\.id), fresh.map(\.id))
        guard let applied = old.applying(update.difference), applied == new else {
            return "the difference does not lead from \(old) to \(new): \(update.difference)"
        }
        let inserted = Set(new).subtracting(old)
        var moved: Set<ObjectID> = []
        for case .insert(let offset, let id, let origin) in update.difference {
            if inserted.contains(id) != (origin == nil) {
                return "\(id) at \(offset) is \(origin == nil ? "not " : "")told as a move"
            }
            if origin != nil { moved.insert(id) }
        }
        let common = Set(new).subtracting(inserted)
        if !moved.isEmpty, old.filter(common.contains) == new.filter(common.contains) {
            return "\(moved) are told to have moved, and have not"
        }
        return nil
    }

    private func updateProblem(_ update: QueryUpdate<M>, _ fresh: [M.Snapshot]) -> String? {
        let before = Dictionary(uniqueKeysWithValues: seen.map { ($0.id, $0) })
        var told: Set<ObjectID> = []
        for object in update.updatedObjects {
            told.insert(object.id)
            guard seen.indices.contains(object.oldIndex), seen[object.oldIndex].id == object.id,
                fresh.indices.contains(object.newIndex), fresh[object.newIndex].id == object.id
            else { return "\(object.id) is updated at \(object.oldIndex) → \(object.newIndex)" }
            if object.changes.isEmpty != update.commits.isEmpty {
                return "\(object.id) is updated by \(object.changes.count) changes"
            }
        }
        let changed = fresh.filter { snapshot in
            before[snapshot.id].map { !isSame([$0], [snapshot]) } ?? false
        }
        let missing = Set(changed.map(\.id)).subtracting(told)
        return missing.isEmpty ? nil : "\(missing) were updated, which is not told"
    }

    /// Returns a description of an unexpected value in the statistics.
    func statisticsProblem(hasTrimmed: Bool) -> String? {
        for (reason, count) in statistics.rerunCounts {
            let isExpected =
                switch reason {
                case "there is no result yet": count == 1
                case "too many objects have left the page": hasPage
                case "commits were trimmed before they were seen": hasTrimmed
                default: readsOthers && reason.hasPrefix("the query reads ")
                }
            if !isExpected { return "it has run \(count) times: \(reason)" }
        }
        return nil
    }

    /// Returns whether two results are equal; NaN counts as equal to itself.
    private func isSame(_ one: [M.Snapshot], _ other: [M.Snapshot]) -> Bool {
        one == other || "\(one)" == "\(other)"
    }

    private func names(_ snapshots: [M.Snapshot]) -> String { "\(snapshots.map(\.id))" }
}

import Stet
import StetStore
import StetTestSupport

/// A context with random edits, saves, rollbacks and merges, and observed queries of it, whose
/// updates must lead to the results of the queries run afresh, without a missing update.
package struct ContextQueryTrial {
    private static let queryCount = 6
    private static let roundCount = 24

    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext
    private var nodes: LiveNodes
    private var edits: LiveEdits
    private var watches: [ContextWatch] = []
    private var random: SeededGenerator

    /// Creates a separate trial for each pair of a seed and a stream.
    package init(seed: UInt64, stream: Int) throws {
        var random = SeededGenerator(seed: seed, stream: stream)
        store = try Store.open(
            at: directory.file(), for: LiveBox.self, LiveSample.self, LiveTag.self)
        nodes = LiveNodes(store.file.schema, SeededGenerator(seed: random.next()))
        edits = try LiveEdits(store, SeededGenerator(seed: random.next()))
        context = store.context(author: "observed")
        context.mergePolicy = nodes.pick([.fail, .mergeContextWins, .mergeStoreWins])
        self.random = random
    }

    /// Runs the trial, and returns a description of the first difference, or nil if there is none.
    package mutating func run(_ counts: inout LiveQueryTrial.Counts) throws -> String? {
        for _ in 0..<Self.queryCount { watches.append(try watch()) }
        for round in 0..<Self.roundCount {
            let action = round == 0 ? "nothing" : try step()
            let isLast = round == Self.roundCount - 1
            for place in watches.indices where isLast || round == 0 || !nodes.chance(3) {
                counts.contextPairs += 1
                if let problem = try watches[place].follow() {
                    return "round \(round), after \(action), \(watches[place].text): \(problem)"
                }
            }
        }
        return nil
    }

    /// Does something that may change a result, and returns its description.
    private mutating func step() throws -> String {
        switch Int.random(in: 0..<14, using: &random) {
        case 0:
            try save()
            return "a save"
        case 1:
            context.rollback()
            return "a rollback"
        case 2, 3:
            try commitElsewhere()
            do { try context.refresh() } catch is ConflictError {}
            return "a refresh"
        case 4:
            try commitElsewhere()
            return "a commit of others"
        case 5:
            _ = try? context.edit {
                try edits.edit(context)
                throw Refused()
            }
            return "an edit that failed"
        case 6:
            try save()
            _ = try? store.undo(author: "observed", policy: .skip)
            try context.refresh()
            return "an undo"
        default:
            for _ in 0..<nodes.pick([1, 1, 2, 3]) { try edits.edit(context) }
            return "edits"
        }
    }

    private struct Refused: Error {}

    /// A commit of others; the context follows where its revision was trimmed, since it cannot be
    /// asked any longer then.
    private mutating func commitElsewhere() throws {
        try edits.step()
        guard try store.floor() > context.revision else { return }
        do { try context.refresh() } catch is ConflictError {
            context.rollback()
            try context.refresh()
        }
    }

    private func save() throws {
        do { try context.save() } catch is ConflictError { context.rollback() }
    }

    private mutating func watch() throws -> ContextWatch {
        let condition =
            nodes.chance(5)
            ? QueryNode.everything : nodes.condition("LiveSample", ownOnly: nodes.chance(2))
        var fetch = context.fetch(LiveSample.self) { _ in QueryExpression<Bool>(condition) }
        if nodes.chance(5) { fetch = fetch.matching(nodes.pick(LiveNodes.searches)) }
        fetch = fetch.sorted(by: nodes.order("LiveSample", ownOnly: nodes.chance(2)))
        if nodes.chance(4) { fetch = fetch.limit(nodes.pick([1, 2, 5])) }
        return try ContextWatch(context, fetch)
    }
}

/// An observed query of a context, and the result that its observer has seen.
private struct ContextWatch {
    let text: String
    private let context: ManagedContext
    private let fetch: Fetch<LiveSample>
    private var iterator: ContextQuery<LiveSample>.Iterator
    private var seen: [(id: ObjectID, text: String)]?

    init(_ context: ManagedContext, _ fetch: Fetch<LiveSample>) throws {
        text = try fetch.explain().split(separator: "\n").joined(separator: "; ")
        self.context = context
        self.fetch = fetch
        iterator = context.observe(fetch).makeAsyncIterator()
    }

    /// Follows the changes, and returns a description of a difference from the query run afresh.
    mutating func follow() throws -> String? {
        let fresh = try fetch.all().map { (id: $0.id, text: values(of: $0)) }
        guard let update = try iterator.poll() else {
            guard let seen else { return "there is no first update" }
            return seen.elementsEqual(fresh, by: ==)
                ? nil : "nothing is told of \(seen) → \(fresh)"
        }
        let before = seen ?? []
        seen = fresh
        if update.revision != context.revision { return "it shows \(update.revision)" }
        if update.objects.map(\.id) != fresh.map(\.id) {
            return "the result is \(update.objects.map(\.id)), not \(fresh)"
        }
        if before.map(\.id).applying(update.difference) != fresh.map(\.id) {
            return "the difference is wrong"
        }
        let texts = Dictionary(uniqueKeysWithValues: before.map { ($0.id, $0.text) })
        let changed = fresh.filter { object in
            texts[object.id].map { $0 != object.text } ?? false
        }
        // Objects whose position in a list changed are reported, too.
        return Set(changed.map(\.id)).isSubset(of: update.updatedObjects)
            ? nil : "\(update.updatedObjects) are told of as updated, not \(changed)"
    }

    private func values(of sample: LiveSample) -> String {
        let numbers = "\(sample.number) \(sample.small) \(sample.whole) \(sample.real)"
        let options = "\(sample.size as Any) \(sample.note as Any) \(sample.flag) \(sample.price)"
        let references = [sample.box?.id, sample.shelf?.id, sample.next?.id]
        return "\(numbers) \(options) \(sample.text) \(sample.date) \(references)"
    }
}

import Stet
import StetStore
import StetTestSupport

/// A store with random commits, and live queries that are asked for at random: what their updates
/// lead to is what the queries give anew.
package struct LiveQueryTrial {
    /// The pairs of a query and commits that one trial compares, about.
    package static let pairCount = 400
    private static let queryCount = 25
    private static let roundCount = 20

    /// The pairs that were compared, and how results were found.
    package struct Counts: Sendable {
        package var pairs = 0
        package var updates = 0
        package var steps = 0
        package var reruns = 0

        package init() {}
    }

    private let directory = TemporaryDirectory()
    private let store: Store
    private var nodes: LiveNodes
    private var edits: LiveEdits
    private var samples: [LiveWatch<LiveSample>] = []
    private var boxes: [LiveWatch<LiveBox>] = []
    private var random: SeededGenerator

    /// A trial of its own for each pair of a seed and a stream.
    package init(seed: UInt64, stream: Int) throws {
        var random = SeededGenerator(seed: seed, stream: stream)
        store = try Store.open(
            at: directory.file(), for: LiveBox.self, LiveSample.self, LiveTag.self)
        nodes = LiveNodes(store.file.schema, SeededGenerator(seed: random.next()))
        edits = try LiveEdits(store, SeededGenerator(seed: random.next()))
        self.random = random
    }

    /// Compares; returns the first difference in words, or nil when there is none.
    package mutating func run(_ counts: inout Counts) throws -> String? {
        for number in 0..<Self.queryCount {
            if number % 6 == 5 {
                boxes.append(try watch(LiveBox.self, "LiveBox", number))
            } else {
                samples.append(try watch(LiveSample.self, "LiveSample", number))
            }
        }
        for round in 0..<Self.roundCount {
            if round > 0 {
                for _ in 0..<Int.random(in: 1...3, using: &random) { try edits.step() }
            }
            let head = try store.revision()
            // Some observers are slow, and see several commits at once.
            let isLast = round == Self.roundCount - 1
            for place in samples.indices where isLast || round == 0 || !nodes.chance(4) {
                counts.pairs += 1
                if let problem = try samples[place].follow(head) {
                    return "round \(round), \(samples[place].text): \(problem)"
                }
            }
            for place in boxes.indices where isLast || round == 0 || !nodes.chance(4) {
                counts.pairs += 1
                if let problem = try boxes[place].follow(head) {
                    return "round \(round), \(boxes[place].text): \(problem)"
                }
            }
        }
        let all =
            samples.map { ($0.text, $0.statistics, $0.statisticsProblem(hasTrimmed: hasTrimmed)) }
            + boxes.map { ($0.text, $0.statistics, $0.statisticsProblem(hasTrimmed: hasTrimmed)) }
        for (text, statistics, problem) in all {
            if let problem { return "\(text): \(problem)" }
            counts.updates += statistics.updateCount
            counts.steps += statistics.incrementalStepCount
            counts.reruns += statistics.rerunCount
        }
        return nil
    }

    private var hasTrimmed: Bool { edits.hasTrimmed }

    private mutating func watch<M: Model>(
        _ type: M.Type, _ entity: String, _ number: Int
    ) throws -> LiveWatch<M> {
        nodes.readsOthers = false
        let ownOnly = number % 2 == 0
        let condition =
            nodes.chance(5) ? QueryNode.everything : nodes.condition(entity, ownOnly: ownOnly)
        var fetch = store.fetch(type) { _ in QueryExpression<Bool>(condition) }
        for (place, order) in nodes.order(entity, ownOnly: ownOnly).enumerated() {
            let direction: SortDirection = order.isDescending ? .descending : .ascending
            let value = QueryExpression<Int>(order.node)
            fetch =
                place == 0
                ? fetch.sorted(by: { _ in value }, direction)
                : fetch.then(by: { _ in value }, direction)
        }
        var hasPage = false
        if nodes.chance(3) {
            fetch = fetch.limit(nodes.pick([0, 1, 2, 5, 20]))
            hasPage = true
        }
        if nodes.chance(5) {
            fetch = fetch.offset(nodes.pick([1, 3, 10]))
            hasPage = true
        }
        if nodes.chance(6),
            let position = try store.fetch(type).snapshots.randomElement(using: &random)
        {
            fetch = fetch.after(position)
        }
        return try LiveWatch(
            store, fetch, readsOthers: nodes.readsOthers, hasPage: hasPage,
            spareCount: nodes.pick([0, 1, 3, nil]))
    }
}

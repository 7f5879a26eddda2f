import Stet
import StetStore
import StetTestSupport

/// A store with random commits, and live queries that are polled at random: their updates must lead
/// to the results of the queries run afresh.
package struct LiveQueryTrial {
    /// The approximate number of pairs of a query and commits that one trial compares.
    package static let pairCount = 400
    private static let queryCount = 18
    private static let valueCount = 4
    private static let sectionCount = 3
    private static let roundCount = 20

    /// The number of compared pairs, and the ways in which results were found.
    package struct Counts: Sendable {
        package var pairs = 0
        package var updates = 0
        package var steps = 0
        package var reruns = 0
        /// The numbers of steps and of reruns of aggregates.
        package var valueSteps = 0
        package var valueReruns = 0
        /// The number of compared results of queries of contexts.
        package var contextPairs = 0

        package init() {}
    }

    private let directory = TemporaryDirectory()
    private let store: Store
    private var nodes: LiveNodes
    private var edits: LiveEdits
    private var samples: [LiveWatch<LiveSample>] = []
    private var boxes: [LiveWatch<LiveBox>] = []
    private var values: [ValueWatch] = []
    private var sections: [SectionWatch] = []
    private var objects: [ObjectWatch] = []
    private var members: [MemberWatch] = []
    private var random: SeededGenerator

    /// Creates a separate trial for each pair of a seed and a stream.
    package init(seed: UInt64, stream: Int) throws {
        var random = SeededGenerator(seed: seed, stream: stream)
        store = try Store.open(
            at: directory.file(), for: LiveBox.self, LiveSample.self, LiveTag.self)
        nodes = LiveNodes(store.file.schema, SeededGenerator(seed: random.next()))
        edits = try LiveEdits(store, SeededGenerator(seed: random.next()))
        self.random = random
    }

    /// Runs the trial, and returns a description of the first difference, or nil if there is none.
    package mutating func run(_ counts: inout Counts) throws -> String? {
        for number in 0..<Self.queryCount {
            if number % 6 == 5 {
                boxes.append(try watch(LiveBox.self, "LiveBox", number))
            } else {
                samples.append(try watch(LiveSample.self, "LiveSample", number))
            }
        }
        for _ in 0..<Self.valueCount { values.append(try valueWatch()) }
        for _ in 0..<Self.sectionCount { sections.append(try sectionWatch()) }
        for id in try store.fetch(LiveSample.self).limit(3).ids() {
            objects.append(ObjectWatch(store, id))
            members.append(MemberWatch(store, nodes.pick([.others, .tags]), of: id))
        }
        for id in try store.fetch(LiveBox.self).limit(2).ids() {
            members.append(MemberWatch(store, nodes.pick([.box, .shelf]), of: id))
        }
        for round in 0..<Self.roundCount {
            if round > 0 {
                for _ in 0..<Int.random(in: 1...3, using: &random) { try edits.step() }
            }
            let head = try store.revision()
            // Slow observers receive several commits at once.
            let isLast = round == Self.roundCount - 1
            for place in samples.indices where isLast || round == 0 || !nodes.chance(4) {
                counts.pairs += 1
                if let problem = try samples[place].follow(head) {
                    return "round \(round), \(samples[place].text): \(problem)"
                }
            }
            for place in values.indices where isLast || round == 0 || !nodes.chance(4) {
                counts.pairs += 1
                if let problem = try values[place].follow() {
                    return "round \(round), \(values[place].text): \(problem)"
                }
            }
            for place in sections.indices where isLast || round == 0 || !nodes.chance(4) {
                counts.pairs += 1
                if let problem = try sections[place].follow() {
                    return "round \(round), sections by \(sections[place].text): \(problem)"
                }
            }
            for place in objects.indices where isLast || round == 0 || !nodes.chance(4) {
                if let problem = try objects[place].follow() {
                    return "round \(round), an object: \(problem)"
                }
            }
            for place in members.indices where isLast || round == 0 || !nodes.chance(4) {
                counts.pairs += 1
                if let problem = try members[place].follow() {
                    return "round \(round), \(members[place].text): \(problem)"
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
        for value in values {
            counts.valueSteps += value.statistics.incrementalStepCount
            counts.valueReruns += value.statistics.rerunCount
        }
        return nil
    }

    private var hasTrimmed: Bool { edits.hasTrimmed }

    private mutating func valueWatch() throws -> ValueWatch {
        // Mostly kinds whose next value follows from the last one.
        let (fetch, _) = try fetch(
            LiveSample.self, "LiveSample", ownOnly: !nodes.chance(4), isSorted: nodes.chance(4),
            mayHavePage: nodes.chance(4))
        let number = nodes.number("LiveSample")
        let kind = nodes.pick(ValueWatch.Kind.allCases)
        return try ValueWatch(store, fetch, kind, number)
    }

    private mutating func sectionWatch() throws -> SectionWatch {
        var (fetch, _) = try fetch(
            LiveSample.self, "LiveSample", ownOnly: nodes.chance(2), isSorted: false)
        if nodes.chance(2) { fetch = store.fetch(LiveSample.self) }
        let direction: SortDirection = nodes.chance(3) ? .descending : .ascending
        return try SectionWatch(store, nodes.pick(SectionWatch.Kind.allCases), direction, fetch)
    }

    private mutating func watch<M: Model>(
        _ type: M.Type, _ entity: String, _ number: Int
    ) throws -> LiveWatch<M> {
        nodes.readsOthers = false
        let (fetch, hasPage) = try fetch(type, entity, ownOnly: number % 2 == 0)
        return try LiveWatch(
            store, fetch, readsOthers: nodes.readsOthers, hasPage: hasPage,
            spareCount: nodes.pick([0, 1, 3, nil]))
    }

    /// Returns a query, and whether it asks for a part of the result.
    private mutating func fetch<M: Model>(
        _ type: M.Type, _ entity: String, ownOnly: Bool, isSorted: Bool = true,
        mayHavePage: Bool = true
    ) throws -> (SnapshotFetch<M>, hasPage: Bool) {
        let condition =
            nodes.chance(5) ? QueryNode.everything : nodes.condition(entity, ownOnly: ownOnly)
        var fetch = store.fetch(type) { _ in QueryExpression<Bool>(condition) }
        let order = isSorted ? nodes.order(entity, ownOnly: ownOnly) : []
        if entity == "LiveSample", nodes.chance(5) {
            fetch = fetch.matching(nodes.pick(LiveNodes.searches))
            // The order of hits depends on how frequent the words are in all objects.
            if order.isEmpty { nodes.readsOthers = true }
        }
        fetch = fetch.sorted(by: order)
        var hasPage = false
        if mayHavePage, nodes.chance(3) {
            fetch = fetch.limit(nodes.pick([0, 1, 2, 5, 20]))
            hasPage = true
        }
        if mayHavePage, nodes.chance(5) {
            fetch = fetch.offset(nodes.pick([1, 3, 10]))
            hasPage = true
        }
        if isSorted, nodes.chance(6),
            let position = try store.fetch(type).all().randomElement(using: &random)
        {
            fetch = fetch.after(position)
        }
        return (fetch, hasPage)
    }
}

extension ObjectQuery {
    /// The query with these orders, the first one first.
    func sorted(by orders: [QueryOrder]) -> Self {
        var query = self
        for (place, order) in orders.enumerated() {
            let direction: SortDirection = order.isDescending ? .descending : .ascending
            let value = QueryExpression<Int>(order.node)
            query =
                place == 0
                ? query.sorted(by: { _ in value }, direction)
                : query.then(by: { _ in value }, direction)
        }
        return query
    }
}

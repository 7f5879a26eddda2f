import Foundation
import Stet
import StetTestSupport
import Testing

/// Every query must find what a plain Swift closure finds among all objects.
///
/// `STET_PAIRS` says how many pairs of a condition and data are tried.
@Suite struct QueryOracleTests {
    private static let pairs = ProcessInfo.processInfo.environment["STET_PAIRS"].flatMap(Int.init)

    private let directory = TemporaryDirectory()

    @Test func queriesFindWhatAPlainClosureFindsWithoutIndexes() throws {
        let store = try Store.open(
            at: directory.file(), for: PlainSample.self, PlainBox.self)
        try check(store, PlainSample.self, seed: 1)
    }

    @Test func queriesFindWhatAPlainClosureFindsWithIndexes() throws {
        let store = try Store.open(
            at: directory.file(), for: IndexedSample.self, IndexedBox.self)
        try check(store, IndexedSample.self, seed: 2)
    }

    private func check<M: SampleModel>(_ store: Store, _ type: M.Type, seed: UInt64) throws
    where M.Fields: SampleFields, M.Fields.BoxFields.Object == M.Box {
        let rounds = max((Self.pairs ?? repetitions(1_200)) / 100, 1)
        for round in 0..<rounds {
            var queries = SampleQueries<M>(seed: seed &+ UInt64(round) &* 7_919)
            let writer = store.context()
            // Late rounds have many objects of earlier rounds, so some rounds start empty.
            if round % 8 == 0 {
                for sample in try writer.fetch(M.self).all() { writer.delete(sample) }
                for box in try writer.fetch(M.Box.self).all() { delete(box, writer) }
            }
            let boxes = try prepare(writer, &queries)
            let reader = store.context()
            // The reader does not see later commits of others.
            if round % 3 == 1 { try edit(writer, &queries, boxes) }
            if round % 2 == 1 {
                let own = try reader.fetch(M.Box.self).all()
                try change(reader, &queries, own)
            }
            try compare(reader, &queries, round)
            writer.rollback()
            reader.rollback()
        }
    }

    private func delete<B: SampleBox>(_ box: B, _ context: ManagedContext) {
        box.rank = nil
    }

    private func prepare<M: SampleModel>(
        _ context: ManagedContext, _ queries: inout SampleQueries<M>
    ) throws -> [M.Box] {
        let boxes = ["one", "two", "three"].map { M.Box(name: $0) }
        for box in boxes {
            box.rank = queries.chance(2) ? nil : Int(box.name.count) - 3
            context.insert(box)
        }
        var samples: [M] = []
        for _ in 0..<30 {
            let sample = M()
            queries.fill(sample, boxes, samples)
            context.insert(sample)
            samples.append(sample)
        }
        try context.save()
        return boxes
    }

    private func change<M: SampleModel>(
        _ context: ManagedContext, _ queries: inout SampleQueries<M>, _ boxes: [M.Box]
    ) throws {
        let samples = try context.fetch(M.self).all()
        for sample in samples {
            switch Int.random(in: 0..<8, using: &queries.random) {
            case 0: context.delete(sample)
            case 1, 2: queries.fill(sample, boxes, samples.filter { !$0.isDeleted })
            default: break
            }
        }
        for box in boxes where queries.chance(3) {
            box.name = queries.pick(["one", "two", "four"])
        }
        let alive = samples.filter { !$0.isDeleted }
        for _ in 0..<4 {
            let sample = M()
            queries.fill(sample, boxes, alive)
            context.insert(sample)
        }
    }

    private func edit<M: SampleModel>(
        _ context: ManagedContext, _ queries: inout SampleQueries<M>, _ boxes: [M.Box]
    ) throws {
        try change(context, &queries, boxes)
        try context.save()
    }

    private func compare<M: SampleModel>(
        _ context: ManagedContext, _ queries: inout SampleQueries<M>, _ round: Int
    ) throws where M.Fields: SampleFields, M.Fields.BoxFields.Object == M.Box {
        let all = try context.fetch(M.self).all().sorted { $0.id < $1.id }
        for turn in 0..<100 {
            let condition = queries.condition()
            let order = queries.order()
            let limit = queries.chance(2) ? Int.random(in: 0..<20, using: &queries.random) : nil
            let offset = queries.chance(3) ? Int.random(in: 0..<10, using: &queries.random) : 0
            var expected = all.filter(condition.plain)
            let matching = expected.count
            if let order {
                let isDescending = order.text.hasSuffix("descending")
                expected.sort { one, other in
                    order.precedes(one, other)
                        ?? (isDescending ? one.id > other.id : one.id < other.id)
                }
            }
            expected = Array(expected.dropFirst(offset).prefix(limit ?? .max))
            var fetch = context.fetch(M.self, where: condition.query).offset(offset)
            if let order { fetch = order.query(fetch) }
            if let limit { fetch = fetch.limit(limit) }
            let found = try fetch.all()
            let label =
                "round \(round), \(turn): \(condition.text), order \(order?.text ?? "id"), "
                + "limit \(limit.map(String.init) ?? "none"), offset \(offset)"
            guard found.map(\.id) == expected.map(\.id) else {
                Issue.record(
                    """
                    \(label): found \(found.map(\.id)), expected \(expected.map(\.id))
                    \(try fetch.explain())
                    """)
                return
            }
            #expect(zip(found, expected).allSatisfy { $0 === $1 }, "\(label)")
            #expect(try fetch.count() == expected.count, "\(label)")
            let count = try context.fetch(M.self, where: condition.query).count()
            #expect(count == matching, "\(label)")
            if let last = expected.last, let order {
                let rest = try order.query(context.fetch(M.self, where: condition.query))
                    .after(last).limit(3).ids()
                var following = all.filter(condition.plain)
                let isDescending = order.text.hasSuffix("descending")
                following.sort { one, other in
                    order.precedes(one, other)
                        ?? (isDescending ? one.id > other.id : one.id < other.id)
                }
                let place = following.firstIndex { $0 === last }! + 1
                #expect(rest == following[place...].prefix(3).map(\.id), "\(label) after")
            }
        }
    }
}

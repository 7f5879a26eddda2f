import ArgumentParser
import Foundation
import StetStore
import StetTestSupport

/// Compares random queries of the engine with plain Swift closures over the same objects.
struct Queries: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Compares SIZE pairs of a condition and data with plain Swift closures.")

    /// The number of conditions that are tried with the same data.
    private static let pairsPerCase = 100

    @OptionGroup var options: CampaignOptions

    func run(_ report: Report) throws {
        let count = (options.size + Self.pairsPerCase - 1) / Self.pairsPerCase
        try forEachCase(of: count, report) { index in
            let trial = try QueryTrial(SeededGenerator(seed: options.seed, stream: index))
            for pair in 0..<Self.pairsPerCase {
                let question = trial.next()
                report.count("pairs")
                guard let difference = trial.difference(question) else { continue }
                let (simplest, last) = trial.shrunk(question, difference)
                report.finding(
                    index,
                    "pair \(pair)\n  \(trial.text(question, difference))\n"
                        + "  the same with\n  \(trial.text(simplest, last))")
                return
            }
            report.count("data sets")
        }
    }
}

/// Data in several stores, and queries of it.
final class QueryTrial {
    private let stores: QueryStores
    private let seen: QueryWorld
    private let scene: QueryScene
    private var makers: [QueryMaker]
    private var random: SeededGenerator

    init(_ random: SeededGenerator) throws {
        var random = random
        let count = random.chance(30) ? 1_300 : random.chance(25) ? 300 : random.pick([8, 24, 40])
        var worlds = [QueryWorld(sampleCount: count, &random)]
        for _ in 0..<random.pick([0, 1, 2]) {
            var next = worlds[worlds.count - 1]
            next.edit(dangling: false, &random)
            next.derive()
            worlds.append(next)
        }
        let base = random.pick(Array(worlds.indices))
        var seen = worlds[base]
        if !random.chance(3) {
            seen.startPending()
            seen.edit(dangling: true, &random)
            seen.noteEdits(since: worlds[base], &random)
        }
        stores = try QueryStores(worlds, base: base, seen: seen, &random)
        self.seen = seen
        scene = QueryScene(seen)
        makers = [true, true, true, false].enumerated().map { place, ofSamples in
            QueryMaker(
                SeededGenerator(seed: random.next(), stream: place), seen, ofSamples: ofSamples)
        }
        self.random = random
    }

    func next() -> QueryQuestion {
        let place = Int.random(in: 0..<makers.count, using: &random)
        let entity = place == 3 ? QuerySchema.box : QuerySchema.sample
        var question = QueryQuestion(&makers[place], entity)
        if random.chance(4) { question.after = position(entity) }
        return question
    }

    /// Returns any object, which may have changed since or may no longer exist.
    private func position(_ entity: EntityNumber) -> (QueryQuestion.Candidate, [UInt8])? {
        if entity == QuerySchema.box {
            guard let id = seen.boxIDs.randomElement(using: &random), let box = seen.boxes[id]
            else { return nil }
            let scope = QueryScope(scene: scene, boxes: [box])
            return (.init(id: id, scope: scope), stores.body(box.values, entity))
        }
        guard let id = seen.sampleIDs.randomElement(using: &random), let known = seen.samples[id]
        else { return nil }
        let sample = random.chance(2) ? known : seen.sample(id, &random)
        let scope = QueryScope(scene: scene, samples: [sample])
        return (.init(id: id, scope: scope), stores.body(sample.values, entity))
    }

    private func candidates(_ entity: EntityNumber) -> [QueryQuestion.Candidate] {
        if entity == QuerySchema.box {
            return seen.boxIDs.compactMap { seen.boxes[$0] }.map { box in
                .init(id: box.id, scope: QueryScope(scene: scene, boxes: [box]))
            }
        }
        return seen.sampleIDs.compactMap { seen.samples[$0] }.map { sample in
            .init(id: sample.id, scope: QueryScope(scene: scene, samples: [sample]))
        }
    }

    // MARK: Comparing

    /// A difference between the result of a store and the closures.
    struct Difference {
        let store: Int
        let text: String
    }

    /// Returns the first difference; nil if there is none.
    func difference(_ question: QueryQuestion) -> Difference? {
        let answer = question.answer(candidates(question.entity))
        for place in 0..<stores.count {
            do {
                let text = try stores.read(place) { state in try question.difference(state, answer)
                }
                if let text { return Difference(store: place, text: text) }
            } catch {
                return Difference(store: place, text: "threw \(error)")
            }
        }
        return nil
    }

    /// Returns the simplest question that still shows a difference, and that difference.
    func shrunk(
        _ question: QueryQuestion, _ difference: Difference
    ) -> (QueryQuestion, Difference) {
        var (question, last) = (question, difference)
        while let (simpler, found) = question.simpler.lazy.compactMap({ simpler in
            self.difference(simpler).map { (simpler, $0) }
        }).first { (question, last) = (simpler, found) }
        return (question, last)
    }

    /// Describes a difference, including how the store answers the query.
    func text(_ question: QueryQuestion, _ difference: Difference) -> String {
        let explanations =
            (try? stores.read(difference.store) { state in
                try [question.query, question.plain].map { try QueryRun(state, $0).explanation() }
            }) ?? []
        let lines = explanations.joined(separator: "\nwithout the page:\n")
            .replacingOccurrences(of: "\n", with: "\n    ")
        return "store \(difference.store): \(difference.text)\n    \(lines)"
    }
}

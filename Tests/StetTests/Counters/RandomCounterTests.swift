import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

/// Random increments, resets, edits, saves, undos, redos and reverts, beside a plain sum.
@Suite struct RandomCounterTests {
    /// The contents that a store must have: a number, and by how much each commit changed it.
    private struct Sum {
        var count = 0
        var increments: [Int] = [0]
        var undo: [[Int]] = [[], [], []]
        var redo: [[Int]] = [[], [], []]

        mutating func add(_ increment: Int) {
            count += increment
            increments.append(increment)
        }
    }

    private final class Driver {
        private let directory = TemporaryDirectory()
        let store: Store
        let contexts: [ManagedContext]
        let tallies: [Tally]
        var sum = Sum()
        /// The increment of each context that is not saved.
        var pending = [0, 0, 0]
        var random: SeededGenerator

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            store = try Store.open(at: directory.file(), for: Tally.self)
            let first = store.context()
            let tally = Tally()
            first.insert(tally)
            try first.save()
            sum.add(0)
            contexts = (0..<3).map { [store] in store.context(author: "author \($0)") }
            tallies = try contexts.map { try #require(try $0.object(Tally.self, id: tally.id)) }
        }

        func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

        func step() throws {
            let index = number(3)
            let (context, tally) = (contexts[index], tallies[index])
            switch number(16) {
            case 0...4:
                let increment = number(21) - 10
                tally.count += increment
                pending[index] += increment
            case 5:
                pending[index] -= tally.count
                tally.count = 0
            case 6: context.mergePolicy = [.fail, .mergeStoreWins, .mergeContextWins][number(3)]
            case 7:
                context.rollback()
                pending[index] = 0
            case 8: try context.refresh()
            case 9...12: try save(index)
            case 13: try undo(index)
            case 14: try redo(index)
            default: try revert(number(sum.increments.count), index)
            }
            try compare(index)
        }

        private func save(_ index: Int) throws {
            guard try contexts[index].save() != nil else {
                #expect(pending[index] == 0)
                return
            }
            sum.add(pending[index])
            pending[index] = 0
            sum.undo[index].append(sum.increments.count - 1)
            sum.redo[index] = []
        }

        private func undo(_ index: Int) throws {
            guard let revision = sum.undo[index].popLast() else { return }
            let commit = try #require(try store.undo(author: "author \(index)"))
            #expect(commit.revision.number == sum.increments.count)
            sum.add(-sum.increments[revision])
            sum.redo[index].append(sum.increments.count - 1)
        }

        private func redo(_ index: Int) throws {
            guard let revision = sum.redo[index].popLast() else { return }
            _ = try #require(try store.redo(author: "author \(index)"))
            sum.add(-sum.increments[revision])
            sum.undo[index].append(sum.increments.count - 1)
        }

        private func revert(_ revision: Int, _ index: Int) throws {
            guard revision > 1, sum.increments[revision] != 0 else { return }
            try store.revert(Revision(UInt64(revision)), author: "author \(index)")
            sum.add(-sum.increments[revision])
            sum.undo[index].append(sum.increments.count - 1)
            sum.redo[index] = []
        }

        private func compare(_ index: Int) throws {
            #expect(try store.context().fetch(Tally.self).first()?.count == sum.count)
            // A context shows the sum at its revision, and its own increments on top.
            let shown = Int(contexts[index].revision.number)
            let base = sum.increments[...shown].reduce(0, +)
            #expect(tallies[index].count == base + pending[index])
        }

        func finish() throws {
            #expect(try store.verify().problems == [])
            for (revision, increment) in sum.increments.enumerated() where revision > 1 {
                let commit = try #require(
                    try store.journal(
                        from: .revision(Revision(UInt64(revision))),
                        to: .revision(Revision(UInt64(revision)))
                    ).first)
                let change = try #require(commit.changeSet.changes.first?["count"])
                guard case .int(let old) = change.old, case .int(let new) = change.new else {
                    Issue.record("\(change)")
                    continue
                }
                #expect(new - old == increment)
            }
        }
    }

    @Test(arguments: 0..<20)
    func theStoreHasTheSumOfAllIncrements(seed: Int) throws {
        let driver = try Driver(seed: UInt64(seed))
        for _ in 0..<repetitions(200) { try driver.step() }
        try driver.finish()
    }

    @Test func threeProcessesAndATaskLoseNoIncrement() throws {
        let both = try TwoTallies()
        let count = repetitions(300)
        let children = try (0..<3).map { _ in
            try RunningChild(["count", both.path, "\(count)"])
        }
        for _ in 0..<count {
            both.mine.count += 1
            try both.context.saveIncrements()
        }
        #expect(children.map { $0.status() } == [0, 0, 0])
        #expect(try both.stored()?.count == 4 * count)
        try both.store.undo(author: "me")
        #expect(try both.stored()?.count == 4 * count - 1)
    }
}

import Foundation
import Stet
import StetLMDB
import StetTestModels
import StetTestSupport
import Testing

/// Several nodes save at the same time, while the connection to their journal fails at random: each
/// save has one outcome, which all nodes show.
struct RandomNodesTests {
    /// The outcomes of the saves.
    private struct Saves {
        /// The commits by the names that they inserted.
        var commits: [String: Revision] = [:]
        var refused: Set<String> = []
    }

    private let nodes = Nodes()
    private var journal: MemoryJournal { nodes.journal }

    /// Saves notebooks, and undoes some of the saves.
    private func save(at store: Store, seed: UInt64, count: Int) throws -> Saves {
        var generator = SeededGenerator(seed: seed)
        var saves = Saves()
        for number in 0..<count {
            let name = "\(seed): \(number)"
            let context = store.context()
            context.insert(Notebook(name: name))
            let seen = try store.revision()
            injectFailure(&generator)
            var commit: Commit?
            do {
                commit = try context.save()
            } catch let error as UnknownOutcomeError {
                commit = settled(error.commit, at: store)
            } catch let error as StoreError {
                #expect(error.code == .journalUnavailable)
            }
            if let commit {
                // What was there when the save began is before it.
                #expect(commit.revision > seen)
                saves.commits[name] = commit.revision
            } else {
                saves.refused.insert(name)
            }
        }
        return saves
    }

    private func injectFailure(_ generator: inout SeededGenerator) {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: journal.failNext(.lostAnswer)
        case 1: journal.failNext(.lostRequest)
        case 2: journal.failNext(.late)
        case 3: journal.failNext(.unavailable)
        case 4:
            journal.failNext(.lostAnswer)
            journal.goDown(after: .append)
        case 5: _ = journal.deliver()
        default: break
        }
    }

    /// Returns the commit with an id, once that is known; nil when there is none.
    private func settled(_ id: CommitID, at store: Store) -> Commit? {
        while true {
            switch store.outcome(of: id) {
            case .committed(let commit): return commit
            case .notCommitted: return nil
            case .unknown:
                journal.isDown = false
                sched_yield()
            }
        }
    }

    @Test(arguments: 1...UInt64(repetitions(16)))
    func everySaveHasOneOutcome(seed: UInt64) async throws {
        let stores = try (0..<3).map {
            try nodes.open("node \($0)", settleLimit: .milliseconds(2))
        }
        let all = try await withThrowingTaskGroup(of: Saves.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask { try save(at: store, seed: seed * 3 + UInt64(number), count: 40) }
            }
            return try await group.reduce(into: Saves()) { all, saves in
                all.commits.merge(saves.commits) { one, _ in one }
                all.refused.formUnion(saves.refused)
            }
        }
        journal.isDown = false
        _ = journal.deliver()
        #expect(all.commits.count + all.refused.count == 120)
        let last = Revision(UInt64(all.commits.count))
        #expect(Set(all.commits.values).count == all.commits.count)
        #expect(journal.entries.map(\.revision.number) == Array(1...last.number))
        let late = try nodes.open("late")
        for store in stores + [late] {
            try await store.refresh()
            #expect(try store.revision() == last)
            #expect(try store.notebookNames == all.commits.keys.sorted())
            #expect(try store.verify().problems == [])
            for (name, revision) in all.commits {
                let notebook = try store.fetch(Notebook.self).filter { $0.name == name }.first()
                #expect(try store.commit(revision).changeSet.changes.map(\.id) == [notebook?.id])
            }
        }
    }

    /// Edits of the same objects, with conflicts, on several nodes.
    @Test(arguments: 1...UInt64(repetitions(8)))
    func nodesAgree(seed: UInt64) async throws {
        let stores = try (0..<3).map { try nodes.open("node \($0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    var saver = RandomSaver(store, seed: seed * 3 + UInt64(number))
                    try saver.save(30)
                }
            }
            try await group.waitForAll()
        }
        for store in stores {
            try await store.refresh(atLeast: 90)
            #expect(try store.verify().problems == [])
            #expect(try store.commit(90) == stores[0].commit(90))
        }
    }
}

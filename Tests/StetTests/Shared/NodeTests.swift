import Foundation
import MetricsTestKit
import Stet
import StetLMDB
@testable import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// The nodes of a shared journal have the commits of all of them.
struct NodeTests {
    private let nodes = Nodes()

    @Test func aSaveAtOneNodeIsReadAtTheOthers() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let id = try one.saveNotebook("Swift")
        try await other.refresh(atLeast: 1)
        #expect(try other.object(Notebook.self, id: id)?.name == "Swift")
        #expect(try other.commit(1) == one.commit(1))
        #expect(try one.verify().problems == [])
        #expect(try other.verify().problems == [])
    }

    @Test func aNodeFollowsByItselfAndPublishes() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        var commits = other.commits(after: 0).makeAsyncIterator()
        try one.saveNotebook("Swift")
        try one.saveNotebook("Linux")
        #expect(try await commits.next()?.revision == 1)
        #expect(try await commits.next()?.revision == 2)
        #expect(try other.notebookNames == ["Linux", "Swift"])
    }

    @Test func aNodeReportsItsLagAndItsFailure() async throws {
        let metrics = TestMetrics()
        let labels = [("store", "other.stet")]
        let (one, other) = (try nodes.open("one"), try nodes.open("other", metrics: metrics))
        #expect(try other.statistics().node == StoreStatistics.Node(lag: 0, failure: nil))
        let start = try other.file.environment.read { try Head.read(in: $0) }
        for number in 1...3 { try one.saveNotebook("\(number)") }
        try await other.refresh()
        #expect(other.file.shared?.lag(of: start) == 3)
        #expect(try other.statistics().node?.lag == 0)
        nodes.journal.isDown = true
        #expect(!StoreNode(other.file).followInBackground())
        let label = "stet.journal.follow_failures"
        #expect(try metrics.expectCounter(label, labels).totalValue > 0)
        #expect(try metrics.expectGauge("stet.journal.lag", labels).values.contains { $0 > 0 })
        #expect(try other.statistics().node?.failure?.contains("it is down") == true)
        nodes.journal.isDown = false
        #expect(StoreNode(other.file).followInBackground())
        #expect(try other.statistics().node?.failure == nil)
        one.close()
        #expect(try nodes.openAlone("one").statistics().node == nil)
    }

    @Test func aNodeThatWasOvertakenSavesBehindTheOther() throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        try one.saveNotebook("Swift")
        // The other node has not seen that commit.
        try other.saveNotebook("Linux")
        #expect(try other.revision() == 2)
        #expect(try other.notebookNames == ["Linux", "Swift"])
    }

    @Test func aConflictIsThatOfTwoContextsOfOneStore() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let id = try one.saveNotebook("Swift")
        try await other.refresh(atLeast: 1)
        let context = other.context()
        let notebook = try #require(try context.object(Notebook.self, id: id))
        notebook.name = "theirs"
        try await one.edit { context in
            try #require(try context.object(Notebook.self, id: id)).name = "mine"
        }
        let error = #expect(throws: ConflictError.self) {
            _ = try context.save(onFailure: .keepPending)
        }
        #expect(error?.conflicts.count == 1)
        #expect(try other.revision() == 2)
    }

    @Test func countersOfTwoNodesAddUp() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        let context = one.context()
        let tally = Tally()
        context.insert(tally)
        try await context.save()
        let id = tally.id
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in [one, other] {
                group.addTask {
                    try await store.refresh(atLeast: 1)
                    for _ in 0..<50 {
                        let context = store.context()
                        try #require(try context.object(Tally.self, id: id)).count += 1
                        try context.saveIncrements()
                    }
                }
            }
            try await group.waitForAll()
        }
        try await one.refresh(atLeast: 101)
        #expect(try one.object(Tally.self, id: id)?.count == 100)
        #expect(nodes.journal.entries.map(\.revision.number) == Array(1...101))
        #expect(try one.verify().problems == [])
        #expect(try other.verify().problems == [])
    }

    @Test func anotherNodeUndoesWhatTheAuthorSaved() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        try one.saveNotebook("Swift")
        try await other.refresh(atLeast: 1)
        try await other.undo(author: "lala")
        try await one.refresh(atLeast: 2)
        #expect(try one.notebookNames == [])
        try await one.redo(author: "lala")
        #expect(try one.notebookNames == ["Swift"])
    }

    @Test func aNewNodeGetsEverything() throws {
        let one = try nodes.open("one")
        for number in 1...20 { try one.saveNotebook("number \(number)") }
        let late = try nodes.open("late")
        #expect(try late.notebookNames.count == 20)
        #expect(try late.revision() == 20)
        #expect(try late.verify().problems == [])
    }

    @Test func aNodeThatWasClosedCatchesUp() throws {
        let one = try nodes.open("one")
        try nodes.open("other").close()
        try one.saveNotebook("Swift")
        let other = try nodes.open("other")
        #expect(try other.notebookNames == ["Swift"])
    }

    @Test func waitingForACommitThatIsNotThereEnds() async throws {
        let one = try nodes.open("one")
        let error = await #expect(throws: StoreError.self) {
            try await one.refresh(atLeast: 1, within: .zero)
        }
        #expect(error?.code == .noSuchRevision)
    }
}

import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// Many tasks, each with a context of its own, save through one store.
@Suite struct SaversTests {
    @Test func manySaversEachGetEverythingSavedInOrder() async throws {
        let scratch = try Scratch()
        let store = scratch.store
        let saverCount = 64
        let saveCount = 50
        let revisions = try await withThrowingTaskGroup(of: (Int, [Revision]).self) { group in
            for saver in 0..<saverCount {
                group.addTask {
                    let context = store.context(author: "\(saver)")
                    let article = Article(title: "\(saver)")
                    context.insert(article)
                    var revisions: [Revision] = []
                    for count in 1...saveCount {
                        article.body = "\(count)"
                        guard let commit = try await context.save("\(count)") else { break }
                        revisions.append(commit.revision)
                    }
                    return (saver, revisions)
                }
            }
            return try await group.reduce(into: [Int: [Revision]]()) { $0[$1.0] = $1.1 }
        }
        #expect(revisions.count == saverCount)
        #expect(revisions.values.allSatisfy { $0.count == saveCount && $0 == $0.sorted() })
        let all = revisions.values.flatMap { $0 }.sorted()
        #expect(all == (1...saverCount * saveCount).map { Revision(UInt64($0)) })
        var labels: [String: [String]] = [:]
        for commit in try store.journal() {
            labels[commit.author ?? "", default: []].append(commit.label ?? "")
        }
        let expected = (1...saveCount).map { "\($0)" }
        #expect(labels.count == saverCount)
        #expect(labels.values.allSatisfy { $0 == expected })
        #expect(
            try store.context().fetch(Article.self).all().allSatisfy { $0.body == "\(saveCount)" })
        #expect(try store.verify().problems == [])
        try expectFairness(revisions, saverCount)
    }

    /// While all save, nobody makes a save while another of those that wait is passed over more
    /// often than a few times: between two commits of one saver there are not many more than one of
    /// each other.
    private func expectFairness(_ revisions: [Int: [Revision]], _ saverCount: Int) throws {
        // All savers are active until the first one ends.
        let firstEnd = try #require(revisions.values.compactMap(\.last).min())
        let firstStart = try #require(revisions.values.compactMap(\.first).max())
        let gaps = revisions.values.flatMap { all in
            let during = all.filter { $0 <= firstEnd && $0 >= firstStart }.map(\.number)
            return zip(during.dropFirst(), during).map { $0 - $1 }
        }
        #expect((gaps.max() ?? 0) <= UInt64(saverCount * 8), "\(gaps.max() ?? 0)")
    }

    @Test func saversOfTheSameObjectRetryUntilEveryIncrementIsThere() async throws {
        let scratch = try Scratch()
        let store = scratch.store
        let id = try scratch.saved().article.id
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let context = store.context()
                    let article = try #require(try context.object(Article.self, id: id))
                    for _ in 0..<10 {
                        while true {
                            article.body = "\((article.body.flatMap { Int($0) } ?? 0) + 1)"
                            do {
                                try await context.save()
                                break
                            } catch is ConflictError {
                                try context.refresh()
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.context().object(Article.self, id: id)?.body == "80")
        #expect(try store.revision() == 81)
        #expect(try store.verify().problems == [])
    }
}

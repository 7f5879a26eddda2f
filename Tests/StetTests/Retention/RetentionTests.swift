import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestSupport
import Synchronization
import Testing

/// Trims, redactions and compaction as a user asks for them.
struct RetentionTests {
    private typealias Notebook = Ledger.Notebook
    private typealias Article = Ledger.Article

    private let desk: LedgerDesk
    private let article: ObjectID

    init() throws {
        let desk = try LedgerDesk()
        let article = Article(title: "one")
        try desk.edit("a", "one") { $0.insert(article) }
        (self.desk, self.article) = (desk, article.id)
    }

    private var store: Store { desk.store }

    private func title(_ title: String, _ author: String? = "a") throws {
        try desk.edit(author, Article.self, article) { $0.title = title }
    }

    private func code<Result>(_ body: () throws -> Result) -> StoreError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }

    // MARK: Confirmation

    @Test func aTrimSaysWhatWouldBeLostAndHappensWhenItIsConfirmed() async throws {
        for number in 2...5 { try title("\(number)", number == 5 ? "b" : "a") }
        let action = try store.requestTrim(before: 6)
        let plan = action.plan
        let bytes = try #require(plan.history?.byteCount)
        #expect(plan.title == "Trim the journal of \(store.path)?")
        #expect(plan.losses == [])
        #expect(plan.history?.floor == 5)
        #expect(plan.history?.commitCount == 5)
        #expect(
            plan.message
                == "Lost for good: 5 commits (\(bytes) bytes), 4 undo steps of a, "
                + "1 undo step of b.")
        #expect(try store.floor() == 0)
        action.cancel()
        #expect(try store.floor() == 0)
        let asked = Mutex<[DestructiveAction.Plan]>([])
        let refusal = FixedConfirmer(false) { plan in asked.withLock { $0.append(plan) } }
        await #expect(throws: NotConfirmedError.self) {
            try await store.requestTrim(before: 6).confirm(with: refusal)
        }
        #expect(try store.floor() == 0)
        #expect(asked.withLock { $0 } == [plan])
        try await store.requestTrim(before: 6).confirm(with: FixedConfirmer(true))
        #expect(try store.floor() == 5)
        #expect(try store.requestTrim(before: 6).plan.message == "Nothing is lost.")
        #expect(try store.requestTrim(before: 1).plan.message == "Nothing is lost.")
        #expect(try store.verify().problems == [])
    }

    @Test func aRedactionSaysWhatWouldBeLostAndHappensWhenItIsConfirmed() throws {
        #expect(
            code { _ = try store.requestRedaction(of: Article.self, id: article, \.title) }
                == .valueInUse)
        try title("two")
        try title("three")
        let action = try store.requestRedaction(of: Article.self, id: article, \.title)
        #expect(
            action.plan.message
                == "Lost for good: 4 values in 3 commits, and the undo of these.")
        try action.confirm()
        let history = try store.history(of: Article.self, id: article)
        #expect(
            history.map { $0.change["title"]?.redacted.old } == [true, true, false])
        #expect(
            history.map { $0.change["title"]?.redacted.new } == [false, true, true])
        #expect(history.first?.change["title"]?.new == .string("three"))
        #expect(
            code { _ = try store.requestRedaction(of: Article.self, id: ObjectID(), \.title) }
                == .notFound)
        #expect(try store.verify().problems == [])
    }

    @Test func severalObjectsAreRedactedTogetherOrNotAtAll() throws {
        let other = try store.edit { context in
            let other = Article(title: "other one")
            context.insert(other)
            return other.id
        }
        try title("two")
        let refused = code {
            _ = try store.requestRedaction(of: Article.self, ids: [article, other], \.title)
        }
        #expect(refused == .valueInUse)
        let id = article
        try store.edit { context in
            try context.object(Article.self, id: id)?.title = "three"
            try context.object(Article.self, id: other)?.title = "other two"
        }
        let action = try store.requestRedaction(
            of: Article.self, ids: [other, article, other], \.title)
        #expect(action.plan.title == "Redact the history of 2 of Article?")
        #expect(
            action.plan.message
                == "Lost for good: 6 values in 4 commits, and the undo of these.")
        try store.edit { try $0.object(Article.self, id: other)?.title = "other one" }
        var refusal: StoreError?
        do { try action.confirm() } catch { refusal = error as? StoreError }
        #expect(refusal?.code == .valueInUse)
        #expect(try store.journal().allSatisfy { !$0.isRedacted })
        try store.edit { try $0.object(Article.self, id: other)?.title = "other three" }
        try store.requestRedaction(of: Article.self, ids: [article, other], \.title).confirm()
        for object in [article, other] {
            let changes = try store.history(of: Article.self, id: object)
            #expect(changes.first?.change["title"]?.redacted.new == false)
            #expect(changes.dropFirst().allSatisfy { $0.change["title"]?.redacted.new == true })
        }
        #expect(try store.verify().problems == [])
    }

    @Test func aRedactionThatTheStoreHasOvertakenIsRefused() throws {
        try title("two")
        let action = try store.requestRedaction(of: Article.self, id: article, \.title)
        try store.undo(author: "a")
        var refusal: StoreError?
        do { try action.confirm() } catch { refusal = error as? StoreError }
        #expect(refusal?.code == .valueInUse)
        #expect(try store.journal().allSatisfy { !$0.isRedacted })
    }

    @Test func typedChangesLeaveRedactedValuesOut() throws {
        try title("two")
        try title("three")
        try store.requestRedaction(of: Article.self, id: article, \.title).confirm()
        let changes = try store.journal().map { try #require($0.changes(of: Article.self).first) }
        #expect(changes[0].new.snapshot == nil)
        #expect(changes[0].new[\.title] == nil)
        #expect(changes[0].new[\.rating] == 0)
        #expect(changes[0].redactedProperties == ["title"])
        #expect(changes[2].old[\.title] == nil)
        #expect(changes[2].new[\.title] == "three")
        #expect(changes.map(\.redactedProperties) == [["title"], ["title"], ["title"]])
        let set = try store.journal()[1].changeSet
        let coded = try JSONDecoder().decode(ChangeSet.self, from: JSONEncoder().encode(set))
        #expect(coded == set)
        #expect(coded.changes[0]["title"]?.redacted.old == true)
        #expect("\(set.changes[0])".contains("title: (redacted) → (redacted)"))
    }

    // MARK: Who is behind

    @Test func whatAsksBelowTheFloorIsToldAndTheRestIsThere() throws {
        for number in 2...6 { try title("\(number)") }
        try store.requestTrim(before: 4).confirm()
        #expect(code { try store.journal() } == .historyTrimmed)
        #expect(try store.journal(from: .earliest).map(\.revision) == [4, 5, 6])
        #expect(try store.journal(from: 5).map(\.revision) == [5, 6])
        #expect(code { try store.forEachCommit { _ in true } } == .historyTrimmed)
        var seen: [Revision] = []
        try store.forEachCommit(from: .earliest) { commit in
            seen.append(commit.revision)
            return true
        }
        try store.forEachCommit(from: .latest, to: .earliest) { commit in
            seen.append(commit.revision)
            return true
        }
        #expect(seen == [4, 5, 6, 6, 5, 4])
        #expect(
            code { try store.history(of: Article.self, id: article) } == .historyTrimmed)
        #expect(try store.history(of: Article.self, id: article, from: .earliest).count == 3)
        #expect(try store.blame(Article.self, id: article, \.title)?.revision == 6)
        #expect(code { try store.blame(Article.self, id: article, \.rating) } == .historyTrimmed)
        #expect(code { try store.diff(from: 2, to: 6) } == .historyTrimmed)
        #expect(try store.diff(from: 3, to: 6).changes.count == 1)
        #expect(try store.diff(from: .earliest, to: .latest) == store.diff(from: 3, to: 6))
        #expect(try store.journal(from: .earliest, to: .earliest).map(\.revision) == [4])
        #expect(code { try store.journal(from: 0) } == .historyTrimmed)
    }

    @Test func aContextBehindTheFloorRefreshes() throws {
        let context = store.context()
        let shown = try desk.object(Article.self, article, context)
        #expect(shown.title == "one")
        for number in 2...6 { try title("\(number)") }
        try desk.edit("b") { $0.insert(Notebook(name: "new")) }
        try store.requestTrim(before: 7).confirm()
        #expect(shown.title == "one")
        try context.refresh()
        #expect(shown.title == "6")
        #expect(try context.fetch(Notebook.self).all().map(\.name) == ["new"])
        shown.title = "seven"
        try context.save()
        #expect(try store.verify().problems == [])
    }

    @Test func aContextBehindTheFloorSavesAndMeetsConflicts() throws {
        let context = store.context()
        let shown = try desk.object(Article.self, article, context)
        shown.rating = 5
        try title("two")
        try store.requestTrim(before: .max).confirm()
        #expect(throws: ConflictError.self) { try context.save() }
        try context.refresh()
        shown.rating = 5
        try context.save()
        #expect(try desk.value(article, "title") == .string("two"))
        #expect(try desk.value(article, "rating") == .int(5))
    }

    @Test func aRelationshipReadBehindTheFloorSaysThatItIsTooOld() throws {
        let notebook = Notebook(name: "n")
        try desk.edit("a") { $0.insert(notebook) }
        let context = store.context()
        let shown = try desk.object(Notebook.self, notebook.id, context)
        try desk.edit("b") {
            $0.insert(
                Article(title: "x", notebook: try desk.object(Notebook.self, notebook.id, $0)))
        }
        try store.requestTrim(before: .max).confirm()
        #expect(shown.articles.isEmpty)
        let error = #expect(throws: StoreError.self) { try context.save() }
        #expect(error?.code == .snapshotTooOld)
        try context.refresh()
        #expect(shown.articles.map(\.title) == ["x"])
    }

    /// So that an observer that has seen none of it must read the journal.
    private func saveMoreThanTheRingHolds() throws {
        let context = store.context()
        for number in 0..<24 {
            context.insert(Article(title: String(repeating: "\(number) ", count: 400_000)))
            try context.save()
        }
    }

    @Test func anObserverBehindTheFloorIsTold() async throws {
        let iterator = store.commits.makeAsyncIterator()
        try saveMoreThanTheRingHolds()
        try store.requestTrim(before: 20).confirm()
        var observer = iterator
        await #expect(throws: StoreError.self) { _ = try await observer.next() }
    }

    @Test func anObserverGetsARedactedCommitAsTheJournalHasIt() async throws {
        var observer = store.commits.makeAsyncIterator()
        try titles("secret", "public")
        try store.requestRedaction(of: Article.self, id: article, \.title).confirm()
        let commit = try #require(try await observer.next())
        #expect(commit.revision == 2)
        #expect(commit.isRedacted)
        #expect(commit.changes(of: Article.self).map(\.redactedProperties) == [["title"]])
    }

    private func titles(_ titles: String...) throws {
        for title in titles { try self.title(title) }
    }

    // MARK: By itself

    @Test func aStoreTrimsByItselfWhatNeedNotBeKept() throws {
        let directory = TemporaryDirectory()
        var configuration = Store.Configuration()
        configuration.retention = .count(3)
        let clock = Mutex(Duration.zero)
        configuration.uptime = {
            clock.withLock {
                $0 += .seconds(31)
                return $0
            }
        }
        let store = try Store.open(
            at: directory.file("kept.stet"), for: Ledger.models, configuration: configuration)
        let context = store.context(author: "a")
        for number in 0..<40 {
            context.insert(Article(title: "\(number)"))
            try context.save()
        }
        while try store.floor() < 37 {
            store.file.attend()
            sched_yield()
        }
        #expect(try store.floor() == 37)
        #expect(try store.journal(from: .earliest).map(\.revision) == [38, 39, 40])
        #expect(try store.verify().problems == [])
    }

    // MARK: Compaction

    @Test func aCompactedCopyHasNothingOfWhatWasRedacted() throws {
        let secret = "A secret that nobody must find"
        let directory = TemporaryDirectory()
        try title(secret)
        try title("public")
        try store.requestRedaction(of: Article.self, id: article, \.title).confirm()
        let target = directory.file("compacted.stet")
        try store.compact(to: target)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: target))
        #expect(bytes.range(of: Data(secret.utf8)) == nil)
        #expect(bytes.range(of: Data("public".utf8)) != nil)
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: store.path)).range(of: Data(secret.utf8))
                != nil)
        let copy = try Store.open(at: target, for: Ledger.models)
        #expect(try copy.verify() == store.verify())
        copy.close()
    }
}

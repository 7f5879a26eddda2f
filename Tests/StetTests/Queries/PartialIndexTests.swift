import Stet
import StetStore
import StetTestSupport
import Testing

private enum JobState: String, RawAttribute { case waiting, running, done }

@Model private final class Job {
    #Index<Job>(\.due, where: { $0.state == .waiting })
    #Index<Job>(\.priority) { $0.priority > 5 && $0.note != nil }
    #Unique<Job>(\.name, where: { !$0.isArchived })
    var name: String
    var due: Int
    var priority: Int = 0
    var state: JobState = JobState.waiting
    var note: String?
    var isArchived: Bool = false

    init(_ name: String, due: Int) {
        self.name = name
        self.due = due
    }
}

/// Indexes of only the objects that satisfy a condition.
struct PartialIndexTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext

    init() throws {
        store = try Store.open(at: directory.file(), for: Job.self)
        context = store.context(author: "lala")
    }

    @discardableResult
    private func add(_ names: String..., edit: (Job) -> Void = { _ in }) throws -> [Job] {
        let jobs = names.enumerated().map { Job($1, due: $0) }
        for job in jobs {
            context.insert(job)
            edit(job)
        }
        try context.save()
        return jobs
    }

    private func waiting() -> Fetch<Job> {
        context.fetch(Job.self) { $0.state == .waiting }.sorted(by: \.due)
    }

    private var entryCount: Int { get throws { try store.verify().indexEntryCount } }

    // MARK: Queries

    @Test func aQueryThatRequiresTheConditionUsesTheIndex() throws {
        try add("a", "b", "c")
        try add("d") { $0.state = .done }
        let plan = try waiting().explain()
        #expect(plan.hasPrefix("walk index (due) where state == \"waiting\" of Job in order"))
        #expect(try waiting().all().map(\.name) == ["a", "b", "c"])
        let count = context.fetch(Job.self) { $0.state == .waiting }
        #expect(try count.count() == 3)
        let one = context.fetch(Job.self) { $0.due == 1 && $0.state == .waiting }
        #expect(try one.explain().hasPrefix("index (due) where"))
        #expect(try one.all().map(\.name) == ["b"])
    }

    @Test func aConditionOfMoreThan64PartsIsTested() throws {
        try add("a", "b", "c")
        var query = waiting()
        for number in 0..<70 { query = query.filter { $0.due >= -number } }
        #expect(try query.count() == 3)
        query = query.filter { $0.name != "b" }
        #expect(try query.all().map(\.name) == ["a", "c"])
        #expect(try query.count() == 2)
    }

    @Test func aQueryWithAnotherConditionReadsTheRecords() throws {
        try add("a")
        try add("d") { $0.state = .done }
        for query in [
            context.fetch(Job.self) { $0.due >= 0 },
            context.fetch(Job.self) { $0.due >= 0 && $0.state != .running },
            context.fetch(Job.self) { $0.due >= 0 && $0.state == .waiting || $0.state == .done },
            context.fetch(Job.self) { $0.priority >= 0 && $0.priority > 4 && $0.note != nil },
            context.fetch(Job.self) { $0.priority > 5 },
        ] {
            #expect(try query.explain().hasPrefix("look at all"))
        }
        #expect(try context.fetch(Job.self) { $0.due >= 0 }.count() == 2)
    }

    @Test func aNarrowerConditionImpliesThatOfTheIndex() throws {
        try add("a", "b") { job in
            job.priority = job.name == "a" ? 6 : 9
            job.note = "text"
        }
        try add("c") { $0.priority = 9 }
        let higher = context.fetch(Job.self) { $0.priority > 8 && $0.note == "text" }
        #expect(try higher.explain().hasPrefix("index (priority) where"))
        #expect(try higher.all().map(\.name) == ["b"])
        let listed = context.fetch(Job.self) {
            [7, 9].contains($0.priority) && $0.note >= "te"
        }
        #expect(try listed.explain().hasPrefix("index (priority) where"))
        #expect(try listed.all().map(\.name) == ["b"])
        let lower = context.fetch(Job.self) { $0.priority >= 5 && $0.note != nil }
        #expect(try lower.explain().hasPrefix("look at all"))
        #expect(try lower.count() == 2)
    }

    @Test func theIndexContainsOnlyItsObjects() throws {
        // An entry for `due` where it waits, and one for the unique name.
        let jobs = try add("a", "b")
        #expect(try entryCount == 4)
        jobs[0].state = .done
        jobs[1].due = 7
        #expect(try waiting().all().map(\.name) == ["b"])
        try context.save()
        #expect(try entryCount == 3)
        #expect(try waiting().all().map(\.name) == ["b"])
        jobs[0].state = .waiting
        try context.save()
        #expect(try waiting().all().map(\.name) == ["a", "b"])
        try store.undo(author: "lala")
        try context.refresh()
        #expect(try entryCount == 3)
        try store.redo(author: "lala")
        #expect(try entryCount == 4)
        try context.refresh()
        context.delete(jobs[0])
        try context.save()
        #expect(try entryCount == 2)
        #expect(try store.verify().problems == [])
    }

    @Test func valuesAreThoseOfTheObjectsOfTheIndex() throws {
        try add("a", "b", "c") { $0.state = $0.name == "b" ? .done : .waiting }
        #expect(try waiting().values(of: \.due) == [0, 2])
        #expect(try waiting().values(of: \.name) == ["a", "c"])
        let stored = store.fetch(Job.self) { $0.state == .waiting }
        #expect(try stored.sum(\.due) == 2)
        #expect(try stored.distinct(\.due).sorted() == [0, 2])
    }

    @Test func aViewOfThePastHasTheObjectsOfItsTime() throws {
        let jobs = try add("a", "b")
        let before = try store.revision()
        jobs[0].state = .done
        try context.save()
        try add("c")
        let names = try store.view(asOf: before).fetch(Job.self) { $0.state == .waiting }
            .sorted(by: \.due).all().map(\.name)
        #expect(names == ["a", "b"])
    }

    // MARK: Unique values

    @Test func onlyObjectsOfTheIndexHaveUniqueValues() throws {
        let first = try add("report")[0]
        first.isArchived = true
        try context.save()
        try add("report")
        first.isArchived = false
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.code) == [.notUnique])
        #expect(error.violations[0].object == first.id)
        #expect(first.isArchived)
        first.name = "old report"
        first.isArchived = false
        try context.save()
        #expect(try store.verify().problems == [])
    }

    @Test func twoContextsCannotBringBackTheSameValue() throws {
        let jobs = try add("report", "another") { $0.isArchived = true }
        jobs[1].name = "report"
        try context.save()
        let other = store.context(author: "lela")
        let second = try #require(try other.object(Job.self, id: jobs[1].id))
        jobs[0].isArchived = false
        second.isArchived = false
        try context.save()
        #expect(throws: (any Error).self) { try other.save() }
        #expect(try store.fetch(Job.self) { !$0.isArchived }.all().map(\.id) == [jobs[0].id])
        #expect(try store.verify().problems == [])
    }

    @Test func anUndoThatWouldTakeAValueLeavesTheObjectOutOfTheIndex() throws {
        let first = try add("report")[0]
        first.isArchived = true
        first.priority = 3
        try context.save()
        let other = store.context(author: "lela")
        other.insert(Job("report", due: 9))
        try other.save()
        let preview = try #require(try store.previewUndo(author: "lala"))
        #expect(preview.conflicts.map(\.kind) == [.notUnique])
        try store.undo(author: "lala", policy: .skip)
        try context.refresh()
        #expect(first.isArchived)
        #expect(first.priority == 0)
        #expect(try store.verify().problems == [])
    }

    @Test func aStreamUpdatesTheObjectOfTheIndex() async throws {
        try add("report") { $0.isArchived = true }
        let present = try add("report")[0]
        let elements = AsyncStream { continuation in
            continuation.yield("report")
            continuation.finish()
        }
        let count = try await store.insert(
            stream: elements, onConflict: .update { held, new in held.due = new.due }
        ) { Job($0, due: 42) }
        #expect(count == 0)
        let dues = try store.fetch(Job.self) { $0.name == "report" && !$0.isArchived }.all()
        #expect(dues.map(\.due) == [42])
        #expect(dues.map(\.id) == [present.id])
    }
}

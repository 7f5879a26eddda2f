import Stet
import StetTestModels
import StetTestSupport
import Testing

@Model private final class Counter {
    var value: Int = 0
    var twice: Int = 0
    var isRestless: Bool = false
    @Transient var calls = 0

    init() {}

    func willSave() {
        calls += 1
        twice = value * 2
        if isRestless { value += 1 }
    }
}

@Suite struct HookTests {
    private let directory = TemporaryDirectory()

    @Test func whatWillSaveChangesIsSavedAndItIsCalledUntilNothingChanges() throws {
        let store = try Store.open(at: directory.file(), for: Counter.self)
        let context = store.context()
        let counter = Counter()
        counter.value = 3
        context.insert(counter)
        let commit = try #require(try context.save())
        #expect(commit.changes(of: Counter.self).first?.new[\.twice] == 6)
        #expect(counter.calls == 2)
        #expect(!counter.hasChanges)
    }

    @Test func aHookThatNeverSettlesIsNamedWithObjectAndProperty() throws {
        let store = try Store.open(at: directory.file(), for: Counter.self)
        let context = store.context()
        let counter = Counter()
        context.insert(counter)
        try context.save()
        counter.isRestless = true
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.code) == [.unsettled])
        #expect(error.violations.first?.object == counter.id)
        #expect(error.violations.first?.property == "value")
        #expect(error.description == "value was still changed by willSave in round 8")
        #expect(counter.value == 0)
        #expect(!counter.isRestless)
        #expect(!context.hasChanges)
    }

    @Test func willCommitSeesTheNetChangesAndMayRefuse() throws {
        struct Refused: Error {}
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        var seen: [ChangeSet] = []
        var refuses = true
        let observation = context.willCommit { changes in
            seen.append(changes)
            if refuses { throw Refused() }
        }
        notebook.name = " other "
        #expect(throws: Refused.self) { try context.save() }
        #expect(notebook.name == "Swift")
        #expect(!context.hasChanges)
        #expect(seen.first?.changes.first?["name"]?.new == .string("other"))
        refuses = false
        notebook.name = "third"
        #expect(try context.save() != nil)
        observation.cancel()
        notebook.name = "fourth"
        try context.save()
        #expect(seen.count == 2)
    }

    @Test func aWillCommitObserverThatEditsIsTold() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        context.willCommit { _ in article.rating = 1 }
        notebook.name = "other"
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.code) == [.editedDuringCommit])
        #expect(article.rating == 0)
        #expect(notebook.name == "Swift")
    }

    @Test func didCommitIsCalledAfterEachSaveThatWroteAndMaySave() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        var labels: [String?] = []
        context.didCommit { commit in
            labels.append(commit.label)
            guard article.rating < 2 else { return }
            article.rating += 1
            // A nested save, of which the same observer is notified.
            _ = try? context.save("nested \(article.rating)")
        }
        notebook.name = "other"
        try context.save("outer")
        try context.save("nothing")
        #expect(labels == ["outer", "nested 1", "nested 2"])
        #expect(try scratch.store.revision() == 4)
    }
}

@Suite struct ReentrancyTests {
    @Test func goingBackOrSavingInsideASaveTrapsWithAMessage() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let scratch = try Scratch()
            let (context, notebook, _) = try scratch.saved()
            context.willCommit { _ in context.rollback() }
            notebook.name = "other"
            try context.save()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("rollback() during a save"))
    }
}

import Stet
import StetTestSupport
import Testing

/// The examples in the documentation comments of types.
@Suite struct TypeExamplesTests {
    @Test func store() throws {
        let directory = TemporaryDirectory()
        let path = directory.file()

        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        let context = store.context(author: "lala")
        context.insert(Article(title: "Macros"))
        try context.save("first article")
        try store.undo(author: "lala")

        #expect(try store.journal().map(\.cause) == [.edit, .undo(of: 1)])
    }

    @Test func managedContext() throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)

        let context = store.context(author: "lala")
        if let article = try context.object(Article.self, id: id) {
            article.rating = 4
            try context.save("rate")
        }

        #expect(try desk.stored().rating == 4)
    }

    @Test func objectQuery() throws {
        let desk = try Desk()
        let context = desk.context
        desk.article.rating = 4
        try context.save()

        let rated = context.fetch(Article.self) { $0.rating >= 3 }
        let count = try rated.count()
        let best = try rated.sorted(by: \.rating, .descending).limit(10).all()

        #expect(count == 1)
        #expect(best == [desk.article])
    }

    @Test func commitAndChanges() throws {
        let desk = try Desk()
        let (store, context, article) = (desk.store, desk.context, desk.article)
        var changed: [String] = []
        var names: [String] = []
        var titles: [(String?, String?)] = []
        var ratings: [(Value, Value)] = []
        article.rating = 4
        article.title = "Swift macros"

        let commit = try context.save("rate")
        for change in commit?.changes(of: Article.self) ?? [] {
            changed += change.changedProperties
        }

        for commit in try store.journal() {
            for change in commit.changes(of: Article.self) where change.kind == .update {
                titles.append((change.old[\.title], change.new[\.title]))
            }
        }

        let difference = try store.diff(from: 1, to: .latest)
        for change in difference.changes(of: .update) {
            names += change.properties.map(\.name)
        }

        #expect(Set(changed) == ["rating", "title"])
        #expect(titles.map(\.0) == ["Macros"])
        #expect(titles.map(\.1) == ["Swift macros"])
        #expect(Set(names) == ["rating", "title"])
        if let commit {
            for change in commit.changeSet.changes {
                if let rating = change["rating"] { ratings.append((rating.old, rating.new)) }
            }
        }
        #expect(ratings.map(\.0) == [.int(0)])
        #expect(ratings.map(\.1) == [.int(4)])
    }

    @Test func conflictError() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        try desk.saveElsewhere { $0.rating = 3 }
        article.rating = 5

        do {
            try context.save("rate")
        } catch is ConflictError {
            try context.refresh()  // shows what the others have saved
            article.rating = 4
            try context.save("rate")
        }

        #expect(try desk.stored().rating == 4)
    }

    @Test func conflict() throws {
        let desk = try Desk()
        try desk.saveElsewhere { $0.rating = 3 }
        desk.article.rating = 4
        let error = try #require(throws: ConflictError.self) { try desk.context.save() }
        var values: [(base: Value, mine: Value, theirs: Value)] = []

        for property in error.conflicts.flatMap(\.properties) where property.isContested {
            values.append((property.base, property.mine, property.theirs))
        }

        #expect(values.map(\.base) == [.int(0)])
        #expect(values.map(\.mine) == [.int(4)])
        #expect(values.map(\.theirs) == [.int(3)])
    }

    @Test func mergePolicy() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        try desk.saveElsewhere { $0.rating = 3 }
        article.rating = 2

        context.mergePolicy = .mergeContextWins.merging(Article.self, \.rating, by: .max)

        article.title = "Mine"
        try context.save()
        #expect(try desk.stored().rating == 3)
        #expect(try desk.stored().title == "Mine")
    }

    @Test func validationErrorAndViolation() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        var message = ""
        var messages: [String: String] = [:]
        article.rating = 6

        do {
            try context.save("rate")
        } catch let error as ValidationError {
            message = error.description  // one line for each violation
        }

        #expect(message == "rating can't be greater than 5")
        article.rating = 6
        let error = try #require(throws: ValidationError.self) { try context.save() }

        for violation in error.violations {
            messages[violation.property ?? ""] = violation.message
        }

        #expect(messages == ["rating": "rating can't be greater than 5"])
    }

    @Test func storeErrorAndUnknownOutcomeError() throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        var store = try Store.open(at: path, for: Notebook.self, Article.self)
        let context = store.context()
        var isSaved = true
        var message = ""

        do {
            try context.save("rate")
        } catch let error as UnknownOutcomeError {
            isSaved = if case .committed = store.outcome(of: error.commit) { true } else { false }
        }

        #expect(isSaved)
        do {
            let path = #filePath

            do {
                store = try Store.open(at: path, for: Notebook.self, Article.self)
            } catch let error as StoreError where error.code == .notAStore {
                message = "\(error.message) \(error.advice)"
            }
        }
        #expect(message.hasSuffix("."))
        #expect(store.path == path)
    }
}

/// The examples of the types of undo and history.
@Suite struct HistoryTypeExamplesTests {
    private let desk: Desk
    private var store: Store { desk.store }
    private var context: ManagedContext { desk.context }
    private var article: Article { desk.article }

    init() throws {
        desk = try Desk()
        desk.article.title = "Swift macros"
        desk.article.rating = 4
        try desk.context.save("rate")
    }

    @Test func undoPolicy() throws {
        try desk.saveElsewhere { theirs in
            theirs.title = "Theirs"
            theirs.rating = 3
        }

        try store.undo(
            author: "lala",
            policy: .resolve { conflict in
                conflict.property == "title" ? .restore : .keep
            })

        #expect(try desk.stored().title == "Macros")
        #expect(try desk.stored().rating == 3)
    }

    @Test func undoConflictError() throws {
        var message = ""
        try desk.saveElsewhere { $0.rating = 3 }

        do {
            try store.undo(author: "lala")
        } catch let error as UndoConflictError {
            message = error.description
            try store.undo(author: "lala", policy: .overwrite)
        }

        #expect(message.contains("rating"))
        #expect(try desk.stored().rating == 0)
    }

    @Test func undoPlanAndUndoStack() throws {
        var title = ""

        if let plan = try store.previewUndo(author: "lala"), plan.isPossible {
            title = "Undo \(plan.label ?? "edit") of \(plan.changes.changes.count) objects"
        }

        let stack = try store.undoStack(author: "lala")
        let undoTitle = stack.undo.first.map { "Undo \($0.label ?? "edit")" }
        let canRedo = !stack.redo.isEmpty

        #expect(title == "Undo rate of 1 objects")
        #expect(undoTitle == "Undo rate")
        #expect(!canRedo)
    }

    @Test func commitsAndHistoricChange() async throws {
        var labels: [String?] = []
        var lines: [String] = []

        for try await commit in store.commits(after: .beginning) {
            labels.append(commit.label)
            if commit.label == "rate" { break }
        }

        for change in try store.history(of: article) {
            lines.append("\(change.revision) \(change.author ?? "") \(change.label ?? "")")
        }

        #expect(labels == ["first article", "rate"])
        #expect(lines == ["2 lala rate", "1 lala first article"])
    }

    @Test func retentionAndVerificationReport() throws {
        var problems: [String] = []

        var configuration = Store.Configuration()
        configuration.retention = .age(.seconds(90 * 86_400))

        let report = try store.verify()
        if !report.isClean { problems += report.problems }

        #expect(configuration.retention != Store.Configuration().retention)
        #expect(problems == [])
    }
}

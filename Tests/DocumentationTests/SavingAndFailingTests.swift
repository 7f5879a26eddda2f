import Stet
import Testing

/// The code of SavingAndFailing.md.
@Suite struct SavingAndFailingTests {
    @Test func aSaveWithoutNetChangeWritesNothing() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        article.rating = 4
        article.rating = 0
        let commit = try context.save()  // nil: nothing has changed

        #expect(commit == nil)
        #expect(!context.hasChanges)
        #expect(try desk.store.revision() == 1)
    }

    @Test func asynchronousCodeWaitsWithoutBlocking() async throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        article.rating = 4
        let commit = try await context.save("rate")

        #expect(commit?.label == "rate")
        #expect(commit?.revision == 2)
    }

    @Test func aRefusedSaveSaysEverythingAndIsPutBack() throws {
        let desk = try Desk()
        let (context, article, notebook) = (desk.context, desk.article, desk.notebook)
        var codes: [Violation.Code] = []

        article.rating = 9
        notebook.name = " "
        do {
            try context.save()
        } catch let error as ValidationError {
            codes = error.violations.map(\.code)  // [.tooLarge, .tooShort]
        }

        #expect(codes == [.tooLarge, .tooShort])
        #expect(article.rating == 0)
        #expect(notebook.name == "Swift")
        #expect(!context.hasChanges)
    }

    @Test func validatingChangesNothing() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        article.rating = 5
        article.notebook = nil
        let error = #expect(throws: ValidationError.self) { try context.validate() }
        #expect(error?.violations.map(\.message) == ["an article rated 5 needs a notebook"])
        #expect(article.rating == 5)
    }

    @Test func keptChangesAreMendedAndSaved() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        article.title = "A title that is too long to be saved"
        do {
            try context.save("rename", onFailure: .keepPending)
        } catch let error as ValidationError where error.code == .tooLong {
            article.title = String(article.title.prefix(25))
            try context.save("rename")
        }

        #expect(try desk.stored().title == "A title that is too long")
    }

    @Test func aRejectedChangeSetIsAppliedAgain() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        var rejected = ChangeSet()

        do {
            article.rating = 9
            try context.save("rate")
        } catch let error as ValidationError {
            rejected = error.rejected  // Sendable and Codable
        }
        for change in rejected.changes.indices {
            for property in rejected.changes[change].properties.slots
            where rejected.changes[change].properties[property].name == "rating" {
                rejected.changes[change].properties[property].new = .int(5)
            }
        }
        try context.apply(rejected)
        try context.save("rate")

        #expect(try desk.stored().rating == 5)
    }

    @Test func aHookAddsToTheSave() throws {
        let desk = try Desk()
        defer { withExtendedLifetime(desk) {} }
        let context = desk.store.context()
        let tag = Tag(name: "Macros")
        tag.source = Source(site: "swift.org", pages: [1, 2])
        context.insert(tag)
        let commit = try #require(try context.save())
        let snapshot = try #require(commit.changes(of: Tag.self).first?.new.snapshot)
        #expect(snapshot.slug == "macros")
        #expect(snapshot.visibility == .everyone)
        #expect(snapshot.source == Source(site: "swift.org", pages: [1, 2]))
    }

    @Test func observersOfAContextAreCalledAroundItsSaves() throws {
        struct TooMuch: Error {}
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        var labels: [String?] = []

        let limit = context.willCommit { changes in
            if changes.changes.count > 100 { throw TooMuch() }
        }
        let log = context.didCommit { commit in labels.append(commit.label) }
        article.rating = 4
        try context.save("rate")
        limit.cancel()
        log.cancel()

        #expect(labels == ["rate"])
    }

    @Test func aSaveThatMayBeARetryHasAnIdentity() throws {
        let desk = try Desk()
        let (store, context, article) = (desk.store, desk.context, desk.article)

        let id = try context.makeCommitID()
        article.rating = 4
        let commit = try context.save("rate", id: id)
        article.rating = 4
        let same = try context.save("rate", id: id)  // not another commit
        let outcome = store.outcome(of: id)  // .committed

        #expect(same == commit)
        #expect(outcome == commit.map(Outcome.committed))
        #expect(try store.revision() == 2)
    }

    @Test func aStoreErrorSaysWhatToDo() throws {
        var refusal: StoreError?

        do {
            _ = try Store.open(at: "/dev/null/notes.stet", for: Notebook.self)
        } catch let error as StoreError {
            refusal = error  // .code, .path, .message and .advice
        }

        #expect(refusal?.path == "/dev/null/notes.stet")
        #expect(refusal?.advice.isEmpty == false)
    }

    // MARK: HandlingErrors.md

    @Test func anyErrorIsReportedWithACode() throws {
        let desk = try Desk()
        let context = desk.context
        desk.article.title = ""
        var (line, status) = ("", 0)

        do {
            try context.save("publish")
        } catch let error as any StetError {
            line = "\(error.errorCode): \(error)"
            status = error.problem.status
        }

        #expect(line == "validation: title must be at least 1 character")
        #expect(status == 422)
    }
}

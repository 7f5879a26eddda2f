import Foundation
@testable import Stet
import StetTestModels
import Testing

/// Change sets that are sent, mended and applied.
@Suite struct ApplyTests {
    private func sent(_ changeSet: ChangeSet) throws -> ChangeSet {
        let received = try JSONDecoder().decode(
            ChangeSet.self, from: JSONEncoder().encode(changeSet))
        #expect(received == changeSet)
        return received
    }

    @Test func aRefusedChangeSetIsMendedAndSavedByAnother() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let inserted = Article(title: "", notebook: notebook)
        context.insert(inserted)
        article.rating = 4
        context.delete(notebook)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        var rejected = try sent(error.rejected)
        let index = try #require(rejected.changes.firstIndex { $0.id == inserted.id })
        let property = try #require(
            rejected.changes[index].properties.firstIndex { $0.name == "title" })
        rejected.changes[index].properties[property].new = .string("mended")
        let other = scratch.store.context()
        try other.apply(rejected)
        #expect(other.changes == rejected)
        let commit = try #require(try other.save())
        #expect(commit.changeSet == rejected)
        try context.refresh()
        #expect(article.rating == 4)
        #expect(article.notebook == nil)
        #expect(notebook.isDeleted)
        #expect(try context.object(Article.self, id: inserted.id)?.title == "mended")
        #expect(try scratch.store.verify().problems == [])
    }

    @Test func whatIsAppliedCanBeRolledBack() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        other.insert(
            Article(title: "new", notebook: try other.object(Notebook.self, id: notebook.id)))
        try #require(try other.object(Article.self, id: article.id)).notebook = nil
        let changes = other.changes
        try context.apply(changes)
        #expect(article.notebook == nil)
        #expect(context.changes == changes)
        #expect(try context.referrers(of: notebook).count == 1)
        context.rollback()
        #expect(article.notebook === notebook)
        #expect(context.changes.isEmpty)
        #expect(try context.referrers(of: notebook).map { $0.id } == [article.id])
        #expect(try context.fetch(Article.self).all() == [article])
    }

    @Test func onANewerBaseThePolicyDecides() throws {
        for policy in [
            MergePolicy.fail, .mergeStoreWins, .mergeContextWins, .custom { _ in .int(2) },
        ] {
            let scratch = try Scratch()
            let (context, _, article) = try scratch.saved()
            article.rating = 1
            article.title = "mine"
            let changes = context.changes
            context.rollback()
            article.rating = 3
            article.body = "theirs"
            try context.save()
            let other = scratch.store.context()
            other.mergePolicy = policy
            let applied = try #require(try other.object(Article.self, id: article.id))
            if case .fail = policy.rule {
                let error = try #require(throws: ConflictError.self) { try other.apply(changes) }
                #expect(
                    error.conflicts.flatMap(\.properties) == [
                        Conflict.Property(
                            entity: "Article", object: article.id, property: "rating",
                            base: .int(0), mine: .int(1), theirs: .int(3))
                    ])
                #expect(error.rejected == changes)
                #expect(!other.hasChanges)
                continue
            }
            try other.apply(changes)
            #expect(applied.title == "mine")
            #expect(applied.body == "theirs")
            switch policy.rule {
            case .storeWins: #expect(applied.rating == 3)
            case .contextWins: #expect(applied.rating == 1)
            default: #expect(applied.rating == 2)
            }
        }
    }

    @Test func applyingTwiceIsTheSameAsOnce() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let doomed = Article(title: "doomed")
        context.insert(doomed)
        try context.save()
        context.insert(Article(title: "new"))
        article.rating = 1
        context.delete(doomed)
        let commit = try #require(try context.save())
        let other = scratch.store.context()
        try other.apply(commit.changeSet)
        #expect(other.changes.isEmpty)
        #expect(try other.save() == nil)
    }

    @Test func whatDoesNotFitIsNamedAndNothingIsApplied() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let id = ObjectID()
        func update(_ name: String, _ value: Value) -> ObjectChange {
            ObjectChange(
                entity: "Article", id: article.id, kind: .update,
                properties: [PropertyChange(name: name, old: .int(0), new: value)])
        }
        let hostile = ChangeSet(changes: [
            update("rating", .int(3)), update("stars", .int(1)), update("rating", .string("3")),
            update("title", .null),
            ObjectChange(entity: "Blog", id: id, kind: .delete, properties: []),
            ObjectChange(entity: "Article", id: id, kind: .insert, properties: []),
            ObjectChange(entity: "Article", id: .none, kind: .delete, properties: []),
        ])
        let error = try #require(throws: ChangeSetError.self) { try context.apply(hostile) }
        #expect(
            error.problems.map(\.message) == [
                "the object is changed twice", "Article has no property stars",
                "the object is changed twice", "the value does not fit its type",
                "the object is changed twice", "the value does not fit its type",
                "there is no model Blog", "the inserted object needs a value for it",
                "the inserted object needs a value for it", "the object has no id",
            ])
        #expect(!context.hasChanges)
        #expect(article.rating == 0)
    }

    @Test func everyMismatchIsReportedAtOnce() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let (unknown, new) = (ObjectID(), ObjectID())
        let changes = ChangeSet(changes: [
            ObjectChange(
                entity: "Article", id: article.id, kind: .update,
                properties: [
                    PropertyChange(name: "notebook", old: .null, new: .reference(unknown))
                ]),
            ObjectChange(entity: "Blog", id: new, kind: .delete, properties: []),
        ])
        context.mergePolicy = .mergeContextWins
        let error = try #require(throws: ChangeSetError.self) { try context.apply(changes) }
        #expect(
            error.problems.map(\.message) == [
                "there is no Notebook \(unknown)", "there is no model Blog",
            ])
        #expect(!context.hasChanges)
        let problem = error.problem
        #expect(problem.errors.map(\.pointer) == ["#/notebook", nil])
        #expect(problem.errors.map(\.object) == [article.id, new])
        #expect(problem.errors.map(\.domain) == ["changeSet", "changeSet"])
        #expect(problem.errors.first?.detail == "there is no Notebook \(unknown)")
    }

    @Test func anUpdateNeedsTheOldValueInItsJSON() throws {
        let text = """
            {"entity": "Article", "id": "\(ObjectID())", "kind": "update",
             "properties": {"title": {"new": null}}}
            """
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ObjectChange.self, from: Data(text.utf8))
        }
        guard case .keyNotFound(let key, let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(key.stringValue == "old")
        #expect(context.debugDescription == "The update of title needs its old value, or null.")
    }

    @Test func aConflictOfAChangeSetNamesItsPropertiesAndNoCommitTwice() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let changes = ChangeSet(changes: [
            ObjectChange(
                entity: "Article", id: article.id, kind: .update,
                properties: [PropertyChange(name: "rating", old: .int(3), new: .int(4))])
        ])
        let error = try #require(throws: ConflictError.self) { try context.apply(changes) }
        #expect(
            error.conflicts.first?.description.hasPrefix(
                "Article \(article.id) does not have the values that the changes are based on, "
                    + "as of commit \(context.revision); ") == true)
        #expect(error.problem.errors.map(\.pointer) == ["#/rating"])
        #expect(error.problem.errors.map(\.object) == [article.id])
        #expect(error.problem.errors.map(\.domain) == ["conflict.changed"])
    }

    @Test func aChangeOfAnObjectThatIsGoneIsAConflict() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        article.rating = 1
        let changes = context.changes
        context.rollback()
        context.delete(article)
        try context.save()
        #expect(throws: ConflictError.self) { try context.apply(changes) }
        context.mergePolicy = .mergeStoreWins
        try context.apply(changes)
        #expect(!context.hasChanges)
        #expect(article.isDeleted)
    }

    @Test func anAppliedDeletionRespectsWhatOthersChanged() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        context.delete(article)
        let changes = context.changes
        context.rollback()
        article.rating = 2
        try context.save()
        #expect(throws: ConflictError.self) { try context.apply(changes) }
        #expect(!article.isDeleted)
        context.mergePolicy = .mergeStoreWins
        try context.apply(changes)
        #expect(!article.isDeleted)
        context.mergePolicy = .mergeContextWins
        try context.apply(changes)
        #expect(article.isDeleted)
    }

    @Test func twoObjectsWithOneIDAreAViolationNotATrap() throws {
        let scratch = try Scratch()
        let (context, _, _) = try scratch.saved()
        let refused = Article(title: "")
        context.insert(refused)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        try context.apply(error.rejected)
        context.insert(refused)
        #expect(refused.context == nil)
        let again = try #require(throws: ValidationError.self) { try context.validate() }
        #expect(again.violations.contains { $0.code == .foreignObject })
    }

    @Test(arguments: [
        "", "null", "[]", "{}", #"{"changes":{}}"#, #"{"changes":[{"entity":"Article"}]}"#,
        #"{"changes":[{"entity":"Article","id":"no id","kind":"insert","properties":{}}]}"#,
        #"{"changes":[{"entity":"Article","id":"0","kind":"other","properties":{}}]}"#,
    ]) func hostileJSONIsAnError(text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ChangeSet.self, from: Data(text.utf8))
        }
    }
}

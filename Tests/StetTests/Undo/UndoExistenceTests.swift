import Foundation
import Stet
import StetStore
import Testing

/// Cases 5 to 12 of the contract: objects that are there, or are not.
struct UndoExistenceTests {
    private typealias Notebook = Ledger.Notebook
    private typealias Article = Ledger.Article
    private typealias Tag = Ledger.Tag
    private typealias Seal = Ledger.Seal

    private let desk: LedgerDesk
    private let notebook: ObjectID
    private let article: ObjectID
    private let before: LedgerState

    init() throws {
        let desk = try LedgerDesk()
        let notebook = Notebook(name: "Swift")
        let article = Article(title: "Macros", notebook: notebook)
        try desk.edit(nil) { $0.insert(article) }
        (self.desk, self.notebook, self.article) = (desk, notebook.id, article.id)
        before = try desk.state()
    }

    @Test("U5 A change of an object that is gone cannot be taken back")
    func theObjectIsGone() throws {
        try desk.edit("a") { context in
            try desk.object(Article.self, article, context).title = "A's"
            try desk.object(Notebook.self, notebook, context).colour = "red"
        }
        try desk.delete("b", Article.self, article)
        for policy in [UndoPolicy.fail, .overwrite] {
            let conflicts = try desk.conflicts("a", policy)
            #expect(conflicts.kinds == ["gone"])
            #expect(conflicts.first?.object == article)
            let later = UndoConflict.Later(revision: 3, author: "b", label: nil)
            #expect(conflicts.first?.later == later)
        }
        try desk.store.undo(author: "a", policy: .skip)
        var state = before
        state[article] = nil
        try desk.expect(state)
    }

    @Test("U6 An inserted object that nobody has touched is deleted", arguments: [0, 1, 2])
    func anInsertedObjectGoes(policy: Int) throws {
        try desk.edit("a") { context in
            let notebook = try desk.object(Notebook.self, notebook, context)
            let inserted = Article(title: "New", notebook: notebook)
            inserted.tags = [Tag(name: "tag")]
            inserted.sources = [Article(title: "Source")]
            context.insert(inserted)
        }
        let after = try desk.state()
        #expect(after.count == before.count + 3)
        try desk.store.undo(author: "a", policy: [UndoPolicy.fail, .skip, .overwrite][policy])
        try desk.expect(before)
        try desk.store.redo(author: "a")
        try desk.expect(after)
    }

    @Test("U7 An inserted object that others have changed is a conflict, kept, or deleted")
    func anInsertedObjectThatWasChanged() throws {
        let inserted = Article(title: "New")
        try desk.edit("a") { $0.insert(inserted) }
        try desk.edit("b", Article.self, inserted.id) { $0.rating = 4 }
        let theirs = try desk.state()
        let conflicts = try desk.conflicts("a")
        #expect(conflicts.kinds == ["modified"])
        #expect(conflicts.first?.later?.author == "b")
        try desk.store.undo(author: "a", policy: .overwrite)
        try desk.expect(before)
        try desk.store.redo(author: "a")
        try desk.expect(theirs)
        #expect(try desk.store.undo(author: "a", policy: .fail)?.changeCount == 1)
        try desk.expect(before)
    }

    @Test("U7 A changed object is kept when conflicts are skipped")
    func aChangedObjectIsKept() throws {
        let inserted = Article(title: "New")
        let other = Article(title: "Other")
        try desk.edit("a") { context in
            context.insert(inserted)
            context.insert(other)
        }
        try desk.edit("b", Article.self, inserted.id) { $0.rating = 4 }
        var theirs = try desk.state()
        try desk.store.undo(author: "a", policy: .skip)
        theirs[other.id] = nil
        try desk.expect(theirs)
    }

    @Test("U8 An inserted object that others refer to is a conflict, kept, or goes by its rules")
    func anInsertedObjectThatIsReferredTo() throws {
        let inserted = Notebook(name: "New")
        try desk.edit("a") { $0.insert(inserted) }
        let shelved = Article(title: "Shelved")
        let member = Article(title: "Member")
        try desk.edit("b") { context in
            let notebook = try desk.object(Notebook.self, inserted.id, context)
            for article in [shelved, member] { context.insert(article) }
            notebook.shelf.append(shelved)
            member.notebook = notebook
        }
        let theirs = try desk.state()
        let conflicts = try desk.conflicts("a")
        #expect(conflicts.kinds == ["collateral"])
        #expect(Set(conflicts.first?.others ?? []) == [shelved.id, member.id])
        #expect(try desk.store.undo(author: "a", policy: .skip) == nil)
        try desk.expect(theirs)
        try desk.edit("a", Notebook.self, inserted.id) { $0.colour = "red" }
        try desk.edit(nil, Notebook.self, inserted.id) { $0.colour = nil }
        try desk.store.revert(2, author: "a", policy: .overwrite)
        // The member is deleted by cascade. The shelved object's reference and position become nil.
        var state = before
        state[shelved.id] = theirs[shelved.id]
        state[shelved.id]?[3] = .null
        try desk.expect(state)
        try desk.store.undo(author: "a")
        try desk.expect(theirs)
    }

    @Test("U8 An overwriting undo carries out the delete rules, and its redo restores everything")
    func anOverwritingUndoRunsTheRules() throws {
        let inserted = Notebook(name: "New")
        try desk.edit("a") { $0.insert(inserted) }
        let shelved = Article(title: "Shelved")
        let member = Article(title: "Member")
        try desk.edit("b") { context in
            let notebook = try desk.object(Notebook.self, inserted.id, context)
            for article in [shelved, member] { context.insert(article) }
            notebook.shelf.append(shelved)
            member.notebook = notebook
        }
        let theirs = try desk.state()
        let commit = try #require(try desk.store.undo(author: "a", policy: .overwrite))
        #expect(commit.changeSet.changes.count == 3)
        var state = before
        state[shelved.id] = theirs[shelved.id]
        state[shelved.id]?[3] = .null
        try desk.expect(state)
        try desk.store.redo(author: "a")
        try desk.expect(theirs)
    }

    @Test("U8 A rule that denies the deletion is a conflict whatever the policy")
    func aDeniedDeletion() throws {
        let inserted = Notebook(name: "New")
        try desk.edit("a") { $0.insert(inserted) }
        try desk.edit("b") { context in
            context.insert(Seal(notebook: try desk.object(Notebook.self, inserted.id, context)))
        }
        #expect(try desk.conflicts("a").kinds == ["collateral"])
        #expect(try desk.conflicts("a", .overwrite).kinds == ["denied"])
        let theirs = try desk.state()
        #expect(try desk.store.undo(author: "a", policy: .skip) == nil)
        try desk.expect(theirs)
    }

    @Test("U9 An inserted object that is gone already needs nothing", arguments: [0, 1, 2])
    func anInsertedObjectThatIsGone(policy: Int) throws {
        let inserted = Article(title: "New")
        try desk.edit("a") { $0.insert(inserted) }
        try desk.delete("b", Article.self, inserted.id)
        let policy = [UndoPolicy.fail, .skip, .overwrite][policy]
        #expect(try desk.store.undo(author: "a", policy: policy) == nil)
        try desk.expect(before)
        #expect(try desk.store.undoStack(author: "a").undo == [])
    }

    @Test("U10 A deletion with its cascade comes back, ids, references, links and order")
    func aCascadeComesBack() throws {
        let tag = Tag(name: "tag")
        let referrer = Article(title: "Referrer")
        try desk.edit(nil) { context in
            let notebook = try desk.object(Notebook.self, notebook, context)
            let article = try desk.object(Article.self, article, context)
            context.insert(referrer)
            referrer.next = article
            article.tags = [tag]
            article.sources = [referrer]
            for title in ["a", "b", "c"] {
                let other = Article(title: title, notebook: notebook)
                context.insert(other)
                notebook.shelf.insert(other, at: 0)
            }
        }
        let before = try desk.state()
        #expect(try desk.order(notebook) == "cba")
        try desk.delete("a", Notebook.self, notebook)
        let after = try desk.state()
        #expect(after.count == 2)
        try desk.store.undo(author: "a")
        #expect(try desk.order(notebook) == "cba")
        try desk.expect(before)
        try desk.store.redo(author: "a")
        try desk.expect(after)
    }

    @Test("U10 A reference that was nullified and is another now is kept, or taken")
    func aNullifiedReferenceThatIsAnother() throws {
        let referrer = Article(title: "Referrer")
        try desk.edit(nil) { context in
            context.insert(referrer)
            referrer.next = try desk.object(Article.self, article, context)
        }
        let before = try desk.state()
        try desk.delete("a", Article.self, article)
        try desk.edit("b", Article.self, referrer.id) { $0.next = $0 }
        let conflicts = try desk.conflicts("a")
        #expect(conflicts.map(\.property) == ["next"])
        #expect(conflicts.kinds == ["changed"])
        let plan = try #require(try desk.store.previewUndo(author: "a", policy: .skip))
        #expect(plan.changes.changes.map(\.id) == [article])
        #expect(plan.skipped == conflicts)
        try desk.store.undo(author: "a", policy: .overwrite)
        try desk.expect(before)
    }

    @Test("U10 A restored object is the instance that is still held")
    func aRestoredObjectIsTheSameInstance() throws {
        let context = desk.store.context(author: "a")
        let held = try desk.object(Article.self, article, context)
        context.delete(held)
        try context.save()
        #expect(held.isDeleted)
        try desk.store.undo(author: "a")
        try context.refresh()
        #expect(!held.isDeleted)
        #expect(held.title == "Macros")
        #expect(held.notebook?.id == notebook)
        #expect(try context.object(Article.self, id: article) === held)
    }

    @Test("U11 An optional reference to what is gone is a conflict, or nil")
    func anOptionalReferenceToWhatIsGone() throws {
        let target = Article(title: "Target")
        try desk.edit(nil) { context in
            context.insert(target)
            try desk.object(Article.self, article, context).next = target
        }
        var state = try desk.state()
        try desk.delete("a", Article.self, article)
        try desk.delete("b", Article.self, target.id)
        for policy in [UndoPolicy.fail, .overwrite] {
            let conflicts = try desk.conflicts("a", policy)
            #expect(conflicts.kinds == ["targetGone"])
            #expect(conflicts.first?.others == [target.id])
        }
        try desk.store.undo(author: "a", policy: .skip)
        state[target.id] = nil
        state[article]?[4] = .null
        try desk.expect(state)
    }

    @Test("U12 An object that needs what is gone is a conflict, or left out")
    func aRequiredReferenceToWhatIsGone() throws {
        let owner = Notebook(name: "Owner")
        let seal = Seal(notebook: owner)
        let other = Article(title: "Other")
        try desk.edit(nil) { context in
            context.insert(seal)
            context.insert(other)
        }
        try desk.edit("a") { context in
            context.delete(try desk.object(Seal.self, seal.id, context))
            context.delete(try desk.object(Article.self, other.id, context))
        }
        try desk.delete("b", Notebook.self, owner.id)
        for policy in [UndoPolicy.fail, .overwrite] {
            let conflicts = try desk.conflicts("a", policy)
            #expect(conflicts.kinds == ["targetGone"])
            #expect(conflicts.first?.object == seal.id)
        }
        try desk.store.undo(author: "a", policy: .skip)
        #expect(try desk.value(seal.id, "note") == nil)
        #expect(try desk.value(other.id, "title") == .string("Other"))
        try desk.reopen()
    }
}

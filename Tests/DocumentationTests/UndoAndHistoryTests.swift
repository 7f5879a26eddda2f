import Stet
import Testing

/// The code of UndoAndHistory.md.
@Suite struct UndoAndHistoryTests {
    @Test func anAuthorUndoesAndRedoes() throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)

        let context = store.context(author: "lala")
        let article = try context.object(Article.self, id: id)
        article?.rating = 4
        try context.save("rate")

        try store.undo(author: "lala")  // 0 again
        try store.redo(author: "lala")  // 4
        try context.refresh()

        #expect(article?.rating == 4)
        #expect(try store.journal().map(\.cause) == [.edit, .edit, .undo(of: 2), .redo(of: 3)])

        let stack = try store.undoStack(author: "lala")
        let title = stack.undo.first?.label  // "rate"
        let plan = try store.previewUndo(author: "lala")
        let change = plan?.changes.changes.first?["rating"]  // old 4, new 0

        #expect(title == "rate")
        #expect(change?.old == .int(4))
        #expect(change?.new == .int(0))
    }

    @Test func aGroupIsOneStep() throws {
        let desk = try Desk()
        let (store, context, article) = (desk.store, desk.context, desk.article)

        context.undoGroup = UndoGroup()
        article.rating = 4
        try context.save("rate")
        article.title = "Swift macros"
        try context.save("rename")
        context.undoGroup = nil

        try store.undo(author: "lala")  // title and rating

        #expect(try desk.stored().title == "Macros")
        #expect(try desk.stored().rating == 0)
    }

    @Test func anIncrementIsTakenBack() throws {
        let desk = try PageDesk()
        let (store, context, page) = (desk.store, desk.context, desk.page)
        let id = page.id
        var seen: [Int?] = []

        page.views += 1
        try context.save("view")
        try store.edit("import", author: "other") { context in
            try context.object(Page.self, id: id)?.views += 5
        }
        try store.undo(author: "lala")  // 5 views
        seen.append(try desk.views())
        try store.redo(author: "lala")  // 6 views

        seen.append(try desk.views())
        #expect(seen == [5, 6])
    }

    @Test func whatOthersHaveWrittenIsAConflict() throws {
        let desk = try Desk()
        let (store, context, article) = (desk.store, desk.context, desk.article)
        let id = article.id

        article.rating = 4
        article.title = "Swift macros"
        try context.save("edit")
        try store.edit("rate", author: "other") { context in
            try context.object(Article.self, id: id)?.rating = 5
        }
        var words: [String] = []
        do {
            try store.undo(author: "lala")
        } catch let error as UndoConflictError {
            words = error.conflicts.map(\.description)
        }

        let sentence =
            "rating of Article \(id) has since been changed by commit 3 of other"
        #expect(words == [sentence])
        #expect(try store.revision() == 3)

        try store.undo(author: "lala", policy: .skip)  // the old title, and the rating of the other

        #expect(try desk.stored().title == "Macros")
        #expect(try desk.stored().rating == 5)
    }

    @Test func anyCommitIsReverted() throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)
        try desk.saveElsewhere { $0.rating = 3 }
        let revision = try store.revision()

        try store.revert(revision, author: "lala")  // and lala can undo that

        #expect(try desk.stored().rating == 0)
        #expect(try store.undoStack(author: "lala").undo.map(\.commits) == [[3], [1]])
        #expect(try store.history(of: Article.self, id: id).count == 3)
    }

    @Test func theJournalAnswers() throws {
        let desk = try Desk()
        let (store, context, article) = (desk.store, desk.context, desk.article)
        try desk.saveElsewhere { $0.rating = 3 }
        try context.refresh()
        article.rating = 4
        try context.save("rate")

        let changes = try store.history(of: article)
        let authors = changes.map(\.author)  // the last first
        let last = try store.blame(article, \.rating)  // the change that gave it its rating

        #expect(authors == ["lala", "other", "lala"])
        #expect(last?.revision == 3)

        let net = try store.diff(from: 1, to: .latest)
        let rating = net.changes.first?["rating"]  // old 0, new 4, whatever was between

        #expect(rating?.old == .int(0))
        #expect(rating?.new == .int(4))

        var labels: [String] = []
        let filter = Commit.Filter(author: "lala")
        try store.forEachCommit(from: .latest, to: 1, where: filter) { commit in
            labels.append(commit.label ?? "")
            return labels.count < 10
        }

        #expect(labels == ["rate", "first article"])
    }
}

import Stet
import Testing

/// The code of Conflicts.md.
@Suite struct ConflictsTests {
    @Test func aConflictNamesTheThreeValues() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        try desk.saveElsewhere { $0.rating = 3 }
        var contested: [Conflict.Property] = []

        article.rating = 4
        do {
            try context.save("rate")
        } catch let error as ConflictError {
            contested = error.conflicts.flatMap(\.properties)  // base 0, mine 4, theirs 3
            try context.refresh()
            article.rating = 4
            try context.save("rate")
        }

        #expect(contested.map(\.base) == [.int(0)])
        #expect(contested.map(\.mine) == [.int(4)])
        #expect(contested.map(\.theirs) == [.int(3)])
        #expect(try desk.stored().rating == 4)
    }

    @Test func anEditOfTheStoreIsTriedAgain() async throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)

        let rating = try await store.edit("rate", author: "lala") { context in
            guard let article = try context.object(Article.self, id: id) else { return 0 }
            article.rating += 1
            return article.rating
        }

        #expect(rating == 1)
        #expect(try desk.stored().rating == 1)
    }

    @Test func aPolicyMergesPropertyByProperty() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        try desk.saveElsewhere { theirs in
            theirs.title = "Theirs"
            theirs.rating = 3
        }

        context.mergePolicy = .mergeContextWins
        article.title = "Mine"
        try context.save("rename")  // title "Mine", and the rating of the others

        #expect(article.rating == 3)
        #expect(try desk.stored().title == "Mine")
        #expect(try desk.stored().rating == 3)
    }

    @Test func aReducerMakesOneValueOfThree() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        let titles = MergePolicy.Reducer<String> { _, mine, theirs in "\(mine), \(theirs)" }
        context.mergePolicy = .mergeStoreWins
            .merging(Article.self, \.rating, by: .sum)
            .merging(Article.self, \.title, by: titles)

        try desk.saveElsewhere { theirs in
            theirs.title = "Theirs"
            theirs.rating = 3
        }
        article.title = "Mine"
        article.rating = 2
        try context.save()
        #expect(try desk.stored().title == "Mine, Theirs")
        #expect(try desk.stored().rating == 5)
    }

    @Test func incrementsAreAddedUp() throws {
        let desk = try PageDesk()
        let (context, page) = (desk.context, desk.page)
        let id = page.id
        try desk.store.edit("import", author: "other") { context in
            try context.object(Page.self, id: id)?.views += 5
        }

        page.views += 1  // another context has added 5 since
        try context.save("view")
        let views = page.views  // 6

        #expect(views == 6)
        #expect(try desk.views() == 6)
    }

    @Test func aClosureDecides() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        context.mergePolicy = .custom { conflict in
            conflict.property == "rating" ? conflict.theirs : conflict.mine
        }

        try desk.saveElsewhere { theirs in
            theirs.title = "Theirs"
            theirs.rating = 3
        }
        article.title = "Mine"
        article.rating = 2
        try context.save()
        #expect(try desk.stored().title == "Mine")
        #expect(try desk.stored().rating == 3)
    }

    @Test func refreshingMergesWhatIsPending() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        try desk.saveElsewhere { $0.rating = 3 }

        context.mergePolicy = .mergeContextWins
        article.title = "Mine"
        try context.refresh()
        let rating = article.rating  // 3, and the title is still pending
        context.rollback()  // to what is stored now

        #expect(rating == 3)
        #expect(article.title == "Macros")
        #expect(article.rating == 3)
    }
}

import Stet
import StetTestSupport
import Testing

private enum Plain {
    @Model final class Page {
        var title: String
        var views: Int16 = 0
        var likes: Int?

        init(title: String) { self.title = title }
    }
}

private enum Counted {
    @Model final class Page {
        var title: String
        @Attribute(.counter, .indexed, originalName: "views") var visits: Int = 0
        @Attribute(.counter) var likes: Int = 0

        init(title: String) { self.title = title }
    }
}

private enum PlainAgain {
    @Model final class Page {
        var title: String
        var visits: Int = 0
        var likes: Int?

        init(title: String) { self.title = title }
    }
}

/// An integer that becomes a counter, and a counter that becomes an integer again.
@Suite struct CounterMigrationTests {
    private let directory = TemporaryDirectory()

    @Test func anIntegerBecomesACounterAndBack() throws {
        let path = directory.file()
        let plain = try Store.open(at: path, for: Plain.Page.self)
        let context = plain.context(author: "me")
        let page = Plain.Page(title: "Start")
        context.insert(page)
        try context.save()
        page.views = 3
        try context.save("as a number")
        plain.close()

        let outline = try Store.plan(at: path, for: Counted.Page.self)
        let text = "\(outline)"
        for step in ["adds up changes of Page.visits", "adds up changes of Page.likes"] {
            #expect(text.contains(step), "\(text)")
        }
        let counted = try Store.open(at: path, for: Counted.Page.self)
        let other = counted.context(author: "other")
        let shown = try #require(try other.fetch(Counted.Page.self) { $0.visits == 3 }.first())
        #expect(shown.likes == 0)
        shown.visits += 5
        shown.likes += 1
        try other.save()
        // The commit of before is undone by the present rule.
        try counted.undo(author: "me")
        try other.refresh()
        #expect(shown.visits == 5)
        #expect(shown.likes == 1)
        #expect(try counted.verify().problems == [])
        counted.close()

        let again = try Store.open(at: path, for: PlainAgain.Page.self)
        try again.edit("more", author: "third") { context in
            try context.fetch(PlainAgain.Page.self).first()?.visits += 2
        }
        let error = try #require(throws: UndoConflictError.self) {
            try again.undo(author: "other")
        }
        #expect(error.conflicts.map(\.property) == ["visits"])
        #expect(try again.verify().problems == [])
        let last = try again.context().fetch(PlainAgain.Page.self).first()
        #expect(last?.visits == 7)
        #expect(last?.likes == 1)
    }

    @Test func aProgramThatDoesNotCountIsRefused() throws {
        let path = directory.file()
        let counted = try Store.open(at: path, for: Counted.Page.self)
        let context = counted.context()
        context.insert(Counted.Page(title: "Start"))
        try context.save()
        let revision = try counted.revision()
        counted.close()
        let outline = try Store.plan(at: path, for: PlainAgain.Page.self)
        #expect("\(outline)".contains("no longer adds up changes of Page.visits"))
        let same = try Store.open(at: path, for: Counted.Page.self)
        #expect(try same.revision() == revision)
    }
}

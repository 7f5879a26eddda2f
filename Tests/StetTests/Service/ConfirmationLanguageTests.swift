import Stet
import StetTestModels
import StetTestSupport
import Testing

/// Destructive actions of applications, and the language of all of them.
@Suite struct ConfirmationLanguageTests {
    private func store(_ messages: MessageTable) throws -> Store {
        var configuration = Store.Configuration()
        configuration.messages = messages
        return try Store.inMemory(
            for: Notebook.self, Article.self, configuration: configuration)
    }

    @Test("Service 10 plans are in the language of the store's configuration")
    func plans() throws {
        var chinese = MessageTable.simplifiedChinese
        chinese.names["Article"] = "文章"
        let store = try store(chinese)
        let context = store.context()
        let article = Article(title: "a")
        context.insert(article)
        try context.save()
        let action = try context.requestDelete(article)
        #expect(action.plan.title == "要删除文章吗？")
        #expect(action.plan.destructiveTitle == "删除")
        #expect(action.plan.message == "将永久丢失：1 个文章。")
        action.cancel()
        let all = try context.requestDeleteAll(Notebook.self)
        #expect(all.plan.message == "不会丢失任何内容。")
        all.cancel()
        let trim = try store.requestTrim(before: 1)
        #expect(trim.plan.destructiveTitle == "截短")
        trim.cancel()
    }

    @Test("Service 10 in English they are as before, with a plural of its own for one")
    func english() throws {
        let store = try store(.english)
        let context = store.context()
        for title in ["a", "b"] { context.insert(Article(title: title)) }
        try context.save()
        let some = try context.requestDelete(Article.self) { $0.title == "a" }
        #expect(some.plan.title == "Delete 1 of Article?")
        #expect(some.plan.message == "Lost for good: 1 Article.")
        some.cancel()
        let erase = try store.requestErase()
        #expect(erase.plan.title == "Erase the store \(store.path)?")
        #expect(erase.plan.destructiveTitle == "Erase")
        erase.cancel()
    }

    @Test("Service 10 an application's own action has a plan of its own, and runs once confirmed")
    func ownActions() async throws {
        var isClosed = false
        let plan = DestructiveAction.Plan(
            title: "Close the account?", destructiveTitle: "Close",
            losses: [DestructiveAction.Plan.Loss(entity: "Article", objects: [ObjectID()])],
            messages: .simplifiedChinese)
        #expect(plan.message == "将永久丢失：1 个Article。")
        try await DestructiveAction(plan: plan) { isClosed = true }
            .confirm(with: FixedConfirmer(true))
        #expect(isClosed)
        await #expect(throws: NotConfirmedError.self) {
            try await DestructiveAction(plan: plan) { isClosed = false }
                .confirm(with: FixedConfirmer(false))
        }
        #expect(isClosed)
    }

    @Test("Service 10 a store is opened, and migrated, on a thread of its own")
    func opening() async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.openInBackground(
            at: directory.file(), for: Notebook.self, Article.self)
        try await store.edit { $0.insert(Article(title: "a")) }
        store.close()
        var configuration = Store.Configuration()
        configuration.removedModels = ["Article"]
        await #expect(throws: StoreError.self) {
            try await Store.openInBackground(
                at: directory.file(), for: Article.self, configuration: configuration)
        }
        let plan = MigrationPlan(.version(Notebook.self, Article.self))
        let again = try await Store.openInBackground(at: directory.file(), migrating: plan)
        #expect(try again.fetch(Article.self).count() == 1)
        again.close()
    }
}

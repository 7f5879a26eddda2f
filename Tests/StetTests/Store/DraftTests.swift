import Foundation
import Stet
import StetTestModels
import StetTestSupport
import StetTesting
import Testing

@Model private final class Login {
    @Attribute(.hidden) var secret: String
    init(secret: String) { self.secret = secret }
}

/// Unsaved changes that survive a restart.
@Suite struct DraftTests {
    private let directory = TemporaryDirectory()
    private let clock = TestClock()

    private func open() throws -> Store {
        try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, Login.self,
            configuration: Store.Configuration(clock: clock))
    }

    @Test("Service 8 a draft is applied after a restart, on top of what others have saved")
    func restart() throws {
        let article = Article(title: "a")
        let id = article.id
        do {
            let store = try open()
            let context = store.context()
            context.insert(article)
            try context.save()
            article.title = "b"
            let notebook = Notebook(name: "new")
            context.insert(notebook)
            article.notebook = notebook
            context.insert(Login(secret: "hunter2"))
            try store.drafts.save(context, as: "article/7 ü")
            #expect(context.hasChanges)
            store.close()
        }
        let store = try open()
        try store.edit { try $0.object(Article.self, id: id)?.rating = 4 }
        let entry = try #require(try store.drafts.list().first)
        #expect(entry.name == "article/7 ü")
        #expect(entry.time == clock.now)
        #expect(entry.revision == 1)
        #expect(entry.changeCount == 3)
        let context = store.context()
        try context.apply(try store.drafts.changes("article/7 ü"))
        try context.save()
        let saved = try #require(try context.object(Article.self, id: id))
        #expect(saved.title == "b")
        #expect(saved.rating == 4)
        #expect(saved.notebook?.name == "new")
        #expect(try store.fetch(Login.self).all().map(\.secret) == ["hunter2"])
        try store.drafts.remove("article/7 ü")
        try store.drafts.remove("article/7 ü")
        #expect(try store.drafts.list() == [])
        store.close()
    }

    @Test("Service 8 a draft replaces an earlier one of its name, and is the owner's alone")
    func replacement() throws {
        let store = try open()
        let context = store.context()
        context.insert(Article(title: "a"))
        try store.drafts.save(context, as: "one")
        context.insert(Article(title: "b"))
        try store.drafts.save(context, as: "one")
        try store.drafts.save(context, as: "two")
        #expect(try store.drafts.list().map(\.changeCount) == [2, 2])
        let folder = directory.file() + "-drafts"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.count == 2)
        for name in names {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        try "half".write(toFile: "\(folder)/half.json.1", atomically: true, encoding: .utf8)
        try store.requestErase().confirm()
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test("Service 8 a redaction removes the changes of its properties from drafts, and no others")
    func redaction() throws {
        let store = try open()
        let article = Article(title: "secret 1")
        let other = Article(title: "other")
        let context = store.context()
        context.insert(article)
        context.insert(other)
        try context.save()
        article.title = "secret 2"
        article.rating = 3
        other.title = "secret of another"
        try store.drafts.save(context, as: "both")
        context.rollback(other)
        article.rating = 0
        try store.drafts.save(context, as: "title")
        context.rollback()
        context.delete(article)
        try store.drafts.save(context, as: "deletion")
        context.rollback()
        article.title = "public"
        try context.save()
        let folder = directory.file() + "-drafts"
        let leftover = "\(folder)/half.json.of-a-killed-process"
        try "secret 1".write(toFile: leftover, atomically: true, encoding: .utf8)
        try store.requestRedaction(of: Article.self, id: article.id, \.title).confirm()
        #expect(!FileManager.default.fileExists(atPath: leftover))
        let both = try store.drafts.changes("both").changes
        #expect(both.map(\.id) == [article.id, other.id])
        #expect(both[0].properties.map(\.name) == ["rating"])
        #expect(both[1]["title"]?.new == .string("secret of another"))
        #expect(try store.drafts.changes("title").isEmpty)
        let deletion = try store.drafts.changes("deletion").changes
        try #require(deletion.map(\.kind) == [.delete])
        #expect(deletion[0]["title"] == nil)
        #expect(try store.drafts.list().map(\.changeCount) == [2, 1, 0])
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            #expect(!text.contains("secret 1"))
            #expect(!text.contains("secret 2"))
        }
        let fresh = store.context()
        try fresh.apply(try store.drafts.changes("both"))
        #expect(try fresh.object(Article.self, id: article.id)?.rating == 3)
        try store.context().apply(try store.drafts.changes("deletion"))
    }

    @Test("Service 8 a redaction beside a damaged draft redacts the journal, and names the file")
    func redactionBesideADamagedDraft() throws {
        let store = try open()
        let article = Article(title: "secret")
        let context = store.context()
        context.insert(article)
        try context.save()
        try store.drafts.save(context, as: "empty")
        article.title = "public"
        try context.save()
        let folder = directory.file() + "-drafts"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        let whole = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
        try whole.prefix(10).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        let action = try store.requestRedaction(of: Article.self, id: article.id, \.title)
        var error: StoreError?
        do { try action.confirm() } catch let failure as StoreError { error = failure }
        #expect(error?.code == .damaged)
        #expect(error?.path == "\(folder)/\(name)")
        #expect(try store.journal().map(\.isRedacted) == [true, true])
        try whole.write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        try store.requestRedaction(of: Article.self, id: article.id, \.title).confirm()
        #expect(try store.verify().problems == [])
    }

    @Test("Service 8 a draft that is missing, damaged or of another store is an error")
    func errors() throws {
        let store = try open()
        let missing = #expect(throws: StoreError.self) { try store.drafts.changes("none") }
        #expect(missing?.code == .notFound)
        try store.drafts.save(store.context(), as: "empty")
        #expect(try store.drafts.changes("empty").isEmpty)
        let folder = directory.file() + "-drafts"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        let whole = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
        try whole.prefix(10).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        let damaged = #expect(throws: StoreError.self) { try store.drafts.changes("empty") }
        #expect(damaged?.code == .damaged)
        try whole.write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        store.close()
        try FileManager.default.removeItem(atPath: directory.file())
        let other = try open()
        let foreign = #expect(throws: StoreError.self) { try other.drafts.changes("empty") }
        #expect(foreign?.code == .notFound)
        other.close()
        let memory = try Store.inMemory(for: Notebook.self, Article.self)
        let none = #expect(throws: StoreError.self) {
            try memory.drafts.save(memory.context(), as: "x")
        }
        #expect(none?.code == .inputOutput)
    }
}

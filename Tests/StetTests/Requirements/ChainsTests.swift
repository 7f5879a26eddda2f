import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

// Document 003: a chain of responsibility on models that know nothing of it.

@Suite struct ChainsTests {
    private let directory = TemporaryDirectory()

    private func store(_ chain: ValidationChain) throws -> Store {
        var configuration = Store.Configuration()
        configuration.chains = [chain]
        return try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, configuration: configuration)
    }

    private func add(to chain: ValidationChain) {
        chain.add("no digits", for: Notebook.self, \.name, message: "no digits, please") { name in
            !name.contains(where: \.isNumber)
        }
        chain.add("short", for: Notebook.self, \.name, message: "a short name, please") { name in
            name.count < 9
        }
    }

    private func rules(_ context: ManagedContext) -> [String?] {
        do {
            try context.save(onFailure: .keepPending)
            return []
        } catch {
            return (error as? ValidationError)?.violations.map(\.rule) ?? ["\(error)"]
        }
    }

    @Test("D1 a chain stops at the first failure or tells all, and changes while the store is open")
    func d1Modes() throws {
        let chain = ValidationChain(.firstFailure)
        add(to: chain)
        let context = try store(chain).context()
        let notebook = Notebook(name: "Notebook 2000")
        context.insert(notebook)
        #expect(rules(context) == ["no digits"])
        #expect(chain.remove("no digits"))
        #expect(!chain.remove("no digits"))
        #expect(rules(context) == ["short"])
        #expect(chain.names == ["short"])
        chain.add("no space", for: Notebook.self, \.name) { !$0.contains(" ") }
        #expect(rules(context) == ["short"])
        notebook.name = "a b"
        #expect(rules(context) == ["no space"])
        notebook.name = "a"
        #expect(rules(context) == [])
        #expect(!context.hasChanges)

        let all = ValidationChain(.all)
        add(to: all)
        let field = ValidationChain.Field(
            entity: "Notebook", property: "name", value: .string("Notebook 2000"))
        #expect(all.check(field).map(\.message) == ["no digits, please", "a short name, please"])
        #expect(all.check(field).map(\.property) == ["name", "name"])
        #expect(all.check(field).allSatisfy { $0.value == field.value })
    }

    @Test("D1 a chain of a store tells all that it is asked to")
    func d1All() throws {
        let chain = ValidationChain(.all)
        add(to: chain)
        let context = try store(chain).context()
        let notebook = Notebook(name: " Notebook 2000")
        context.insert(notebook)
        #expect(rules(context) == ["no digits", "short"])
        let early = try #require(throws: ValidationError.self) { try notebook.validate(\.name) }
        #expect(early.violations.map(\.rule) == ["no digits", "short"])
        #expect(
            early.violations.map(\.value) == [.string("Notebook 2000"), .string("Notebook 2000")])
        chain.add("short", for: Notebook.self, \.name) { _ in true }
        #expect(chain.names == ["no digits", "short"])
        #expect(rules(context) == ["no digits"])
    }

    @Test("D2 a link sees the property and its value, and has its own message")
    func d2Fields() throws {
        let chain = ValidationChain(.all)
        chain.add("ASCII", message: "{property} must be plain") { field in
            guard case .string(let text) = field.value else { return true }
            return text.utf8.allSatisfy { $0 < 128 }
        }
        chain.add("rating", for: Article.self, \.rating, code: .tooLarge) { $0 < 4 }
        let context = try store(chain).context()
        let article = Article(title: "Mäcros", notebook: Notebook(name: "Bücher"))
        article.rating = 4
        context.insert(article)
        let error = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(
            error.violations.map(\.message) == [
                "title must be plain", "rating is not valid", "name must be plain",
            ])
        #expect(error.violations.map(\.code) == [.custom, .tooLarge, .custom])
        #expect(
            error.violations.map(\.value)
                == [.string("Mäcros"), .int(4), .string("Bücher")])
        #expect(error.violations.map(\.object).prefix(2) == [article.id, article.id])
        article.title = "Macros"
        article.notebook?.name = "Books"
        article.rating = 3
        #expect(try context.save() != nil)
    }
}

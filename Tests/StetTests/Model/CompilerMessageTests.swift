import Foundation
import StetTestSupport
import Testing

/// The messages of the compiler for types that do not fit: the macro does not see which type a name
/// denotes.
///
/// Each case is a separate program, compiled against the modules of this build.
@Suite struct CompilerMessageTests {
    /// The text of all errors, in order.
    private func errors(
        _ property: String, _ statement: String, flags: [String] = []
    ) throws -> [String] {
        let source = """
            import Foundation
            import Stet

            struct Point { var x = 0 }
            enum Color: String { case red }
            @Model final class Notebook {
                var name: String
                init(name: String) { self.name = name }
            }
            @Model final class Article {
                var title: String = ""
                var notebook: Notebook?
                var names: [String] = []
                \(property)
                init() {}
            }
            func use(_ article: Article, _ other: Article, _ context: ManagedContext) throws {
                \(statement)
            }
            """
        return try CompiledProgram(source, flags: flags).errors.map(\.text)
    }

    @Test(
        "C7 an object of another model is refused by the compiler",
        arguments: [
            ("article.notebook = other", "Article", "Notebook"),
            ("article.related.append(article.notebook!)", "Notebook", "Article"),
            ("article.related = [article.notebook!]", "Notebook", "Article"),
            ("article.related = other", "Article", "OrderedToMany"),
            ("article.related.insert(Notebook(name: \"\"), at: 0)", "Notebook", "Article"),
        ])
    func anObjectOfAnotherModelDoesNotCompile(
        statement: String, given: String, wanted: String
    ) throws {
        let errors = try errors("var related: OrderedToMany<Article>", statement)
        try #require(errors.count == 1)
        #expect(errors[0].contains("'\(given)'"))
        #expect(errors[0].contains("'\(wanted)"))
    }

    @Test(
        "C7 an inverse that does not refer back is refused by the compiler",
        arguments: [
            ("\\Notebook.name", false), ("\\Article.notebook", false), ("\\Article.next", true),
        ])
    func anInverseRefersBack(inverse: String, fits: Bool) throws {
        let errors = try errors(
            """
            var next: Article?
            @Relationship(inverse: \(inverse)) var related: ToMany<Article>
            """, "")
        #expect(errors.isEmpty == fits)
    }

    @Test func whatFitsCompiles() throws {
        #expect(try errors("var count: Int = 0", "article.notebook = other.notebook") == [])
    }

    @Test(arguments: [
        ("article.title = 3", "cannot assign value of type 'Int' to type 'String'"),
        ("article.notebook = other", "cannot assign value of type 'Article' to type 'Notebook'"),
        (
            "article.names = [1]",
            "cannot convert value of type 'Int' to expected element type 'String'"
        ),
        (
            "let found: Article? = try context.object(Notebook.self, id: other.id); _ = found",
            "cannot assign value of type 'Notebook?' to type 'Article?'"
        ),
    ])
    func mixedUpTypesDoNotCompile(statement: String, message: String) throws {
        let errors = try errors("", statement)
        #expect(errors == [message])
    }

    @Test(arguments: [
        (
            "_ = try store.edit { _ in (1, Article()) }",
            "type 'Article' does not conform to the 'Sendable' protocol"
        ),
        (
            "var kept: Article?; try store.edit { context in kept = Article() }; _ = kept",
            "mutation of captured var 'kept' in concurrently-executing code "
                + "[#SendableClosureCaptures]"
        ),
        (
            "var kept: ManagedContext?; try store.edit { kept = $0 }; _ = kept",
            "mutation of captured var 'kept' in concurrently-executing code "
                + "[#SendableClosureCaptures]"
        ),
    ])
    func anEditOfTheStoreCannotLeakObjects(statement: String, message: String) throws {
        let errors = try errors("", "let store = context.store; \(statement)")
        #expect(errors.contains(message), "\(errors)")
    }

    @Test("C12 twelve mixed conditions are no burden for the compiler")
    func aLongConditionCompilesWithLittleWork() throws {
        let attributes = """
            var rating: Int = 0
            var price: Double = 0
            var size: Int?
            var made: Date = Date()
            var isDraft: Bool = false
            """
        let conditions = """
            let date = Date()
            let fetch = context.fetch(Article.self) {
                $0.rating >= 3 && $0.title.hasPrefix("S") && $0.price * 2 + 1 > 3.5
                    && !($0.rating == 5) && ($0.made > date || $0.size == nil || $0.size != 4)
                    && ($0.notebook?.name == "x" || $0.notebook == nil)
                    && (1...3).contains($0.rating) && ["a", "b"].contains($0.title) && $0.isDraft
                    && ($0.notebook?.name ?? "").contains("y") && $0.title < "z" && $0.price == 1
            }.sorted(by: \\.price, .descending).then(by: \\.notebook?.name).limit(3)
            _ = try fetch.all()
            """
        // With this threshold, a hundredth of the default, the solver gives up however fast the
        // machine is.
        let flags = ["-Xfrontend", "-solver-scope-threshold=10000"]
        #expect(try errors(attributes, conditions, flags: flags) == [])
    }

    @Test(arguments: [
        (
            "$0.rating >= \"x\"",
            "cannot convert value of type '_FieldOf<Int>' (aka 'QueryExpression<Int>') "
                + "to expected argument type 'QueryExpression<String?>'"
        ),
        ("$0.titel == \"x\"", "value of type 'Article.Fields' has no member 'titel'"),
        (
            "$0.rating",
            "cannot convert value of type '_FieldOf<Int>' (aka 'QueryExpression<Int>') "
                + "to expected argument type 'QueryExpression<Bool>'"
        ),
    ])
    func aMistakeInAConditionIsNamed(condition: String, message: String) throws {
        let statement = "_ = try context.fetch(Article.self) { \(condition) }.all()"
        #expect(try errors("var rating: Int = 0", statement).contains(message))
    }
}

import Foundation
import StetTestSupport
import Testing

/// What the compiler says of types that do not fit: the macro does not see what a name stands for.
///
/// Each case is a program of its own, compiled against the modules of this build.
@Suite struct CompilerMessageTests {
    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    /// The text of all errors, in order.
    private func errors(_ property: String, _ statement: String) throws -> [String] {
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
        let directory = TemporaryDirectory()
        let file = directory.file("Program.swift")
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        let build = ChildProcess.buildFolder
        let outcome = try ChildProcess.run(
            [
                "-c", "exec swiftc \"$@\" 2>&1", "swiftc", "-typecheck", "-swift-version", "6",
                "-diagnostic-style", "llvm", "-module-cache-path", directory.file("cache"), "-I",
                "\(build)/Modules", "-I", "\(Self.package)/Sources/CLMDB",
                "-load-plugin-executable", "\(build)/StetMacros-tool#StetMacros", file,
            ], program: "/bin/sh")
        return outcome.lines.compactMap { line in
            line.range(of: ": error: ").map { String(line[$0.upperBound...]) }
        }
    }

    @Test(
        "C7 an object of another model is refused by the compiler",
        arguments: [
            ("article.notebook = other", "Article", "Notebook"),
            ("article.related.append(article.notebook!)", "Notebook", "Article"),
            ("article.related = [article.notebook!]", "Notebook", "Article"),
            ("article.related.insert(Notebook(name: \"\"), at: 0)", "Notebook", "Article"),
        ])
    func anObjectOfAnotherModelDoesNotCompile(
        statement: String, given: String, wanted: String
    ) throws {
        let errors = try errors("var related: OrderedToMany<Article>", statement)
        try #require(errors.count == 1)
        #expect(errors[0].contains("'\(given)'") && errors[0].contains("'\(wanted)"))
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
        ("var point: Point = Point()", "type 'Point' does not conform to protocol 'Storable'"),
        ("var color: Color?", "type 'Color' does not conform to protocol 'OptionalStorable'"),
        (
            "var points: [Point] = []",
            "type 'Point' does not conform to protocol 'AttributeElement'"
        ),
        (
            "var owner: Notebook = Notebook(name: \"\")",
            "type 'Notebook' does not conform to protocol 'Storable'"
        ),
    ])
    func aTypeThatNoModelCanStoreIsNamedFirst(property: String, message: String) throws {
        #expect(try errors(property, "").first == message)
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
            "_ = try store.edit { _ in Article() }",
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
}

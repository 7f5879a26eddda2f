import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import StetMacros

/// The messages of the compiler for classes that cannot be models.
@Suite struct ModelMisuseTests {
    private static let macros: [String: MacroSpec] = [
        "Model": MacroSpec(type: ModelMacro.self),
        "Attribute": MacroSpec(type: AttributeMacro.self),
        "Transient": MacroSpec(type: TransientMacro.self),
    ]

    /// The messages of all diagnostics of an expansion, in order, except that a model without an
    /// initialiser needs one.
    private func messages(
        _ source: String, _ macros: [String: MacroSpec] = Self.macros
    ) -> [String] {
        Parser.messages(source, macros).filter { !$0.contains("needs an initialiser") }
    }

    @Test(arguments: [
        (
            "var tags: ToMany<Tag>?",
            "'tags' can't be optional: a relationship without members is empty"
        ),
        (
            "@Attribute(.unique) var tags: ToMany<Tag>",
            "'tags' is a relationship: write @Relationship"
        ),
        ("@Relationship var name: String", "'name' is an attribute: write @Attribute"),
        (
            "@Relationship var tags: [Tag]",
            "A relationship to many is a 'ToMany<Tag>', or an 'OrderedToMany<Tag>'"
        ),
        (
            "@Relationship(inverse: \\Tag.articles) var tag: Tag?",
            "The inverse is named at the end that is to many, not at 'tag'"
        ),
        (
            "@Relationship(.required) var tags: ToMany<Tag>",
            "'.required' needs a relationship to one; 'tags' has '.count(1...)'"
        ),
        (
            "@Relationship(.count(1...2)) var tag: Tag?",
            "'.count' needs a relationship to many; 'tag' is Tag?"
        ),
    ])
    func aRelationshipIsWrittenInOneWay(property: String, message: String) {
        let macros: [String: MacroSpec] = [
            "Model": MacroSpec(type: ModelMacro.self),
            "Relationship": MacroSpec(type: RelationshipMacro.self),
        ]
        #expect(messages("@Model final class Article { \(property) }", macros) == [message])
    }

    @Test func aMessageAboutAnOptionStandsAtTheOption() {
        let source = """
            @Model(.shared)
            final class Article {
                var title: String
                @Attribute(.unique, .range(0...5))
                var text: String
                @Relationship(.count(1...2)) var tag: Tag?
                init() {}
            }
            """
        let file = SwiftParser.Parser.parse(source: source)
        let context = BasicMacroExpansionContext(
            sourceFiles: [file: .init(moduleName: "Articles", fullFilePath: "Article.swift")])
        let macros = Self.macros.merging(
            ["Relationship": MacroSpec(type: RelationshipMacro.self)]) { first, _ in first }
        _ = file.expand(macroSpecs: macros) { _ in
            BasicMacroExpansionContext(sharingWith: context, lexicalContext: [])
        }
        let places = context.diagnostics.map { diagnostic in
            let place = context.location(
                for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "Article.swift")
            return "\(place.line):\(place.column)"
        }
        #expect(Set(places) == ["1:8", "4:25", "6:19"], "\(context.diagnostics.map(\.message))")
    }

    @Test func aRelationshipBelongsToAProperty() {
        let macros = ["Relationship": MacroSpec(type: RelationshipMacro.self)]
        #expect(
            messages("@Relationship func f() {}", macros)
                == ["@Relationship belongs to a stored 'var' of a model"])
    }

    @Test func anIndexBelongsIntoTheClassOfAModel() {
        let macros = ["Unique": MacroSpec(type: IndexMacro.self)]
        let message = "#Unique belongs into the class of a model"
        #expect(messages("#Unique<Article>(\\.title)", macros) == [message])
        #expect(messages("final class A { #Unique<A>(\\.title) }", macros) == [message])
    }

    @Test func originalNamesThatLeadNowhereAreReported() {
        #expect(
            messages(
                """
                @Model(originalName: "Article") final class Article {
                    @Attribute(originalName: "title") var title: String
                    @Attribute(.trimmed, originalName: "title") var text: String
                    @Attribute(originalName: "count") var rating: Int = 0
                    @Relationship(originalName: "count") var next: Article?
                    @Attribute(originalName: "old") var new: Int = 0
                }
                """)
                == [
                    "'originalName' must be the former name: the name is 'Article' already",
                    "'originalName' must be the former name: the name is 'title' already",
                    "'text' can't have been 'title': the model has a 'title' still",
                    "Only one property can have been 'count'",
                ])
    }

    @Test func onlyAFinalClassWithoutParametersIsAModel() {
        #expect(
            messages("@Model struct Article {}") == [
                "@Model needs a class: objects have an identity"
            ])
        #expect(
            messages("@Model class Article {}")
                == ["@Model needs a final class: write 'final class Article'"])
        #expect(
            messages("@Model final class Article<T> {}")
                == ["@Model can't be generic: an entity has one set of properties"])
    }

    @Test(arguments: [
        ("var title = \"\"", "'title' needs an explicit type: write 'var title: …'"),
        ("var a: Int = 0, b: Int = 0", "A model's properties need a declaration each"),
        ("let title: String", "A model's property can't be a constant: make 'title' a 'var'"),
        (
            "lazy var title: String = \"\"",
            "'title' can't be lazy, weak or unowned: mark it @Transient to leave it out"
        ),
        (
            "weak var owner: Owner?",
            "'owner' can't be lazy, weak or unowned: mark it @Transient to leave it out"
        ),
        ("var title: String!", "'title' can't be implicitly unwrapped: write '?' instead of '!'"),
        ("var id: Int = 0", "'id' is a member of every model: choose another name"),
        (
            "var didInsert: Bool = false",
            "'didInsert' is a member of every model: choose another name"
        ),
        (
            "var willDelete: Bool = false",
            "'willDelete' is a member of every model: choose another name"
        ),
        (
            "var didFetch: Bool = false",
            "'didFetch' is a member of every model: choose another name"
        ),
        ("var snapshot: Int?", "'snapshot' is a member of every model: choose another name"),
        ("var title: String; var title: Int", "'title' is declared twice"),
        ("let title = 1; var title: Int", "'title' is declared twice"),
        ("private(set) var title = 1", "'title' needs an explicit type: write 'var title: …'"),
        (
            "unowned var owner: Owner",
            "'owner' can't be lazy, weak or unowned: mark it @Transient to leave it out"
        ),
        (
            "var size: Int = 0 { willSet {} }",
            "A model's property can't have observers: 'size' is saved by its accessors; "
                + "use willSave() or a computed property"
        ),
        ("@Transient lazy var cache: Int", "@Transient 'cache' needs a default value"),
        ("var _title: String = \"\"", "The name of a model's property can't begin with '_'"),
        (
            "var title: String = \"\" { didSet {} }",
            "A model's property can't have observers: 'title' is saved by its accessors; "
                + "use willSave() or a computed property"
        ),
        ("@Transient var cache: Int", "@Transient 'cache' needs a default value"),
        (
            "@Attribute(.trimmed) @Attribute(.notEmpty) var a: String",
            "'a' has several @Attribute: write all in one"
        ),
        (
            "@Attribute(.stamped(.insert), .stamped(.update)) var a: Date",
            "'a' can be stamped in one way only"
        ),
        (
            "\n#if DEBUG\nvar a: Int = 0\n#endif\n",
            "A model's property can't stand in #if: mark it @Transient"
        ),
        ("@Attribute(.trimmed) var count: Int = 0", "'.trimmed' needs a String; 'count' is Int"),
        (
            "@Attribute(.length(1...2)) var on: Bool?",
            "'.length' needs a String, Data, an array or a dictionary; 'on' is Bool?"
        ),
        (
            "@Attribute(.notEmpty) var link: Foundation.URL",
            "'.notEmpty' needs a String, Data, an array or a dictionary; 'link' is Foundation.URL"
        ),
        (
            "@Attribute(.range(0...1)) var text: Optional<String>",
            "'.range' needs a number or a Date; 'text' is Optional<String>"
        ),
        (
            "@Attribute(.range(0...1)) var list: [Int]",
            "'.range' needs a number or a Date; 'list' is [Int]"
        ),
        ("@Attribute(.stamped(.insert)) var day: Int", "'.stamped' needs a Date; 'day' is Int"),
        ("@Attribute(.lowercased) var a: Int", "'.lowercased' needs a String; 'a' is Int"),
        ("@Attribute(.nfc) var a: Data", "'.nfc' needs a String; 'a' is Data"),
        ("@Attribute(.matches(\"a\")) var a: Int", "'.matches' needs a String; 'a' is Int"),
        ("@Attribute(.matches(\"(\")) var a: String", "'(' is no regular expression"),
        (
            "@Attribute(.matches(#\"\\d+(\"#)) var a: String",
            "'\\d+(' is no regular expression"
        ),
        (
            "@Attribute(.oneOf(\"a\")) var a: [String]",
            "'.oneOf' needs a String, a number or a Date; 'a' is [String]"
        ),
        (
            "@Attribute(.required) var text: String",
            "'.required' says nothing new: 'text' is not optional"
        ),
        (
            "@Attribute(.indexed) var map: [String: Int]?",
            "'.indexed' needs values with an order; 'map' is [String: Int]?"
        ),
        (
            "@Attribute(.unique(.caseInsensitive)) var count: Int",
            "'.unique' compares only a String in such a way; 'count' is Int"
        ),
        (
            "var a: Int\n#Unique<Article>(\\.a, \\.b)",
            "'b' is not a stored property of the model"
        ),
        ("#Index<Article>(path)", "#Index reads the text: write '\\.name', not 'path'"),
        (
            "var a: Int\n#Index<Article>(\\.a.b)",
            "'a' is not an embedded value: #Index takes '\\.name' or, in an embedded value, "
                + "'\\.address.city'"
        ),
        ("#Unique<Article>()", "#Unique needs properties: write '\\.name'"),
    ])
    func aPropertyThatDoesNotFitIsExplained(source: String, message: String) {
        #expect(messages("@Model final class Article { \(source) }") == [message])
    }

    @Test(arguments: [
        "(Int, Int)", "() -> Void", "(() -> Void)?", "any Error", "some Equatable", "Any", "Any?",
        "Character", "[[Int]]", "[Int?]", "[String: [Int]]",
        "[String: Int?]", "Int??", "Int.Type", "Codable & Sendable",
    ])
    func aTypeThatIsSeenNotToFitIsExplained(type: String) {
        let message =
            "A model can't store '\(type)': put it into a CodableAttribute, or mark 'a' @Transient"
        #expect(messages("@Model final class Article { var a: \(type) }") == [message])
        #expect(messages("@Model final class Article { @Transient var a: \(type) = b }") == [])
    }

    @Test(arguments: [
        "var title: String", "var a: [Int]", "var a: [String: Double]?", "var a: Address",
        "var a: Foundation.Decimal = 1", "var a: Optional<[UInt8]>", "private(set) var a: Int = 0",
        "static let shared = 1", "static var several = 1, more = 2", "nonisolated static var a = 1",
        "@Attribute(.range(0...1)) var a: UInt8", "@Attribute(.length(0...1)) var a: [Int]?",
        "@Attribute(.notEmpty) var a: [String: Int]", "@Attribute(.range(0...1)) var a: Decimal?",
        "#if DEBUG\nstatic let a = 1\nvar b: Int { 1 }\n#endif", "var title: String?",
        "var other: Article?", "static var count = 0",
        "var upper: String { title.uppercased() }", "let constant = 3", "@Transient var cache = 0",
        "@Transient var cache: Int?", "@Transient lazy var cache: Int = 0",
        "@Attribute(.trimmed, .notEmpty, .length(1...)) var title: String?",
        "@Attribute(.range(0...5)) var rating: Foundation.Date",
        "@Attribute(.length(1...2)) var alias: Name",
        "@Attribute(.matches(\"[a-z]+\"), .lowercased, .nfc) var a: String?",
        "@Attribute(.matches(#\"\\d+\"#)) var a: String",
        "@Attribute(.matches(\"\\\\d(\")) var a: String",
        "@Attribute(.oneOf(Size.small)) var a: Size?", "@Attribute(.oneOf(1, 2)) var a: UInt8",
        "@Attribute(.normalized(by: rounded)) var a: Double",
    ])
    func whatFitsIsAccepted(source: String) {
        #expect(messages("@Model final class Article { \(source) }") == [])
    }

    @Test(arguments: [
        (
            "@Model(.observed) final class A {}",
            "@Model has no option '.observed': it must be written out, and there are "
                + "'.observable' and '.protected'"
        ),
        (
            "@Model(options) final class A {}",
            "@Model has no option 'options': it must be written out, and there are "
                + "'.observable' and '.protected'"
        ),
        (
            "@Observable @Model final class A {}",
            "@Observable does not see what a context puts back: write @Model(.observable)"
        ),
        (
            "@Model final class A { func willSave() throws {} }",
            "This would not be called: a hook is 'func willSave()'"
        ),
        (
            "@Model final class A { static func didInsert() {} }",
            "This would not be called: a hook is 'func didInsert()'"
        ),
    ])
    func anOptionOrHookThatIsNoneIsExplained(source: String, message: String) {
        #expect(messages(source) == [message])
    }

    @Test func optionsAndHooksAreAccepted() {
        #expect(
            messages(
                """
                @Model(.observable) final class A {
                    func didInsert() {}
                    func willSave() {}
                    func willDelete() {}
                    func didFetch() {}
                }
                """) == [])
    }

    @Test func attributesInTheWrongPlaceAreReported() {
        #expect(
            messages("struct A { @Attribute(.trimmed) let title: String = \"\" }")
                == ["@Attribute belongs to a stored 'var' of a model"])
        #expect(
            messages("struct A { @Transient func f() {} }")
                == ["@Transient belongs to a property of a model"])
    }
}

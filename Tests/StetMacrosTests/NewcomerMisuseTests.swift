import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import Testing

@testable import StetMacros

/// The messages of the macro for the first models of a newcomer.
@Suite struct NewcomerMisuseTests {
    private func messages(_ source: String) -> [String] {
        let macros: [String: MacroSpec] = [
            "Model": MacroSpec(type: ModelMacro.self),
            "Attribute": MacroSpec(type: AttributeMacro.self),
            "Relationship": MacroSpec(type: RelationshipMacro.self),
        ]
        return Parser.messages(source, macros)
    }

    @Test(arguments: ["Set<Tag>", "Swift.Set<Tag>", "Set<Tag>?"])
    func aSetIsARelationshipOrAnArray(type: String) {
        #expect(
            messages("@Model final class Article { var tags: \(type); init() {} }") == [
                "A model can't store a 'Set': write 'ToMany<Tag>' for the members of a "
                    + "relationship, or '[Tag]' for values"
            ])
    }

    @Test(arguments: [
        (
            "var title: String; var tag: Tag?; var rating: Int = 0; var size: Int",
            "init(title: String, size: Int) { self.title = title; self.size = size }"
        ),
        ("var rating: Int = 0", "init() {}"),
        ("@Attribute(.stamped(.insert)) var made: Date", "init() {}"),
    ])
    func aModelNeedsAnInitialiser(properties: String, initialiser: String) {
        let message = "'Article' needs an initialiser: write '\(initialiser)'"
        #expect(messages("@Model final class Article { \(properties) }") == [message])
        #expect(messages("@Model final class Article { \(properties); init() {} }") == [])
    }

    @Test func aReferenceIsOptional() {
        #expect(
            messages("@Model final class Article { @Relationship var owner: Owner; init() {} }")
                == ["A relationship to one is optional: write 'Owner?'"])
    }
}

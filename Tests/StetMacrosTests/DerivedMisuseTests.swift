import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import Testing

@testable import StetMacros

/// The messages of the macro for derived attributes that a store cannot compute.
@Suite struct DerivedMisuseTests {
    private func messages(_ members: String) -> [String] {
        let macros: [String: MacroSpec] = [
            "Model": MacroSpec(type: ModelMacro.self),
            "Attribute": MacroSpec(type: AttributeMacro.self),
            "Derived": MacroSpec(type: DerivedMacro.self),
        ]
        return Parser.messages(
            "@Model final class Person { var first: String = \"\"; var age: Int = 0; "
                + "var employer: Company?; var friends: ToMany<Person>; \(members); init() {} }",
            macros)
    }

    @Test(arguments: [
        "first", "first + \" \" + first", "self.first", "(first)", "first ?? \"\"",
        "employer?.name ?? first", "employer?.country?.name", "!first.hasPrefix(\"x\")",
        "age >= -18 && employer != nil || first.contains(\"x\")", "return 12 * (100 - age) / 2",
        "(employer?.name ?? \"\").hasPrefix(\"A\")",
    ])
    func anExpressionOfPropertiesIsAccepted(expression: String) {
        #expect(messages("@Derived var x: String { \(expression) }") == [])
    }

    @Test func anInterpolationIsRefused() {
        #expect(
            messages("@Derived var x: String { \"\\(first)\" }") == [
                "A derived attribute can't interpolate: write 'first + \" \" + last'"
            ])
    }

    @Test(arguments: [
        ("other", "A derived attribute reads properties of the model; 'other' is none"),
        (
            "friends.count",
            "A derived attribute can't read the members of 'friends': it reads attributes, also "
                + "those of objects that references lead to"
        ),
        (
            "first.uppercased()",
            "A store can't compute 'first.uppercased()': a derived attribute has properties, "
                + "literals, operators, hasPrefix, hasSuffix and contains"
        ),
        (
            "employer?.name.hasPrefix(\"A\") ?? true",
            "A derived attribute can't call 'hasPrefix' behind '?': write '(employer?.name ?? "
                + "\"\").hasPrefix(\"A\")'"
        ),
        (
            "let y = first; return y",
            "A derived attribute has one expression: write 'var x: String { … }'"
        ),
    ])
    func anotherExpressionIsRefused(expression: String, message: String) {
        #expect(messages("@Derived var x: String { \(expression) }") == [message])
    }

    @Test func theTypeAndTheOptionsMustSuit() {
        #expect(
            messages("@Derived var x: Company? { employer }") == [
                "A derived attribute is text, data, a number, a Bool, a Date, a UUID or a URL; 'x' "
                    + "is Company?"
            ])
        #expect(
            messages("@Attribute(.trimmed) @Derived var x: String { first }") == [
                "'.trimmed' changes a value; that of 'x' follows from its expression"
            ])
        #expect(
            messages("@Derived var x: String") == [
                "@Derived 'x' needs an expression: write 'var x: … { … }'"
            ])
    }
}

import SwiftParser
import SwiftSyntaxMacroExpansion
import Testing

@testable import StetMacros

/// The messages of the compiler for counters that are not integers.
@Suite struct CounterMisuseTests {
    private func messages(_ property: String) -> [String] {
        let macros: [String: MacroSpec] = [
            "Model": MacroSpec(type: ModelMacro.self),
            "Attribute": MacroSpec(type: AttributeMacro.self),
        ]
        return Parser.messages("@Model final class Article { \(property) }", macros)
            .filter { !$0.contains("needs an initialiser") }
    }

    @Test(arguments: [
        (
            "@Attribute(.counter) var views: Int? = nil",
            "A '.counter' can't be optional: nil has no increments; write 'var views: Int = 0'"
        ),
        (
            "@Attribute(.counter) var ratio: Double = 0",
            "'.counter' needs an integer; 'ratio' is Double"
        ),
        (
            "@Attribute(.counter) var title: String",
            "'.counter' needs an integer; 'title' is String"
        ),
    ])
    func aCounterIsAnInteger(property: String, message: String) {
        #expect(messages(property) == [message])
    }

    @Test func theWidthsOfACounterAreThoseOfIntegers() {
        for type in ["Int", "Int8", "UInt16", "Swift.UInt64", "Votes"] {
            let source = "@Attribute(.counter, .range(0...)) var views: \(type) = 0"
            #expect(messages(source) == [])
        }
    }
}

import SwiftBasicFormat
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

/// The parser, as the tests use it.
enum Parser {
    /// Expands all macros of a source text, and formats the result, which the macros do not;
    /// diagnostics are collected by `context`.
    static func expand(
        _ source: String, _ macros: [String: MacroSpec], _ context: BasicMacroExpansionContext
    ) -> String {
        let file = SwiftParser.Parser.parse(source: source)
        let expanded = file.expand(
            macroSpecs: macros,
            contextGenerator: { syntax in
                BasicMacroExpansionContext(sharingWith: context, lexicalContext: [])
            }
        ).description
        return SwiftParser.Parser.parse(source: expanded).formatted().description
    }

    /// The messages of all diagnostics of an expansion, in order.
    static func messages(_ source: String, _ macros: [String: MacroSpec]) -> [String] {
        let context = BasicMacroExpansionContext(sourceFiles: [:])
        _ = expand(source, macros, context)
        return context.diagnostics.map(\.message)
    }
}

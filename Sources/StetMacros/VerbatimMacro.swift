import SwiftSyntax
import SwiftSyntaxMacros

/// A macro whose code is neither parsed nor formatted before the compiler gets it.
///
/// The compiler parses the text in any case. Parsing and formatting it here took most of the time
/// of an expansion, because swift-syntax is built without optimisation for most builds.
protocol VerbatimMacro: Macro {}

extension VerbatimMacro {
    static var formatMode: FormatMode { .disabled }
}

extension DeclSyntax {
    /// Creates a declaration that has the text, and no structure.
    init(verbatim code: String) {
        self.init(MissingDeclSyntax(placeholder: .identifier(code)))
    }
}

extension ExtensionDeclSyntax {
    /// Creates an extension that has the text, and no structure.
    init(verbatim code: String) {
        self.init(
            UnexpectedNodesSyntax([Syntax(TokenSyntax.identifier(code))]),
            extensionKeyword: .keyword(.extension, presence: .missing),
            extendedType: IdentifierTypeSyntax(name: .identifier("", presence: .missing)),
            memberBlock: MemberBlockSyntax(
                leftBrace: .leftBraceToken(presence: .missing), members: [],
                rightBrace: .rightBraceToken(presence: .missing)))
    }
}

extension AccessorDeclSyntax {
    /// Creates an accessor that has the text, and no structure.
    init(verbatim code: String) {
        self.init(
            UnexpectedNodesSyntax([Syntax(TokenSyntax.identifier(code))]),
            accessorSpecifier: .keyword(.get, presence: .missing))
    }
}

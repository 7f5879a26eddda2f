import SwiftSyntax
import SwiftSyntaxMacros

/// `@Derived`, which `@Model` reads; by itself it only reports a wrong position.
struct DerivedMacro: PeerMacro, VerbatimMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if declaration.as(VariableDeclSyntax.self)?.bindingSpecifier.tokenKind == .keyword(.var) {
            return []
        }
        context.report(Misuse("derived", "@Derived belongs to a 'var' of a model"), at: node)
        return []
    }
}

extension VariableDeclSyntax {
    /// The block of an attribute that is derived by it; nil for other variables.
    var derivation: AccessorBlockSyntax? {
        attribute("Derived") == nil ? nil : bindings.first?.accessorBlock
    }
}

extension PropertyDeclaration {
    /// True for an attribute that is computed and stored.
    var isDerived: Bool { syntax.derivation != nil }

    /// The single expression of a derived attribute, as the source has it; nil for other bodies.
    var derivingExpression: ExprSyntax? {
        guard case .getter(let statements)? = syntax.derivation?.accessors, statements.count == 1
        else { return nil }
        switch statements.first?.item {
        case .expr(let expression): return expression
        case .stmt(let statement): return statement.as(ReturnStmtSyntax.self)?.expression
        default: return nil
        }
    }

    /// The expression in generated code, among query expressions.
    var writtenDerivation: String? {
        derivingExpression.map(\.amongQueryExpressions)
    }

    /// The name of the member of `Fields` that has the expression.
    var derivationName: String { "_\(name)Derivation" }
}

extension ExprSyntax {
    /// The text of an expression of values among query expressions.
    var amongQueryExpressions: String { DefaultRewriter().rewrite(self).writtenText }
}

/// Replaces `??`, which would be that of the optional expressions themselves.
private final class DefaultRewriter: SyntaxRewriter {
    override func visit(_ token: TokenSyntax) -> TokenSyntax {
        token.tokenKind == .binaryOperator("??")
            ? token.with(\.tokenKind, .binaryOperator("|??")) : token
    }
}

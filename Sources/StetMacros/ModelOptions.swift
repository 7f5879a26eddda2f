import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// The options of `@Model`, as written in the source.
struct ModelOptions {
    let isObservable: Bool
    let isProtected: Bool
    /// The previous name of the class.
    let originalName: ExprSyntax?

    init(_ node: AttributeSyntax) {
        originalName = node.argument("originalName")
        let names = Self.expressions(node).map(Self.name)
        isObservable = names.contains("observable")
        isProtected = names.contains("protected")
    }

    private static func expressions(_ node: AttributeSyntax) -> [ExprSyntax] {
        guard case .argumentList(let arguments)? = node.arguments else { return [] }
        return Array(arguments).filter { $0.label == nil }.map(\.expression)
    }

    private static func name(_ expression: ExprSyntax) -> String {
        expression.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? ""
    }

    /// Reports unknown options, and attributes that an option replaces.
    static func report(
        _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax,
        _ context: some MacroExpansionContext
    ) {
        for expression in expressions(node)
        where !["observable", "protected"].contains(name(expression)) {
            context.report(
                Misuse(
                    "option",
                    "@Model has no option '\(expression.writtenText)': it must be written "
                        + "out, and there are '.observable' and '.protected'"), at: expression)
        }
        for element in declaration.attributes {
            guard let attribute = element.as(AttributeSyntax.self),
                let name = attribute.attributeName.writtenText.split(separator: ".").last,
                name == "Observable"
            else { continue }
            context.report(
                Misuse(
                    "observable",
                    "@Observable does not see what a context puts back: write @Model(.observable)"),
                at: attribute)
        }
    }
}

extension ModelMisuse {
    private static let hooks: Set<String> = ["didInsert", "willSave", "willDelete", "didFetch"]

    /// Reports functions that look like a hook and would not be called.
    static func reportHooks(
        of declaration: some DeclGroupSyntax, _ context: some MacroExpansionContext
    ) {
        for member in declaration.memberBlock.members {
            guard let function = member.decl.as(FunctionDeclSyntax.self),
                hooks.contains(function.name.text)
            else { continue }
            let signature = function.signature
            let isStatic = function.modifiers.contains {
                [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind)
            }
            guard
                isStatic || signature.effectSpecifiers != nil || signature.returnClause != nil
                    || !signature.parameterClause.parameters.isEmpty
            else { continue }
            let name = function.name.text
            context.report(
                Misuse("hook", "This would not be called: a hook is 'func \(name)()'"),
                at: function.name)
        }
    }
}

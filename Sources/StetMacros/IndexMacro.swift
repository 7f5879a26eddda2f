import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `#Unique` and `#Index`, which `@Model` reads; by themselves they only report a wrong position.
struct IndexMacro: DeclarationMacro {
    static func expansion(
        of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let enclosing = context.lexicalContext.first?.as(ClassDeclSyntax.self)
        let isInModel = enclosing?.attributes.contains { element in
            element.as(AttributeSyntax.self)?.attributeName.writtenText
                .split(separator: ".").last == "Model"
        }
        if isInModel != true {
            let name = node.macroName.text
            context.report(Misuse("index", "#\(name) belongs into the class of a model"), at: node)
        }
        return []
    }
}

/// One `#Unique` or `#Index` in the class of a model.
struct IndexDeclaration {
    private let syntax: MacroExpansionDeclSyntax

    init?(_ declaration: DeclSyntax) {
        guard let syntax = declaration.as(MacroExpansionDeclSyntax.self),
            ["Unique", "Index"].contains(syntax.macroName.text)
        else { return nil }
        self.syntax = syntax
    }

    private var keyPaths: [ExprSyntax] {
        syntax.arguments.prefix { $0.label == nil || $0 == syntax.arguments.first }
            .map(\.expression)
    }

    /// Returns the names in an expression such as `\.title`, `\Article.title`, `\.address.city` or
    /// `\.site?.city`.
    private static func names(_ expression: ExprSyntax) -> [String]? {
        guard let path = expression.as(KeyPathExprSyntax.self) else { return nil }
        let names = path.components.filter { component in
            if case .optional = component.component { false } else { true }
        }.map { component -> String? in
            guard case .property(let property) = component.component else { return nil }
            return property.declName.baseName.text.filter { $0 != "`" }
        }
        return names.contains(nil) ? nil : names.compactMap { $0 }
    }

    /// Returns the expression for the index in the description of a model.
    func description(in model: String) -> String {
        let names = keyPaths.compactMap(Self.names)
            .map { "\"\($0.joined(separator: "."))\"" }.joined(separator: ", ")
        let comparing = syntax.arguments.first { $0.label?.text == "comparing" }
            .map { ", comparing: \($0.expression.writtenText)" }
        let condition = condition.map { ", where: \($0.amongQueryExpressions)" }
        let isUnique = syntax.macroName.text == "Unique"
        return "Stet._ModelIndex(of: \(model).self, isUnique: \(isUnique), [\(names)]"
            + "\(comparing ?? "")\(condition ?? "")),"
    }

    /// The closure with the condition of the objects in the index; nil when all are in it.
    private var condition: ExprSyntax? {
        syntax.arguments.first { $0.label?.text == "where" }?.expression
            ?? syntax.trailingClosure.map(ExprSyntax.init)
    }

    /// Reports key paths that do not name a property.
    func report(_ properties: [PropertyDeclaration], _ context: some MacroExpansionContext) {
        let macro = "#\(syntax.macroName.text)"
        if keyPaths.isEmpty {
            context.report(
                Misuse("index", "\(macro) needs properties: write '\\.name'"), at: syntax)
        }
        for expression in keyPaths {
            guard let names = Self.names(expression) else {
                let text = expression.writtenText
                context.report(
                    Misuse("index", "\(macro) reads the text: write '\\.name', not '\(text)'"),
                    at: expression)
                continue
            }
            guard let property = properties.first(where: { $0.name == names[0] }) else {
                context.report(
                    Misuse("index", "'\(names[0])' is not a stored property of the model"),
                    at: expression)
                continue
            }
            if names.count > 2 || (names.count == 2 && !property.mayBeEmbedded) {
                context.report(
                    Misuse(
                        "index",
                        "'\(names.dropLast().joined(separator: "."))' is not an embedded value: "
                            + "\(macro) takes '\\.name' or, in an embedded value, "
                            + "'\\.address.city'"),
                    at: expression)
            }
        }
    }

    /// Returns lines in which the compiler checks that members of embedded values exist.
    func checks(
        of properties: [PropertyDeclaration], _ context: some MacroExpansionContext
    ) -> [String] {
        keyPaths.compactMap { expression in
            guard let names = Self.names(expression), names.count == 2,
                let property = properties.first(where: { $0.name == names[0] }),
                property.mayBeEmbedded
            else { return nil }
            let type = WrittenType(property.type).base.writtenText
            let path = "Swift.PartialKeyPath<Stet._EmbeddedType<\(type)>.Fields>"
            let name = context.makeUniqueName("check").text
            // All that can be wrong is in the first line, which keeps its number.
            return context.atLine(
                of: expression,
                "private static func \(name)(_ member: \(path) = \\.\(names[1])) {}")
        }
    }
}

extension DeclGroupSyntax {
    /// The `#Unique` and `#Index` declarations, in the order of the source.
    var indexes: [IndexDeclaration] {
        memberBlock.members.compactMap { IndexDeclaration($0.decl) }
    }
}

import SwiftSyntax

/// A stored property that becomes part of the model.
struct PropertyDeclaration {
    let syntax: VariableDeclSyntax
    let name: String
    let type: TypeSyntax
    let initializer: ExprSyntax?
    let slot: Int

    /// A property by itself, as the macros see it that stand at it; it has no slot.
    init?(attached declaration: some DeclSyntaxProtocol) {
        guard let variable = declaration.as(VariableDeclSyntax.self), variable.isModelProperty,
            let name = variable.singleName,
            let type = variable.bindings.first?.typeAnnotation?.type.trimmed
        else { return nil }
        self.init(variable, name, type, slot: 0)
    }

    init(_ variable: VariableDeclSyntax, _ name: String, _ type: TypeSyntax, slot: Int) {
        syntax = variable
        self.name = name
        self.type = type
        initializer = variable.bindings.first?.initializer?.value.trimmed
        self.slot = slot
    }

    /// The name as it is written in code, with backticks around a keyword.
    var reference: String { Self.isKeyword(name) ? "`\(name)`" : name }
    /// What the object holds.
    var storage: String { "_\(name)" }
    var typeName: String { type.trimmedDescription }

    private static func isKeyword(_ name: String) -> Bool {
        [
            "as", "associatedtype", "break", "case", "catch", "class", "continue", "default",
            "defer",
            "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate",
            "for",
            "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil",
            "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows",
            "return", "self", "Self", "static", "struct", "subscript", "super", "switch", "throw",
            "throws", "true", "try", "typealias", "var", "where", "while", "Any",
        ].contains(name)
    }

    /// The access of the snapshot's field: that of the property, whose type it shows.
    var fieldAccess: String {
        if syntax.hasModifier(.public) { return "public " }
        if syntax.hasModifier(.package) { return "package " }
        return syntax.hasModifier(.private, .fileprivate) ? "fileprivate " : ""
    }

    /// True for `T?` and `Optional<T>`.
    var isOptional: Bool { WrittenType(type).isOptional }

    /// The options of `@Attribute`, as they are written.
    var options: [AttributeOptionSyntax] {
        guard let attribute = syntax.attribute("Attribute"),
            case .argumentList(let arguments)? = attribute.arguments
        else { return [] }
        return arguments.filter { $0.label == nil }
            .map { AttributeOptionSyntax(expression: $0.expression) }
    }

    /// What `@Attribute` or `@Relationship` says the property was called.
    var originalName: ExprSyntax? {
        for name in ["Attribute", "Relationship"] {
            if let expression = syntax.attribute(name)?.argument("originalName") {
                return expression
            }
        }
        return nil
    }

    /// As generated code passes it on.
    var writtenOriginalName: String {
        originalName.map { ", originalName: \($0.trimmedDescription)" } ?? ""
    }

    /// The default value as generated code passes it on; nil has none to pass on.
    var writtenDefault: String {
        guard let initializer, !initializer.is(NilLiteralExprSyntax.self) else { return "" }
        return ", default: { \(initializer.trimmedDescription) }"
    }

    func hasOption(_ name: String) -> Bool { options.contains { $0.name == name } }

    /// What `@Relationship` says.
    var relationship: RelationshipSyntax { RelationshipSyntax(syntax.attribute("Relationship")) }

    /// The model of the members, for a relationship to many.
    var memberName: String? { WrittenType(type).memberName }

    /// True where the type may be that of a reference, as far as its name tells.
    var mayBeReference: Bool { WrittenType(type).kind == nil }
}

/// The arguments of `@Relationship`, as they are written.
struct RelationshipSyntax {
    private let arguments: [LabeledExprSyntax]

    init(_ attribute: AttributeSyntax?) {
        guard case .argumentList(let arguments)? = attribute?.arguments else {
            self.arguments = []
            return
        }
        self.arguments = Array(arguments)
    }

    /// Those without a label, as `.required` and `.count(1...5)`.
    var options: [AttributeOptionSyntax] {
        arguments.filter { $0.label == nil }.map {
            AttributeOptionSyntax(expression: $0.expression)
        }
    }
    var deleteRule: ExprSyntax? { argument("deleteRule") }
    var inverse: ExprSyntax? { argument("inverse") }

    /// The name of the property, "notebook" of `\Article.notebook`.
    var inverseName: String? {
        let component = inverse?.as(KeyPathExprSyntax.self)?.components.last?.component
        return component?.as(KeyPathPropertyComponentSyntax.self)?.declName.baseName.text
            .filter { $0 != "`" }
    }

    private func argument(_ label: String) -> ExprSyntax? {
        arguments.first { $0.label?.text == label }?.expression
    }

    /// As generated code passes them on.
    var written: String {
        var written = ""
        if let deleteRule { written += ", deleteRule: \(deleteRule.trimmedDescription)" }
        return written
    }
    var writtenOptions: String {
        "[\(options.map(\.expression.trimmedDescription).joined(separator: ", "))]"
    }
}

/// One option of `@Attribute`: `.trimmed`, `.length(1...25)`.
struct AttributeOptionSyntax {
    let expression: ExprSyntax

    var name: String {
        let called = expression.as(FunctionCallExprSyntax.self)?.calledExpression ?? expression
        return called.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? ""
    }

    /// The text of the first argument, or of a closure behind the name.
    var argument: String? {
        let call = expression.as(FunctionCallExprSyntax.self)
        return call?.arguments.first?.expression.trimmedDescription
            ?? call?.trailingClosure?.trimmedDescription
    }

    /// The text of a literal string that is the first argument; nil where it needs more than a
    /// look.
    var literal: String? {
        let argument = expression.as(FunctionCallExprSyntax.self)?.arguments.first?.expression
        guard let string = argument?.as(StringLiteralExprSyntax.self), string.segments.count == 1,
            case .stringSegment(let segment)? = string.segments.first
        else { return nil }
        let text = segment.content.text
        return string.openingPounds != nil || !text.contains("\\") ? text : nil
    }

    /// The statement that normalises what stands in a place; nil for other options.
    func normalization(of place: String) -> String? {
        switch name {
        case "trimmed": "Stet._trim(&\(place))"
        case "lowercased": "Stet._lowercase(&\(place))"
        case "nfc": "Stet._composeCharacters(&\(place))"
        case "normalized": "Stet._normalize(&\(place), by: \(argument ?? ""))"
        default: nil
        }
    }
}

extension AttributeSyntax {
    /// The argument with a label.
    func argument(_ label: String) -> ExprSyntax? {
        guard case .argumentList(let arguments)? = arguments else { return nil }
        return arguments.first { $0.label?.text == label }?.expression
    }
}

extension ExprSyntax {
    /// The text of a literal without interpolation.
    var literalText: String? {
        guard let segments = self.as(StringLiteralExprSyntax.self)?.segments, segments.count == 1
        else { return nil }
        return segments.first?.as(StringSegmentSyntax.self)?.content.text
    }
}

extension VariableDeclSyntax {
    func attribute(_ name: String) -> AttributeSyntax? {
        attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }
            .first {
                ($0.attributeName.trimmedDescription.split(separator: ".").last ?? "") == name
            }
    }

    func hasModifier(_ keywords: Keyword...) -> Bool {
        modifiers.contains { modifier in
            modifier.detail == nil
                && keywords.contains { modifier.name.tokenKind == .keyword($0) }
        }
    }

    /// The one name that is declared, without backticks.
    var singleName: String? {
        guard bindings.count == 1 else { return nil }
        let name = bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
        return name?.filter { $0 != "`" }
    }

    /// A stored variable of the instance that is not `@Transient`.
    var isModelProperty: Bool {
        bindingSpecifier.tokenKind == .keyword(.var) && !hasModifier(.static, .class)
            && attribute("Transient") == nil && !bindings.contains { $0.accessorBlock != nil }
    }
}

extension DeclGroupSyntax {
    /// The properties of the model; what cannot be one is left out, and reported by `ModelMacro`.
    var modelProperties: [PropertyDeclaration] {
        declaredProperties { $0.memberName == nil }
    }

    /// The relationships to many; the slot is the place among them.
    var modelRelationships: [PropertyDeclaration] {
        declaredProperties { $0.memberName != nil }
    }

    private func declaredProperties(
        where isIncluded: (WrittenType) -> Bool
    ) -> [PropertyDeclaration] {
        var properties: [PropertyDeclaration] = []
        for member in memberBlock.members {
            guard let variable = member.decl.as(VariableDeclSyntax.self), variable.isModelProperty,
                let name = variable.singleName,
                let type = variable.bindings.first?.typeAnnotation?.type.trimmed,
                isIncluded(WrittenType(type))
            else { continue }
            properties.append(PropertyDeclaration(variable, name, type, slot: properties.count))
        }
        return properties
    }

    /// `public ` or `package ` when the class is, else nothing.
    var accessPrefix: String {
        for modifier in modifiers {
            if case .keyword(.public) = modifier.name.tokenKind { return "public " }
            if case .keyword(.package) = modifier.name.tokenKind { return "package " }
        }
        return ""
    }
}

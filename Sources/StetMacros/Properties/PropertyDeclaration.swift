import SwiftSyntax

/// A stored property that becomes part of the model.
struct PropertyDeclaration {
    let syntax: VariableDeclSyntax
    let name: String
    let type: TypeSyntax
    let initializer: ExprSyntax?
    /// The number of properties before it.
    let index: Int
    /// The last property before it that may be an embedded value, which has several slots.
    let embedded: EmbeddedPlace?

    /// Creates a property from the declaration that an attached macro receives; it has no slot.
    init?(attached declaration: some DeclSyntaxProtocol) {
        guard let variable = declaration.as(VariableDeclSyntax.self), variable.isModelProperty,
            let name = variable.singleName,
            let type = variable.bindings.first?.typeAnnotation?.type
        else { return nil }
        self.init(variable, name, type, index: 0)
    }

    init(
        _ variable: VariableDeclSyntax, _ name: String, _ type: TypeSyntax, index: Int,
        after embedded: EmbeddedPlace? = nil
    ) {
        syntax = variable
        self.name = name
        self.type = type
        initializer = variable.bindings.first?.initializer?.value
        self.index = index
        self.embedded = embedded
    }

    /// The name in the form for code, with backticks around a keyword.
    var reference: String { Self.isKeyword(name) ? "`\(name)`" : name }
    /// The name of the stored variable.
    var storage: String { "_\(name)" }
    var typeName: String { type.writtenText }

    /// The stored variable.
    var storageDeclaration: String {
        var initialValue = ""
        if initializer == nil {
            if hasOption("stamped") {
                initialValue = " = \(codeType)._storage(from: \(codeType)._unstamped)"
            } else if isOptional {
                initialValue = " = \(codeType)._storage(from: nil as \(snapshotType))"
            }
        }
        // Exclusivity cannot be violated: an access reads or replaces one value, and runs no code
        // that edits the object.
        return "@exclusivity(unchecked) private final var \(storage): "
            + "Stet._StorageOf<\(codeType)>\(initialValue)"
    }

    /// The stored variable of a relationship: the cache of its members.
    var cacheDeclaration: String {
        "private final var \(storage): Stet._MemberCache?\(initializer == nil ? " = nil" : "")"
    }

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

    /// The access level of the snapshot's field, which equals that of the property.
    var fieldAccess: String {
        if syntax.hasModifier(.public) { return "public " }
        if syntax.hasModifier(.package) { return "package " }
        return syntax.hasModifier(.private, .fileprivate) ? "fileprivate " : ""
    }

    /// True for `T?` and `Optional<T>`.
    var isOptional: Bool { WrittenType(type).isOptional }

    /// The options of `@Attribute`, as written in the source.
    var options: [AttributeOptionSyntax] {
        guard let attribute = syntax.attribute("Attribute"),
            case .argumentList(let arguments)? = attribute.arguments
        else { return [] }
        return Array(arguments).filter { $0.label == nil }
            .map { AttributeOptionSyntax(expression: $0.expression) }
    }

    /// The previous name of the property, from `@Attribute` or `@Relationship`.
    var originalName: ExprSyntax? {
        for name in ["Attribute", "Relationship"] {
            if let expression = syntax.attribute(name)?.argument("originalName") {
                return expression
            }
        }
        return nil
    }

    /// The argument for the previous name in generated code.
    var writtenOriginalName: String {
        originalName.map { ", originalName: \($0.writtenText)" } ?? ""
    }

    /// The argument for the default value in generated code; empty for nil.
    var writtenDefault: String {
        guard let initializer, !initializer.is(NilLiteralExprSyntax.self) else { return "" }
        return ", default: { \(initializer.writtenText) }"
    }

    func hasOption(_ name: String) -> Bool { options.contains { $0.name == name } }

    /// True for a value that stays out of encodings and debug text.
    var isHidden: Bool { hasOption("hidden") }

    /// The arguments of `@Relationship`.
    var relationship: RelationshipSyntax { RelationshipSyntax(syntax.attribute("Relationship")) }

    /// The model of the members of a to-many relationship; nil for other properties.
    var memberName: String? { WrittenType(type).memberName }

    /// True when the type may be that of a reference, as far as its name shows.
    var mayBeReference: Bool { WrittenType(type).kind == nil }
}

/// The arguments of `@Relationship`, as written in the source.
struct RelationshipSyntax {
    private let arguments: [LabeledExprSyntax]

    init(_ attribute: AttributeSyntax?) {
        guard case .argumentList(let arguments)? = attribute?.arguments else {
            self.arguments = []
            return
        }
        self.arguments = Array(arguments)
    }

    /// The arguments without a label, such as `.required` and `.count(1...5)`.
    var options: [AttributeOptionSyntax] {
        arguments.filter { $0.label == nil }.map {
            AttributeOptionSyntax(expression: $0.expression)
        }
    }
    var deleteRule: ExprSyntax? { argument("deleteRule") }
    var inverse: ExprSyntax? { argument("inverse") }

    /// The name of the property: "notebook" for `\Article.notebook`.
    var inverseName: String? {
        let component = inverse?.as(KeyPathExprSyntax.self)?.components.last?.component
        return component?.as(KeyPathPropertyComponentSyntax.self)?.declName.baseName.text
            .filter { $0 != "`" }
    }

    private func argument(_ label: String) -> ExprSyntax? {
        arguments.first { $0.label?.text == label }?.expression
    }

    /// The arguments in generated code.
    var written: String {
        var written = ""
        if let deleteRule { written += ", deleteRule: \(deleteRule.writtenText)" }
        return written
    }
    var writtenOptions: String {
        "[\(options.map(\.expression.writtenText).joined(separator: ", "))]"
    }
}

/// One option of `@Attribute`, such as `.trimmed` or `.length(1...25)`.
struct AttributeOptionSyntax {
    let expression: ExprSyntax

    var name: String {
        let called = expression.as(FunctionCallExprSyntax.self)?.calledExpression ?? expression
        return called.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? ""
    }

    /// The text of the first argument, or of a closure after the name.
    var argument: String? {
        let call = expression.as(FunctionCallExprSyntax.self)
        return call?.arguments.first?.expression.writtenText
            ?? call?.trailingClosure?.writtenText
    }

    /// The text of a string literal that is the first argument; nil for other expressions.
    var literal: String? {
        let argument = expression.as(FunctionCallExprSyntax.self)?.arguments.first?.expression
        guard let string = argument?.as(StringLiteralExprSyntax.self), string.segments.count == 1,
            case .stringSegment(let segment)? = string.segments.first
        else { return nil }
        let text = segment.content.text
        return string.openingPounds != nil || !text.contains("\\") ? text : nil
    }

    /// Returns the statement that normalises a variable; nil for other options.
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
    /// Returns the argument with a label.
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
            .first { $0.attributeName.lastName == name }
    }

    func hasModifier(_ keywords: Keyword...) -> Bool {
        modifiers.contains { modifier in
            modifier.detail == nil
                && keywords.contains { modifier.name.tokenKind == .keyword($0) }
        }
    }

    /// The name of a declaration with a single variable, without backticks.
    var singleName: String? {
        guard bindings.count == 1 else { return nil }
        let name = bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
        return name?.filter { $0 != "`" }
    }

    /// True for a stored instance variable that is not `@Transient`, and for a derived attribute.
    var isModelProperty: Bool {
        bindingSpecifier.tokenKind == .keyword(.var) && !hasModifier(.static, .class)
            && attribute("Transient") == nil
            && (derivation != nil || !bindings.contains { $0.accessorBlock != nil })
    }
}

extension DeclGroupSyntax {
    /// The properties of the model, without those that cannot be one, which `ModelMacro` reports.
    var modelProperties: [PropertyDeclaration] {
        declaredProperties { $0.memberName == nil }
    }

    /// The to-many relationships; the slot is the index among them.
    var modelRelationships: [PropertyDeclaration] {
        declaredProperties { $0.memberName != nil }
    }

    private func declaredProperties(
        where isIncluded: (WrittenType) -> Bool
    ) -> [PropertyDeclaration] {
        let reserved =
            self.is(StructDeclSyntax.self)
            ? PropertyMisuse.reservedMemberNames : PropertyMisuse.reservedNames
        var properties: [PropertyDeclaration] = []
        var embedded: EmbeddedPlace?
        for member in memberBlock.members {
            guard let variable = member.decl.as(VariableDeclSyntax.self), variable.isModelProperty,
                let name = variable.singleName,
                let type = variable.bindings.first?.typeAnnotation?.type,
                isIncluded(WrittenType(type)),
                PropertyMisuse.problem(of: variable, name, reserved: reserved) == nil
            else { continue }
            let property = PropertyDeclaration(
                variable, name, type, index: properties.count, after: embedded)
            if property.mayBeEmbedded { embedded = EmbeddedPlace(of: property) }
            properties.append(property)
        }
        return properties
    }

    /// `public ` or `package ` if the class is; otherwise empty.
    var accessPrefix: String {
        for modifier in modifiers {
            if case .keyword(.public) = modifier.name.tokenKind { return "public " }
            if case .keyword(.package) = modifier.name.tokenKind { return "package " }
        }
        return ""
    }
}

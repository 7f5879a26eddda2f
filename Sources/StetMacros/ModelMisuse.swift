import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Finds the parts of a class that cannot be part of a model, and reports what to write instead.
enum ModelMisuse {
    /// True for a class without parameters.
    ///
    /// One that is not final gets all of a model's code, though it cannot conform: its uses then
    /// cause no further errors. It must get the conformances that the macro lists, or the compiler
    /// crashes on a subclass.
    static func canBeModel(_ declaration: some DeclGroupSyntax) -> Bool {
        guard let model = declaration.as(ClassDeclSyntax.self) else { return false }
        return model.genericParameterClause == nil
    }

    /// Reports every problem of the class; returns false when no model can be made of it at all.
    static func report(
        in declaration: some DeclGroupSyntax, at node: AttributeSyntax,
        _ context: some MacroExpansionContext
    ) -> Bool {
        guard let model = declaration.as(ClassDeclSyntax.self) else {
            context.report(
                Misuse("class", "@Model needs a class: objects have an identity"), at: node)
            return false
        }
        if !model.isFinal {
            context.report(
                Misuse(
                    "final", "@Model needs a final class: write 'final class \(model.name.text)'"),
                at: model.classKeyword)
        }
        if model.genericParameterClause != nil {
            context.report(
                Misuse("generic", "@Model can't be generic: an entity has one set of properties"),
                at: model.name)
            return false
        }
        reportMissingInitializer(of: model, context)
        var names: Set<String> = []
        for member in model.memberBlock.members {
            if let condition = member.decl.as(IfConfigDeclSyntax.self) {
                reportProperties(in: condition, context)
            }
            guard let variable = member.decl.as(VariableDeclSyntax.self),
                !variable.hasModifier(.static, .class)
            else { continue }
            report(variable, context)
            if let name = variable.singleName, !names.insert(name).inserted {
                context.report(Misuse("duplicate", "'\(name)' is declared twice"), at: variable)
            }
        }
        return true
    }

    private static func reportMissingInitializer(
        of model: ClassDeclSyntax, _ context: some MacroExpansionContext
    ) {
        // An initialiser under '#if' counts.
        let text = model.memberBlock.members.contains { member in
            member.decl.is(InitializerDeclSyntax.self) || member.decl.is(IfConfigDeclSyntax.self)
        }
        if text { return }
        let needed = model.modelProperties.filter { property in
            property.initializer == nil && !property.isOptional && !property.hasOption("stamped")
                && !property.isDerived
        }
        let parameters = needed.map { "\($0.name): \($0.typeName)" }.joined(separator: ", ")
        let assignments = needed.map { "self.\($0.name) = \($0.name)" }.joined(separator: "; ")
        let body = assignments.isEmpty ? "{}" : "{ \(assignments) }"
        context.report(
            Misuse(
                "initializer",
                "'\(model.name.text)' needs an initialiser: write 'init(\(parameters)) \(body)'"),
            at: model.name)
    }

    static func reportProperties(
        in condition: IfConfigDeclSyntax, _ context: some MacroExpansionContext
    ) {
        for clause in condition.clauses {
            guard case .decls(let members)? = clause.elements else { continue }
            for member in members {
                guard let variable = member.decl.as(VariableDeclSyntax.self),
                    variable.isModelProperty
                else { continue }
                context.report(
                    Misuse(
                        "condition", "A model's property can't stand in #if: mark it @Transient"),
                    at: variable)
            }
        }
    }

    /// Reports a variable that cannot be a property of a model or a member of an embedded value;
    /// returns false for one.
    @discardableResult
    static func report(
        _ variable: VariableDeclSyntax, reserved: Set<String> = PropertyMisuse.reservedNames,
        _ context: some MacroExpansionContext
    ) -> Bool {
        let name = variable.singleName ?? "property"
        let binding = variable.bindings.first
        if let accessors = binding?.accessorBlock, variable.derivation == nil {
            return reportAccessors(accessors, name, context)
        }
        if variable.attribute("Derived") != nil, variable.derivation == nil {
            context.report(
                Misuse(
                    "derived",
                    "@Derived '\(name)' needs an expression: write 'var \(name): … { … }'"),
                at: variable.bindings)
            return false
        }
        if variable.attribute("Transient") != nil {
            if binding?.initializer == nil, !isImplicitlyNil(variable) {
                context.report(
                    Misuse("transient", "@Transient '\(name)' needs a default value"), at: variable)
                return false
            }
            return true
        }
        if variable.bindingSpecifier.tokenKind == .keyword(.let) {
            if binding?.initializer != nil { return true }
            context.report(
                Misuse(
                    "constant", "A model's property can't be a constant: make '\(name)' a 'var'"
                ),
                at: variable.bindingSpecifier)
            return false
        }
        guard let problem = PropertyMisuse.problem(of: variable, name, reserved: reserved) else {
            return true
        }
        // At the name: attributes may fill the lines before it.
        context.report(problem, at: variable.bindings)
        return false
    }

    private static func reportAccessors(
        _ block: AccessorBlockSyntax, _ name: String, _ context: some MacroExpansionContext
    ) -> Bool {
        guard case .accessors(let accessors) = block.accessors else { return true }
        let observes = accessors.contains {
            [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
        }
        if observes {
            context.report(
                Misuse(
                    "observers",
                    "A model's property can't have observers: '\(name)' is saved by its accessors; "
                        + "use willSave() or a computed property"), at: block)
        }
        return !observes
    }

    private static func isImplicitlyNil(_ variable: VariableDeclSyntax) -> Bool {
        variable.bindings.first?.typeAnnotation?.type.is(OptionalTypeSyntax.self) ?? false
    }

    // MARK: Options

    /// Reports options of `@Attribute` that do not suit the property.
    static func reportOptions(
        of property: PropertyDeclaration, _ context: some MacroExpansionContext
    ) {
        let attributes = property.syntax.attributes.filter { element in
            element.as(AttributeSyntax.self)?.attributeName.writtenText == "Attribute"
        }
        if attributes.count > 1 {
            context.report(
                Misuse("attributes", "'\(property.name)' has several @Attribute: write all in one"),
                at: property.syntax)
        }
        if property.options.filter({ $0.name == "stamped" }).count > 1 {
            context.report(
                Misuse("stamps", "'\(property.name)' can be stamped in one way only"),
                at: property.syntax)
        }
        for option in property.options {
            guard let misuse = misuse(of: option, property) else { continue }
            context.report(misuse, at: option.expression)
        }
    }

    /// Returns whether an option suits the property, so that code can be generated for it.
    static func fits(_ option: AttributeOptionSyntax, _ property: PropertyDeclaration) -> Bool {
        misuse(of: option, property).map { $0.severity != .error } ?? true
    }

    private static func misuse(
        of option: AttributeOptionSyntax, _ property: PropertyDeclaration
    ) -> Misuse? {
        let fits: [String: (kinds: [WrittenType.Kind], words: String)] = [
            "notEmpty": ([.text, .data, .collection], "a String, Data, an array or a dictionary"),
            "length": ([.text, .data, .collection], "a String, Data, an array or a dictionary"),
            "range": ([.number, .date], "a number or a Date"),
            "trimmed": ([.text], "a String"), "stamped": ([.date], "a Date"),
            "lowercased": ([.text], "a String"), "nfc": ([.text], "a String"),
            "matches": ([.text], "a String"), "sealed": ([], "a Sealed value"),
            "oneOf": ([.text, .number, .date], "a String, a number or a Date"),
        ]
        if option.name == "matches", let pattern = option.literal, (try? Regex(pattern)) == nil {
            return Misuse("pattern", "'\(pattern)' is no regular expression")
        }
        switch option.name {
        case "counter": return misuse(ofCounter: property)
        case "required":
            guard !property.isOptional else { return nil }
            return Misuse(
                "required", "'.required' says nothing new: '\(property.name)' is not optional",
                severity: .warning)
        case "indexed", "unique":
            let kind = WrittenType(property.type).kind
            if property.type.isDictionary {
                return Misuse(
                    "fit",
                    "'.\(option.name)' needs values with an order; "
                        + "'\(property.name)' is \(property.typeName)")
            }
            guard option.argument != nil, let kind, kind != .text else { return nil }
            return Misuse(
                "fit",
                "'.\(option.name)' compares only a String in such a way; "
                    + "'\(property.name)' is \(property.typeName)")
        case let name:
            guard let (kinds, words) = fits[name], let kind = WrittenType(property.type).kind,
                !kinds.contains(kind)
            else { return nil }
            return Misuse(
                "fit", "'.\(name)' needs \(words); '\(property.name)' is \(property.typeName)")
        }
    }
}

extension ModelMisuse {
    private static func misuse(ofCounter property: PropertyDeclaration) -> Misuse? {
        if property.isOptional {
            return Misuse(
                "counter",
                "A '.counter' can't be optional: nil has no increments; write "
                    + "'var \(property.name): \(WrittenType(property.type).base.writtenText) = 0'"
            )
        }
        let written = WrittenType(property.type)
        guard let kind = written.kind, kind != .number || !written.isInteger else { return nil }
        return Misuse(
            "fit", "'.counter' needs an integer; '\(property.name)' is \(property.typeName)")
    }
}

extension ClassDeclSyntax {
    var isFinal: Bool { modifiers.contains { $0.name.tokenKind == .keyword(.final) } }
}

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@_Members(index)`, which `@Model` adds to each to-many relationship: its accessors.
struct MembersMacro: AccessorMacro, VerbatimMacro {
    static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let property = PropertyDeclaration(attached: declaration),
            case .argumentList(let arguments)? = node.arguments,
            let index = arguments.first?.expression.writtenText
        else { return [] }
        let members = "Stet._MembersOfObject(self, \(index), &\(property.storage))"
        return [
            """
            @storageRestrictions(initializes: \(property.storage), accesses: _$state)
            init(initialValue) {
            \(property.storage) = nil
            initialValue._members.attach(to: &_$state, \(index))
            }
            """,
            """
            get {
            \(property.typeName)(_members: \(members))
            }
            """,
            """
            set {
            \(members).assign(newValue._members)
            }
            """,
        ].map(AccessorDeclSyntax.init(verbatim:))
    }
}

/// `@Relationship`, which `@Model` reads; by itself it only reports a wrong position.
struct RelationshipMacro: PeerMacro, VerbatimMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if declaration.as(VariableDeclSyntax.self)?.isModelProperty ?? false { return [] }
        context.report(
            Misuse("relationship", "@Relationship belongs to a stored 'var' of a model"), at: node)
        return []
    }
}

/// Finds invalid relationships, and reports what to write instead.
enum RelationshipMisuse {
    static func report(_ property: PropertyDeclaration, _ context: some MacroExpansionContext) {
        let attribute = property.syntax.attribute("Relationship")
        if property.memberName != nil {
            if let attribute = property.syntax.attribute("Attribute") {
                context.report(
                    Misuse(
                        "attribute", "'\(property.name)' is a relationship: write @Relationship"),
                    at: attribute)
            }
        } else if let attribute, let problem = problem(ofToOne: property) {
            context.report(problem, at: attribute)
        }
        for option in property.relationship.options {
            guard let misuse = misuse(of: option, property) else { continue }
            context.report(misuse, at: option.expression)
        }
    }

    private static func problem(ofToOne property: PropertyDeclaration) -> Misuse? {
        let type = WrittenType(property.type)
        if type.kind != nil {
            return Misuse("attribute", "'\(property.name)' is an attribute: write @Attribute")
        }
        if property.relationship.inverse != nil {
            return Misuse(
                "inverse",
                "The inverse is named at the end that is to many, not at '\(property.name)'"
            )
        }
        return nil
    }

    private static func misuse(
        of option: AttributeOptionSyntax, _ property: PropertyDeclaration
    ) -> Misuse? {
        let isToMany = property.memberName != nil
        switch option.name {
        case "required" where isToMany:
            return Misuse(
                "fit",
                "'.required' needs a relationship to one; '\(property.name)' has '.count(1...)'"
            )
        case "count", "orphanRemoval":
            if isToMany { return nil }
            return Misuse(
                "fit",
                "'.\(option.name)' needs a relationship to many; '\(property.name)' is "
                    + property.typeName)
        default: return nil
        }
    }
}

import SwiftSyntax
import SwiftSyntaxMacros

/// Finds the parts of a struct that cannot be part of an embedded value, and reports what to write
/// instead.
enum EmbeddedMisuse {
    /// Reports every problem of the struct; returns false when it cannot be an embedded value.
    static func report(
        in declaration: some DeclGroupSyntax, at node: AttributeSyntax,
        _ context: some MacroExpansionContext
    ) -> Bool {
        guard let value = declaration.as(StructDeclSyntax.self) else {
            context.report(
                Misuse("struct", "@Embedded needs a struct: an embedded value has no identity"),
                at: node)
            return false
        }
        if value.genericParameterClause != nil {
            context.report(
                Misuse("generic", "@Embedded can't be generic: it has one set of members"),
                at: value.name)
            return false
        }
        var isUsable = true
        for member in value.memberBlock.members {
            if let condition = member.decl.as(IfConfigDeclSyntax.self) {
                ModelMisuse.reportProperties(in: condition, context)
            }
            guard let variable = member.decl.as(VariableDeclSyntax.self),
                !variable.hasModifier(.static, .class)
            else { continue }
            if !report(variable, context) { isUsable = false }
        }
        if isUsable, value.modelProperties.isEmpty {
            context.report(
                Misuse("empty", "@Embedded needs members: write 'var name: String = \"\"'"),
                at: value.name)
            return false
        }
        return isUsable
    }

    /// Reports a variable that cannot be a member; returns false for one.
    private static func report(
        _ variable: VariableDeclSyntax, _ context: some MacroExpansionContext
    ) -> Bool {
        let name = variable.singleName ?? "member"
        if variable.attribute("Transient") != nil {
            context.report(
                Misuse(
                    "transient",
                    "An embedded value has no @Transient members: make '\(name)' a computed "
                        + "property, or write it in the model"), at: variable.bindings)
            return false
        }
        if variable.attribute("Derived") != nil {
            context.report(
                Misuse(
                    "derived",
                    "An embedded value has no derived members: write '\(name)' in the model"),
                at: variable.bindings)
            return false
        }
        let type = variable.bindings.first?.typeAnnotation?.type
        if variable.attribute("Relationship") != nil
            || type.map({ WrittenType($0).memberName != nil }) ?? false
        {
            context.report(
                Misuse(
                    "relationship",
                    "An embedded value has no relationships: write '\(name)' in the model"),
                at: variable.bindings)
            return false
        }
        return ModelMisuse.report(
            variable, reserved: PropertyMisuse.reservedMemberNames, context)
    }
}

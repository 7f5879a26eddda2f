import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@ModelProtocol`: adds the properties that a protocol requires, as queries of all models that
/// adopt it name them.
struct ModelProtocolMacro: PeerMacro, VerbatimMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let declaration = declaration.as(ProtocolDeclSyntax.self) else {
            context.report(
                Misuse("protocol", "@ModelProtocol needs a protocol, which models adopt"),
                at: node)
            return []
        }
        if let parameters = declaration.primaryAssociatedTypeClause {
            context.report(
                Misuse("generic", "@ModelProtocol can't be generic: it has one set of properties"),
                at: parameters)
            return []
        }
        return [DeclSyntax(verbatim: group(of: declaration))]
    }

    private static func group(of declaration: ProtocolDeclSyntax) -> String {
        let access = declaration.groupAccess
        let name = declaration.name.text.filter { $0 != "`" }
        let adopted = "any \(declaration.name.trimmed)"
        let fields = declaration.queriedProperties.map { property in
            "\(access)var \(property.reference): Stet._FieldOf<\(property.typeName)> "
                + "{ _model.field(\"\(property.name)\", (\(property.typeName)).self) }"
        }
        return """
            \(access)struct \(name)Models: Stet.ModelGroup {
            \(access)let _model: Stet._GroupModel
            \(access)init(_model: Stet._GroupModel) {
            self._model = _model
            }
            \(access)static func _adopts(_ type: any Stet.Model.Type) -> Swift.Bool {
            type is \(adopted).Type
            }
            \(access)static func _object(_ object: any Stet.Model) -> (\(adopted))? {
            object as? \(adopted)
            }
            \(fields.joined(separator: "\n"))
            }
            """
    }
}

extension ProtocolDeclSyntax {
    /// The access level of what the macro adds.
    fileprivate var groupAccess: String {
        for modifier in modifiers {
            switch modifier.name.tokenKind {
            case .keyword(.private), .keyword(.fileprivate): return "fileprivate "
            default: break
            }
        }
        return accessPrefix
    }

    /// The required properties that models store in one slot or a run of slots.
    fileprivate var queriedProperties: [PropertyDeclaration] {
        memberBlock.members.compactMap { member in
            guard let variable = member.decl.as(VariableDeclSyntax.self),
                !variable.hasModifier(.static, .class), variable.attribute("Transient") == nil,
                let name = variable.singleName, name != "id",
                let type = variable.bindings.first?.typeAnnotation?.type,
                WrittenType(type).memberName == nil
            else { return nil }
            return PropertyDeclaration(variable, name, type, index: 0)
        }
    }
}

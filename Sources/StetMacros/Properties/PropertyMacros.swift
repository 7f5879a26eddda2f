import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@_Stored(slot)`, which `@Model` adds to each property: its accessors.
struct StoredMacro: AccessorMacro, VerbatimMacro {
    static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let property = PropertyDeclaration(attached: declaration),
            case .argumentList(let arguments)? = node.arguments
        else { return [] }
        let isObserved = arguments.contains { $0.label?.text == "isObserved" }
        let slot =
            arguments.first { $0.label == nil }?.expression.writtenText
            ?? property.shiftedSlot
        let type = property.codeType
        let storage = property.storage
        return [
            """
            @storageRestrictions(initializes: \(storage), accesses: _$state)
            init(initialValue) {
            \(storage) = \(type)._initialStorage(initialValue, slot: \(slot), &_$state)
            }
            """,
            """
            get {
            \(isObserved ? "_$registrar.access(self, \\.\(property.reference))\nreturn " : "")\(type)._value(of: \(storage), in: self, slot: \(slot))
            }
            """,
            """
            set {
            guard let storage = \(type)._storage(assigning: newValue, replacing: \(storage), in: self, slot: \(slot)) else { return }
            \(isObserved ? "_$registrar.show(self, \\.\(property.reference)) { \(storage) = storage }" : "\(storage) = storage")
            }
            """,
        ].map(AccessorDeclSyntax.init(verbatim:))
    }
}

/// `@Attribute`, which `@Model` reads; by itself it only reports a wrong position.
struct AttributeMacro: PeerMacro, VerbatimMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if declaration.as(VariableDeclSyntax.self)?.isModelProperty ?? false { return [] }
        context.report(
            Misuse("attribute", "@Attribute belongs to a stored 'var' of a model"), at: node)
        return []
    }
}

/// `@Transient`, which `@Model` reads; by itself it only reports a wrong position.
struct TransientMacro: PeerMacro, VerbatimMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if declaration.is(VariableDeclSyntax.self) { return [] }
        context.report(Misuse("transient", "@Transient belongs to a property of a model"), at: node)
        return []
    }
}

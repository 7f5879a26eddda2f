import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

// A model has no superclass: the properties of one would not be saved.

extension ModelMisuse {
    /// Returns the superclass of a class if it is a model.
    ///
    /// `protocols` contains the conformances that the class does not have yet: a class that inherits
    /// from a model conforms to `Model`.
    static func superclass(of model: ClassDeclSyntax, _ protocols: [TypeSyntax]) -> TypeSyntax? {
        func name(_ type: TypeSyntax) -> Substring {
            type.writtenText.split(separator: ".").last ?? ""
        }
        if (model.parents + protocols).contains(where: { name($0) == "Model" }) { return nil }
        return model.parents.first
    }

    /// Reports a superclass that is a model; returns false if there is one.
    static func reportInheritance(
        of model: ClassDeclSyntax, _ protocols: [TypeSyntax], _ context: some MacroExpansionContext
    ) -> Bool {
        guard let parent = superclass(of: model, protocols) else { return true }
        context.report(
            Misuse(
                "superclass",
                "A model can't inherit from a model: refer to one, as in "
                    + "'var base: \(parent.writtenText)?', or share a protocol"), at: parent)
        return false
    }
}

/// Code that does not compile if a class has a superclass, which a macro cannot distinguish from a protocol.
struct SuperclassCheck {
    let declarations: [String]

    init(_ model: ClassDeclSyntax, _ context: some MacroExpansionContext) {
        declarations = model.parents.filter { !Self.protocols.contains($0.writtenText) }
            .map { parent in
                // No class inherits from two classes, so only a protocol can stand beside the first.
                let check =
                    "private static func _$superclass<Model>(_: Model) "
                    + "where Model: Stet._ModelWithoutSuperclass, Model: \(parent.writtenText) {}"
                return context.atLine(of: parent, check)
            }
    }

    /// Frequent protocols, which need no check.
    private static let protocols: Set<String> = [
        "Model", "Stet.Model", "Sendable", "Codable", "Encodable", "Decodable", "Identifiable",
        "Hashable", "Equatable", "Comparable", "CustomStringConvertible",
        "CustomDebugStringConvertible", "AnyObject", "Observable",
    ]
}

extension ClassDeclSyntax {
    /// The types after the colon, without their attributes.
    fileprivate var parents: [TypeSyntax] {
        (inheritanceClause?.inheritedTypes ?? []).map { inherited in
            inherited.type.as(AttributedTypeSyntax.self)?.baseType ?? inherited.type
        }
    }
}

import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// Finds previous names that cannot be used.
enum OriginalNameMisuse {
    static func report(
        _ model: ClassDeclSyntax, _ node: AttributeSyntax, _ properties: [PropertyDeclaration],
        _ context: some MacroExpansionContext
    ) {
        if let name = ModelOptions(node).originalName, name.literalText == model.name.text {
            context.report(sameName(model.name.text), at: name)
        }
        var seen: Set<String> = []
        for property in properties {
            guard let expression = property.originalName, let name = expression.literalText else {
                continue
            }
            if name == property.name {
                context.report(sameName(name), at: expression)
            } else if properties.contains(where: { $0.name == name }) {
                context.report(
                    Misuse(
                        "originalName",
                        "'\(property.name)' can't have been '\(name)': the model has a "
                            + "'\(name)' still"), at: expression)
            } else if !seen.insert(name).inserted {
                context.report(
                    Misuse("originalName", "Only one property can have been '\(name)'"),
                    at: expression)
            }
        }
    }

    private static func sameName(_ name: String) -> Misuse {
        Misuse(
            "originalName", "'originalName' must be the former name: the name is '\(name)' already",
            severity: .warning)
    }
}

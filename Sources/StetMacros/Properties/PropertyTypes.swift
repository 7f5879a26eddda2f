import SwiftSyntax
import SwiftSyntaxMacros

/// The names under which generated code mentions the types of properties.
///
/// A macro sees only the text of a type: whether it can be stored, the compiler decides. It decides
/// once, where the name is declared, at the line of the property. All other code mentions the name,
/// and is silent about a type that the compiler has refused.
struct PropertyTypes {
    /// One line for each property whose text does not show that it can be stored.
    let declarations: [String]

    init(
        _ model: ClassDeclSyntax, _ properties: [PropertyDeclaration],
        _ context: some MacroExpansionContext
    ) {
        let names =
            properties.compactMap { property -> String? in
                guard let type = property.checkedType else { return nil }
                let access = property.fieldAccess.isEmpty ? "" : property.fieldAccess
                return context.atLine(
                    of: property.type, "\(access)typealias \(property.reference) = \(type)")
            } + model.indexes.flatMap { $0.checks(of: properties, context) }
        if names.isEmpty {
            declarations = []
        } else {
            declarations = [
                "\(model.accessPrefix)enum _$Types {\n\(names.joined(separator: "\n"))\n}"
            ]
        }
    }
}

extension MacroExpansionContext {
    /// Returns a line of code whose errors appear at the line of a part of the user's source.
    func atLine(of node: some SyntaxProtocol, _ code: String) -> String {
        guard let place = location(of: node, at: .afterLeadingTrivia, filePathMode: .filePath)
        else {
            return code
        }
        return
            "#sourceLocation(file: \(place.file), line: \(place.line))\n\(code)\n#sourceLocation()"
    }
}

extension PropertyDeclaration {
    /// The type in generated code.
    var codeType: String { checkedType == nil ? typeName : "_$Types.\(reference)" }
    /// The type of the snapshot's field in generated code.
    var snapshotType: String { "Stet._SnapshotValueOf<\(codeType)>" }
    /// The type of the field of queries in generated code.
    var fieldType: String { "Stet._FieldOf<\(codeType)>" }

    /// Returns the value of the property in the form that snapshots contain.
    func snapshotExpression(of object: String) -> String {
        if isDerived { return "\(object).\(reference)" }
        let place = object == "self" ? storage : "\(object).\(storage)"
        return "\(codeType)._snapshotValue(\(place))"
    }

    /// The expression that checks the type; nil if the text shows that it can be stored.
    var checkedType: String? {
        type.checked(
            as: !isRuled
                ? "Attribute" : hasOnlyIndex ? "IndexedAttribute" : "RuledAttribute")
    }

    /// True for a property whose only options that an embedded value cannot have are plain indexes.
    private var hasOnlyIndex: Bool {
        options.allSatisfy {
            ["hidden", "sealed"].contains($0.name) || ($0.name == "indexed" && $0.argument == nil)
        }
    }

    /// True for a property with options that an embedded value cannot have.
    var isRuled: Bool { options.contains { !["hidden", "sealed"].contains($0.name) } }
}

extension TypeSyntax {
    /// Returns the expression that checks the type of an attribute or a member; nil if the text
    /// shows that it can be stored.
    func checked(as kind: String) -> String? {
        let written = WrittenType(self)
        let prefix = written.isOptional ? "_Optional" : "_"
        if let (key, value) = written.base.dictionaryTypes {
            guard key.isUnknown || value.isUnknown else { return nil }
            let type = "[\(key.checkedElement): \(value.checkedElement)]"
            return written.isOptional ? "\(type)?" : type
        }
        if let element = written.base.arrayElement {
            let list = kind == "Member" ? "MemberList" : "List"
            return element.isUnknown ? "\(element.checked).\(prefix)\(list)" : nil
        }
        return written.base.isUnknown ? "\(written.base.checked).\(prefix)\(kind)" : nil
    }

    /// True for a type about which the text says nothing.
    fileprivate var isUnknown: Bool { WrittenType(self).kind == nil }

    fileprivate var checked: String { "Stet._PropertyType<\(writtenText)>" }

    fileprivate var checkedElement: String {
        isUnknown ? "\(checked)._Element" : writtenText
    }
}

import SwiftSyntax

/// Finds variables that cannot be properties of a model.
enum PropertyMisuse {
    /// The names that `Model` itself uses.
    static let reservedNames: Set<String> = [
        "id", "context", "isDeleted", "isInserted", "hasChanges", "snapshot", "validators",
        "hashValue", "Snapshot", "CodingKeys", "willSave", "didInsert", "willDelete", "didFetch",
    ]

    /// The names that `EmbeddedValue` itself uses.
    static let reservedMemberNames: Set<String> = ["Fields", "customMirror"]

    /// Returns the reason why a variable cannot be a property of a model, or a member of an
    /// embedded value; nil if it can.
    static func problem(
        of variable: VariableDeclSyntax, _ name: String, reserved: Set<String>
    ) -> Misuse? {
        if variable.bindings.count > 1 {
            return Misuse("several", "A model's properties need a declaration each")
        }
        if variable.hasModifier(.lazy, .weak, .unowned) {
            return Misuse(
                "storage",
                "'\(name)' can't be lazy, weak or unowned: mark it @Transient to leave it out")
        }
        guard let type = variable.bindings.first?.typeAnnotation?.type else {
            return Misuse("type", "'\(name)' needs an explicit type: write 'var \(name): …'")
        }
        if type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            return Misuse(
                "unwrapped", "'\(name)' can't be implicitly unwrapped: write '?' instead of '!'")
        }
        if reserved.contains(name) {
            let owner = reserved == reservedNames ? "model" : "embedded value"
            return Misuse(
                "reserved", "'\(name)' is a member of every \(owner): choose another name")
        }
        if name.hasPrefix("_") {
            return Misuse("underscore", "The name of a model's property can't begin with '_'")
        }
        if let problem = problem(ofType: type, variable, name) { return problem }
        if !WrittenType(type).canBeStored {
            return Misuse(
                "unsupported",
                "A model can't store '\(type.writtenText)': put it into a CodableAttribute, "
                    + "or mark '\(name)' @Transient")
        }
        return nil
    }

    private static func problem(
        ofType type: TypeSyntax, _ variable: VariableDeclSyntax, _ name: String
    ) -> Misuse? {
        let written = WrittenType(type)
        if let element = written.base.setElement?.writtenText {
            return Misuse(
                "set",
                "A model can't store a 'Set': write 'ToMany<\(element)>' for the members of a "
                    + "relationship, or '[\(element)]' for values")
        }
        if written.isOptional, written.memberName != nil {
            return Misuse(
                "optional",
                "'\(name)' can't be optional: a relationship without members is empty")
        }
        guard variable.attribute("Relationship") != nil else { return nil }
        if let element = written.base.arrayElement?.writtenText {
            return Misuse(
                "array",
                "A relationship to many is a 'ToMany<\(element)>', or an "
                    + "'OrderedToMany<\(element)>'")
        }
        if !written.isOptional, written.kind == nil, written.memberName == nil {
            return Misuse(
                "reference",
                "A relationship to one is optional: write '\(written.base.writtenText)?'")
        }
        return nil
    }
}

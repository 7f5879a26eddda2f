import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Model`: adds the members and the conformance that make a class a model.
struct ModelMacro: MemberMacro, MemberAttributeMacro, ExtensionMacro, VerbatimMacro {
    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard ModelMisuse.report(in: declaration, at: node, context),
            let model = declaration.as(ClassDeclSyntax.self),
            ModelMisuse.reportInheritance(of: model, protocols, context)
        else { return [] }
        ModelOptions.report(node, declaration, context)
        ModelMisuse.reportHooks(of: declaration, context)
        let properties = model.modelProperties
        let relationships = model.modelRelationships
        for property in properties where property.isDerived {
            DerivedMisuse.report(property, among: properties, relationships, context)
        }
        for property in properties + relationships {
            ModelMisuse.reportOptions(of: property, context)
            RelationshipMisuse.report(property, context)
        }
        OriginalNameMisuse.report(model, node, properties + relationships, context)
        for index in model.indexes { index.report(properties, context) }
        let checks =
            SuperclassCheck(model, context).declarations
            + PropertyTypes(model, properties, context).declarations
            + PropertySlots(properties).declarations
        let members = ModelMembers(
            name: model.name.text, access: model.accessPrefix, properties: properties,
            relationships: relationships, indexes: model.indexes,
            isObservable: ModelOptions(node).isObservable,
            originalName: ModelOptions(node).originalName?.writtenText)
        return (checks + members.all).map(DeclSyntax.init(verbatim:))
    }

    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        // Called once per member, so the slot is found by names alone.
        guard ModelMisuse.canBeModel(declaration),
            let variable = member.as(VariableDeclSyntax.self),
            variable.isModelProperty, let name = variable.singleName
        else { return [] }
        if let relationship = declaration.modelRelationships.first(where: { $0.name == name }) {
            return ["@Stet._Members(\(raw: relationship.slot))"]
        }
        guard let property = declaration.modelProperties.first(where: { $0.name == name }),
            !property.isDerived
        else { return [] }
        let observed = ModelOptions(node).isObservable
        return ["@Stet._Stored(\(raw: property.storedArguments(isObserved: observed)))"]
    }

    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard ModelMisuse.canBeModel(declaration), let model = declaration.as(ClassDeclSyntax.self)
        else { return [] }
        // The conformances that the class does not declare itself.
        var names = protocols.map(\.writtenText)
        let options = ModelOptions(node)
        if !options.isObservable || ModelMisuse.superclass(of: model, protocols) != nil {
            names.removeAll { $0.hasSuffix("ObservableModel") }
        }
        if options.isProtected { names.removeAll { $0.hasSuffix("Deletable") } }
        return names.map { name in
            let name = ["ObservableModel", "Deletable"].first(where: name.hasSuffix) ?? "Model"
            return ExtensionDeclSyntax(
                verbatim: "extension \(type.writtenText): Stet.\(name) {}")
        }
    }
}

/// The members that `@Model` adds to a class.
struct ModelMembers {
    let name: String
    let access: String
    let properties: [PropertyDeclaration]
    let relationships: [PropertyDeclaration]
    let indexes: [IndexDeclaration]
    let isObservable: Bool
    let originalName: String?

    var all: [String] {
        registrar + [
            // Exclusivity cannot be violated: each access reads one field and runs no user code.
            "@exclusivity(unchecked) \(access)final var _$state = Stet._ModelState()",
            SnapshotType(model: name, access: access, properties: properties).declaration, fields,
            snapshotProperty, assignment, initializer,
            "\(access)static var _$name: String { \"\(name)\" }",
            "\(access)static var _$propertyCount: Int { \(PropertySlots(properties).count) }",
            description, reference, setReference, encode, normalize, stamp,
        ] + properties.filter { !$0.isDerived }.map(\.storageDeclaration)
            + relationships.map(\.cacheDeclaration)
    }

    private var registrar: [String] {
        isObservable ? ["\(access)final let _$registrar = Stet._ObjectRegistrar()"] : []
    }

    /// Returns a statement that changes a property, and notifies observers if there can be any.
    private func shown(
        _ property: PropertyDeclaration, if isOther: String, _ statement: String
    ) -> String {
        guard isObservable else { return statement }
        return
            "_$registrar.show(self, \\.\(property.reference), isOther: \(isOther)) { \(statement) }"
    }

    /// Returns one line for each property, joined.
    private func lines(_ line: (PropertyDeclaration) -> String?) -> String {
        properties.compactMap(line).joined(separator: "\n")
    }

    /// Returns one line for each property that the object stores, joined.
    private func storedLines(_ line: (PropertyDeclaration) -> String?) -> String {
        properties.filter { !$0.isDerived }.compactMap(line).joined(separator: "\n")
    }

    /// The expressions of derived attributes, in which the names are those of the fields.
    private var derivations: [String] {
        properties.compactMap { property in
            property.writtenDerivation.map { expression in
                "fileprivate var \(property.derivationName): some Stet._DerivedExpression "
                    + "{ \(expression) }"
            }
        }
    }

    private var fields: String {
        let members = relationships.map { property in
            let member = "Stet.ToManyField<\(property.memberName ?? "")>"
            return "\(property.fieldAccess)var \(property.reference): \(member) "
                + "{ .init(_object, of: \(name).self, relationship: \(property.slot)) }"
        }
        return """
            \(access)struct Fields: Stet._ModelFields {
            \(access)typealias Object = \(name)
            \(access)let _object: Stet._QueryObject
            \(access)init(_object: Stet._QueryObject) {
            self._object = _object
            }
            \(lines { "\($0.fieldAccess)var \($0.reference): \($0.fieldType) { \($0.codeType)._field(_object, slot: \($0.slot)) }" })
            \((members + derivations).joined(separator: "\n"))
            }
            """
    }

    private var snapshotProperty: String {
        """
        \(access)final var _$snapshot: Snapshot {
        Snapshot(_$of: self)
        }
        """
    }

    private var assignment: String {
        let assignments = storedLines { property in
            let value = "snapshot.\(property.reference)"
            return shown(
                property,
                if: "\(property.codeType)._snapshotValue(\(property.storage)) != \(value)",
                "Stet._assign(&\(property.storage), \(property.codeType)._storage(from: \(value)))")
        }
        return """
            \(access)final func _$assign(_ snapshot: Snapshot) {
            \(assignments)
            }
            """
    }

    private var initializer: String {
        """
        \(access)init(_$reader reader: inout Stet._RecordReader) throws(Stet._UnreadableValue) {
        \(storedLines { "\($0.storage) = \($0.codeType)._storage(from: try \($0.snapshotType)._field(&reader, slot: \($0.slot)))" })
        }
        """
    }

    private var description: String {
        let entries = lines { property in
            let options = property.options.map(\.expression.writtenText).joined(
                separator: ", ")
            let relationship = property.relationship
            let further =
                (relationship.options.isEmpty
                    ? "" : ", relationship: \(relationship.writtenOptions)") + relationship.written
            return "Stet._ModelProperty(\"\(property.name)\", (\(property.codeType)).self, "
                + "\\Snapshot.\(property.reference), [\(options)]\(further)\(property.writtenOriginalName)\(property.writtenDefault))"
                + (property.derivingExpression == nil
                    ? "," : ".derived(by: { $0.\(property.derivationName) }),")
        }
        let indexes =
            indexes.isEmpty
            ? ""
            : ", indexes: [\n"
                + indexes.map { $0.description(in: name) }.joined(separator: "\n") + "\n]"
        return """
            \(access)static let _$description = Stet._ModelDescription<\(name)>(name: \"\(name)\"\(originalName.map { ", originalName: \($0)" } ?? ""), properties: [
            \(entries)
            ]\(indexes)\(describedRelationships))
            """
    }

    private var describedRelationships: String {
        if relationships.isEmpty { return "" }
        let entries = relationships.map { property in
            let relationship = property.relationship
            let inverse = relationship.inverseName.map { name in
                ", inverse: \(relationship.inverse?.writtenText ?? ""), \"\(name)\""
            }
            return ".toMany(\"\(property.name)\", of: \(name).self, (\(property.typeName)).self"
                + "\(inverse ?? "")\(relationship.written)\(property.writtenOriginalName), "
                + "\(relationship.writtenOptions)),"
        }
        return ", relationships: [\n\(entries.joined(separator: "\n"))\n]"
    }

    /// Returns one line for each property that may be a reference, joined.
    private func cases(_ line: (PropertyDeclaration) -> String) -> String {
        storedLines { $0.mayBeReference ? "case \($0.slotIndex): \(line($0))" : nil }
    }

    private var reference: String {
        """
        \(access)final func _$reference(in slot: Stet._Slot) -> Stet.ObjectID {
        switch slot.index {
        \(cases { "\($0.codeType)._reference(\($0.storage))" })
        default: Stet._noObject
        }
        }
        """
    }

    private var setReference: String {
        """
        \(access)final func _$setReference(in slot: Stet._Slot, to id: Stet.ObjectID) {
        switch slot.index {
        \(cases { shown($0, if: "true", "\($0.codeType)._setReference(&\($0.storage), id)") })
        default: break
        }
        }
        """
    }

    private var encode: String {
        """
        \(access)final func _$encode(into writer: inout Stet._RecordWriter) {
        \(lines { "\($0.snapshotExpression(of: "self"))._write(&writer, slot: \($0.slot))" })
        }
        """
    }

    private var normalize: String {
        let changes = storedLines { property in
            let place = isObservable ? "normalized" : property.storage
            let options = property.options.filter { ModelMisuse.fits($0, property) }
            let calls = options.compactMap { $0.normalization(of: place) }
            if calls.isEmpty { return members(of: property) }
            let change = calls.joined(separator: "; ")
            let statements =
                isObservable
                ? "var normalized = \(property.storage); \(change); "
                    + shown(
                        property, if: "normalized != \(property.storage)",
                        "\(property.storage) = normalized")
                : change
            return "if base == nil || base?.\(property.reference) != \(property.storage) "
                + "{ \(statements) }"
        }
        return """
            \(access)final func _$normalize(since base: Snapshot?) {
            \(changes)
            }
            """
    }

    /// Returns the statement that normalises the members of an embedded value; nil for others.
    private func members(of property: PropertyDeclaration) -> String? {
        guard property.mayBeEmbedded || property.mayBeArrayOfEmbedded else { return nil }
        let call = "_normalized(\(property.storage), since: base?.\(property.reference))"
        let change = shown(property, if: "true", "\(property.storage) = normalized")
        return "if let normalized = \(property.codeType).\(call) { \(change) }"
    }

    /// Returns the statement that stamps the members of an embedded value; nil for others.
    private func stampOfMembers(_ property: PropertyDeclaration) -> String? {
        guard property.mayBeEmbedded else { return nil }
        let call = "_stamped(\(property.storage), date, isInsert: isInsert)"
        let change = shown(property, if: "true", "\(property.storage) = stamped")
        return "if let stamped = \(property.codeType).\(call) { \(change) }"
    }

    private var stamp: String {
        let stamps = storedLines { property in
            guard let option = property.options.first(where: { $0.name == "stamped" }) else {
                return stampOfMembers(property)
            }
            let isInsertOnly = option.argument?.hasSuffix("insert") ?? false
            let assignment = shown(
                property, if: "true", "\(property.storage) = \(property.codeType)(_stamp: date)")
            return isInsertOnly ? "if isInsert { \(assignment) }" : assignment
        }
        return """
            \(access)final func _$stamp(_ date: Stet._StampDate, isInsert: Bool) {
            \(stamps)
            }
            """
    }
}

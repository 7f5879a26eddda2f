import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Embedded`: adds the members and the conformance that make a struct an embedded value.
///
/// The initialisers are in an extension, so that the struct keeps its memberwise initialiser.
struct EmbeddedMacro: MemberMacro, ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard EmbeddedMisuse.report(in: declaration, at: node, context),
            let value = declaration.as(StructDeclSyntax.self)
        else { return [] }
        let members = declaration.modelProperties
        for member in members { ModelMisuse.reportOptions(of: member, context) }
        let written = EmbeddedMembers(
            type: value.name.trimmedDescription, access: declaration.accessPrefix, members: members)
        return written.types(context) + written.all
    }

    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        // The other expansion reports what is wrong.
        guard EmbeddedMisuse.report(in: declaration, at: node, SilentContext()) else { return [] }
        let written = EmbeddedMembers(
            type: type.trimmedDescription, access: declaration.accessPrefix,
            members: declaration.modelProperties)
        let conformance = protocols.isEmpty ? "" : ": Stet.EmbeddedValue"
        return [
            try ExtensionDeclSyntax(
                """
                extension \(type.trimmed)\(raw: conformance) {
                \(raw: written.initializers.joined(separator: "\n"))
                }
                """)
        ]
    }
}

/// The members that `@Embedded` adds to a struct.
struct EmbeddedMembers {
    let type: String
    let access: String
    let members: [PropertyDeclaration]

    var all: [DeclSyntax] {
        [
            fields, description,
            "\(raw: access)static var _$memberCount: Swift.Int { \(raw: members.count) }", writing,
            codingKeys, encoding, normalize, stamp, comparison,
        ] + refusal
    }

    /// The sentence about an optional property of the type, if it cannot be optional.
    private var refusal: [DeclSyntax] {
        guard let counter = members.first(where: { $0.hasOption("counter") }) else { return [] }
        return [
            """
            @available(*, unavailable, message: "an embedded value with a '.counter' can't be optional: increments of '\(raw: counter.name)' would be lost with it; move it to the model")
            \(raw: access)typealias _OptionalAttribute = Stet._RefusedProperty<\(raw: type)?>
            """
        ]
    }

    var initializers: [String] { [reading, decoding] }

    /// Returns one line for each member, joined.
    private func lines(_ line: (PropertyDeclaration) -> String?) -> String {
        members.compactMap(line).joined(separator: "\n")
    }

    /// Returns the names under which generated code mentions the types of members; see
    /// `PropertyTypes`.
    func types(_ context: some MacroExpansionContext) -> [DeclSyntax] {
        let names = members.compactMap { member -> String? in
            guard let type = member.type.checked(as: "Member") else { return nil }
            return context.atLine(
                of: member.writtenType,
                "\(member.fieldAccess)typealias \(member.reference) = \(type)")
        }
        return names.isEmpty
            ? [] : ["\(raw: access)enum _$Types {\n\(raw: names.joined(separator: "\n"))\n}"]
    }

    private var fields: DeclSyntax {
        let fields = lines { member in
            "\(member.fieldAccess)var \(member.reference): Stet._FieldOf<\(member.memberType)> "
                + "{ \(member.memberType)._field(_object, slot: \(slot(member, "_slot"))) }"
        }
        return """
            \(raw: access)struct Fields: Stet._EmbeddedFields {
            \(raw: access)typealias Value = \(raw: type)
            \(raw: access)let _object: Stet._QueryObject
            \(raw: access)let _slot: Stet._Slot
            \(raw: access)init(_object: Stet._QueryObject, slot: Stet._Slot) {
            self._object = _object
            self._slot = slot
            }
            \(raw: fields)
            }
            """
    }

    /// Returns the slot of a member, in generated code.
    private func slot(_ member: PropertyDeclaration, _ first: String = "slot") -> String {
        member.index == 0 ? first : "Stet._Slot(\(first).index &+ \(member.index))"
    }

    private var description: DeclSyntax {
        let entries = lines { member in
            let options = member.options.map(\.expression.trimmedDescription)
                .joined(separator: ", ")
            return "Stet._EmbeddedMember(\"\(member.name)\", (\(member.memberType)).self, "
                + "\\\(type).\(member.reference), \\\(type)?.?.\(member.reference), "
                + "[\(options)]\(member.writtenOriginalName)"
                + "\(member.writtenDefault)),"
        }
        return
            "\(raw: access)static let _$members: [Stet._EmbeddedMember<\(raw: type)>] = [\n\(raw: entries)\n]"
    }

    private var reading: String {
        let lines = lines { member in
            "self.\(member.reference) = try \(member.memberType)._member(&reader, slot: \(slot(member)))"
        }
        return """
            \(access)init(_$reader reader: inout Stet._RecordReader, slot: Stet._Slot) throws(Stet._UnreadableValue) {
            \(lines)
            }
            """
    }

    private var writing: DeclSyntax {
        let lines = lines { member in
            "\(member.memberType)._write(self.\(member.reference), &writer, slot: \(slot(member)))"
        }
        return """
            \(raw: access)func _$encode(into writer: inout Stet._RecordWriter, slot: Stet._Slot) {
            \(raw: lines)
            }
            """
    }

    private var codingKeys: DeclSyntax {
        """
        fileprivate enum _$CodingKeys: Swift.String, Swift.CodingKey {
        \(raw: lines { "case \($0.reference)" })
        }
        """
    }

    private var decoding: String {
        let lines = lines { member in
            "self.\(member.reference) = try \(member.memberType)._decodeMember(values, _$CodingKeys.\(member.reference))"
        }
        return """
            \(access)init(_$decoder decoder: any Swift.Decoder) throws {
            let values = try decoder.container(keyedBy: _$CodingKeys.self)
            \(lines)
            }
            """
    }

    /// The function that encodes the members in a snapshot, without the hidden ones.
    private var encoding: DeclSyntax {
        let lines = lines { member in
            member.isHidden
                ? nil
                : "try \(member.memberType)._encode(self.\(member.reference), &values, _$CodingKeys.\(member.reference))"
        }
        return """
            \(raw: access)func _$encode(to encoder: any Swift.Encoder) throws {
            \(raw: lines.isEmpty ? "_" : "var values") = encoder.container(keyedBy: _$CodingKeys.self)
            \(raw: lines)
            }
            """
    }

    private var normalize: DeclSyntax {
        let changes = lines { member in
            let place = "self.\(member.reference)"
            let calls = member.options.filter { ModelMisuse.fits($0, member) }
                .compactMap { $0.normalization(of: place) }
            if calls.isEmpty { return nil }
            return "if base == nil || base?.\(member.reference) != \(place) "
                + "{ \(calls.joined(separator: "; ")) }"
        }
        return """
            \(raw: access)mutating func _$normalize(since base: Self?) {
            \(raw: changes)
            }
            """
    }

    private var stamp: DeclSyntax {
        let stamps = lines { member in
            guard let option = member.options.first(where: { $0.name == "stamped" }) else {
                return nil
            }
            let assignment = "self.\(member.reference) = \(member.memberType)(_stamp: date)"
            let isInsertOnly = option.argument?.hasSuffix("insert") ?? false
            return isInsertOnly ? "if isInsert { \(assignment) }" : assignment
        }
        return """
            \(raw: access)mutating func _$stamp(_ date: Stet._StampDate, isInsert: Swift.Bool) {
            \(raw: stamps)
            }
            """
    }

    private var comparison: DeclSyntax {
        let comparisons = members.map { "one.\($0.reference) == other.\($0.reference)" }
        return """
            \(raw: access)static func == (one: Self, other: Self) -> Swift.Bool {
            \(raw: comparisons.joined(separator: "\n&& "))
            }
            """
    }
}

extension PropertyDeclaration {
    /// The type of a member of an embedded value in generated code.
    fileprivate var memberType: String {
        type.checked(as: "Member") == nil ? typeName : "_$Types.\(reference)"
    }
}

/// A context that reports nothing.
private final class SilentContext: MacroExpansionContext {
    let lexicalContext: [Syntax] = []
    func makeUniqueName(_ name: String) -> TokenSyntax { .identifier(name) }
    func diagnose(_ diagnostic: Diagnostic) {}
    func location(
        of node: some SyntaxProtocol, at position: PositionInSyntaxNode,
        filePathMode: SourceLocationFilePathMode
    ) -> AbstractSourceLocation? { nil }
}

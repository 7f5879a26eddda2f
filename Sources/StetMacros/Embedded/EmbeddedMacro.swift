import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Embedded`: adds the members and the conformance that make a struct an embedded value.
///
/// The initialisers are in an extension, so that the struct keeps its memberwise initialiser.
struct EmbeddedMacro: MemberMacro, ExtensionMacro, VerbatimMacro {
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
            type: value.name.writtenText, access: declaration.accessPrefix, members: members)
        return (written.types(context) + written.all).map(DeclSyntax.init(verbatim:))
    }

    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        // The other expansion reports what is wrong.
        guard EmbeddedMisuse.report(in: declaration, at: node, SilentContext()) else { return [] }
        let written = EmbeddedMembers(
            type: type.writtenText, access: declaration.accessPrefix,
            members: declaration.modelProperties)
        let conformance = protocols.isEmpty ? "" : ": Stet.EmbeddedValue"
        return [
            ExtensionDeclSyntax(
                verbatim: """
                    extension \(type.writtenText)\(conformance) {
                    \(written.initializers.joined(separator: "\n"))
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

    var all: [String] {
        [
            fields, description,
            "\(access)static var _$memberCount: Swift.Int { \(members.count) }", writing,
            codingKeys, encoding, normalize, stamp, comparison,
        ] + refusal
    }

    /// The sentences about the types of properties that the value cannot have: those of an optional
    /// value, and of an array.
    private var refusal: [String] {
        refusalOfArrays + refusalOfOptional
    }

    private var refusalOfArrays: [String] {
        let options = ["counter", "stamped", "indexed", "unique", "searchable"]
        guard
            let (member, option) = members.lazy.compactMap({ member in
                options.first(where: member.hasOption).map { (member, $0) }
            }).first
        else { return [] }
        let sentence =
            "an element of an array can't have a member that is '.\(option)': remove that of "
            + "'\(member.name)', or write a '@Model'"
        return [("_List", "[\(type)]"), ("_OptionalList", "[\(type)]?")].map { name, list in
            """
            @available(*, unavailable, message: "\(sentence)")
            \(access)typealias \(name) = Stet._RefusedProperty<\(list)>
            """
        }
    }

    private var refusalOfOptional: [String] {
        guard let counter = members.first(where: { $0.hasOption("counter") }) else { return [] }
        return [
            """
            @available(*, unavailable, message: "an embedded value with a '.counter' can't be optional: increments of '\(counter.name)' would be lost with it; move it to the model")
            \(access)typealias _OptionalAttribute = Stet._RefusedProperty<\(type)?>
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
    func types(_ context: some MacroExpansionContext) -> [String] {
        let names = members.compactMap { member -> String? in
            guard let type = member.type.checked(as: "Member") else { return nil }
            return context.atLine(
                of: member.type,
                "\(member.fieldAccess)typealias \(member.reference) = \(type)")
        }
        return names.isEmpty
            ? [] : ["\(access)enum _$Types {\n\(names.joined(separator: "\n"))\n}"]
    }

    private var fields: String {
        let fields = lines { member in
            "\(member.fieldAccess)var \(member.reference): Stet._FieldOf<\(member.memberType)> "
                + "{ \(member.memberType)._field(_object, slot: \(slot(member, "_slot"))) }"
        }
        return """
            \(access)struct Fields: Stet._EmbeddedFields {
            \(access)typealias Value = \(type)
            \(access)let _object: Stet._QueryObject
            \(access)let _slot: Stet._Slot
            \(access)init(_object: Stet._QueryObject, slot: Stet._Slot) {
            self._object = _object
            self._slot = slot
            }
            \(fields)
            }
            """
    }

    /// Returns the slot of a member, in generated code.
    private func slot(_ member: PropertyDeclaration, _ first: String = "slot") -> String {
        member.index == 0 ? first : "Stet._Slot(\(first).index &+ \(member.index))"
    }

    private var description: String {
        let entries = lines { member in
            let options = member.options.map(\.expression.writtenText)
                .joined(separator: ", ")
            return "Stet._EmbeddedMember(\"\(member.name)\", (\(member.memberType)).self, "
                + "\\\(type).\(member.reference), \\\(type)?.?.\(member.reference), "
                + "[\(options)]\(member.writtenOriginalName)"
                + "\(member.writtenDefault)),"
        }
        return
            "\(access)static let _$members: [Stet._EmbeddedMember<\(type)>] = [\n\(entries)\n]"
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

    private var writing: String {
        let lines = lines { member in
            "\(member.memberType)._write(self.\(member.reference), &writer, slot: \(slot(member)))"
        }
        return """
            \(access)func _$encode(into writer: inout Stet._RecordWriter, slot: Stet._Slot) {
            \(lines)
            }
            """
    }

    private var codingKeys: String {
        """
        fileprivate enum _$CodingKeys: Swift.String, Swift.CodingKey {
        \(lines { "case \($0.reference)" })
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
    private var encoding: String {
        let lines = lines { member in
            member.isHidden
                ? nil
                : "try \(member.memberType)._encode(self.\(member.reference), &values, _$CodingKeys.\(member.reference))"
        }
        return """
            \(access)func _$encode(to encoder: any Swift.Encoder) throws {
            \(lines.isEmpty ? "_" : "var values") = encoder.container(keyedBy: _$CodingKeys.self)
            \(lines)
            }
            """
    }

    private var normalize: String {
        let changes = lines { member in
            let place = "self.\(member.reference)"
            let calls = member.options.filter { ModelMisuse.fits($0, member) }
                .compactMap { $0.normalization(of: place) }
            if calls.isEmpty { return nil }
            return "if base == nil || base?.\(member.reference) != \(place) "
                + "{ \(calls.joined(separator: "; ")) }"
        }
        return """
            \(access)mutating func _$normalize(since base: Self?) {
            \(changes)
            }
            """
    }

    private var stamp: String {
        let stamps = lines { member in
            guard let option = member.options.first(where: { $0.name == "stamped" }) else {
                return nil
            }
            let assignment = "self.\(member.reference) = \(member.memberType)(_stamp: date)"
            let isInsertOnly = option.argument?.hasSuffix("insert") ?? false
            return isInsertOnly ? "if isInsert { \(assignment) }" : assignment
        }
        return """
            \(access)mutating func _$stamp(_ date: Stet._StampDate, isInsert: Swift.Bool) {
            \(stamps)
            }
            """
    }

    private var comparison: String {
        let comparisons = lines { member in
            "guard one.\(member.reference) == other.\(member.reference) else { return false }"
        }
        return """
            \(access)static func == (one: Self, other: Self) -> Swift.Bool {
            \(comparisons)
            return true
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

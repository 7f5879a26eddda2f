import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import StetMacros

/// The code of `@Embedded`, of models with embedded values, and the messages for misuse.
@Suite struct EmbeddedMacroTests {
    private static let macros: [String: MacroSpec] = [
        "Model": MacroSpec(type: ModelMacro.self, conformances: ["Stet.Model"]),
        "Embedded": MacroSpec(type: EmbeddedMacro.self, conformances: ["Stet.EmbeddedValue"]),
        "Attribute": MacroSpec(type: AttributeMacro.self),
        "Transient": MacroSpec(type: TransientMacro.self),
        "Relationship": MacroSpec(type: RelationshipMacro.self),
    ]

    /// The lines of an expansion, without indentation and source locations.
    private func expand(_ source: String) -> [String] {
        Parser.expand(source, Self.macros, BasicMacroExpansionContext())
            .split(separator: "\n").map { line in
                line.split(separator: " ").joined(separator: " ")
            }.filter { !$0.isEmpty && !$0.hasPrefix("#sourceLocation") }
    }

    private static let isNotEmbedded =
        "is not an embedded value: #Index takes '\\.name' or, in an embedded value, "
        + "'\\.address.city'"

    private func messages(_ source: String) -> [String] {
        Parser.messages(source, Self.macros).filter { !$0.contains("needs an initialiser") }
    }

    private static let address = """
        @Embedded public struct Address {
            @Attribute(.trimmed, .indexed, originalName: "town") public var city: String = ""
            @Attribute(.hidden) var kind: Kind
            var line: String { city }
        }
        """

    private static let refusal =
        "@available(*, unavailable, message: \"an element of an array can't have a member "
        + "that is '.indexed': remove that of 'city', or write a '@Model'\")"

    @Test func anEmbeddedValueIsAnExtension() {
        #expect(
            expand(Self.address) == [
                "public struct Address {",
                "public var city: String = \"\"",
                "var kind: Kind",
                "var line: String {", "city", "}",
                "public enum _$Types {",
                "typealias kind = Stet._PropertyType<Kind>._Member",
                "}",
                "public struct Fields: Stet._EmbeddedFields {",
                "public typealias Value = Address",
                "public let _object: Stet._QueryObject",
                "public let _slot: Stet._Slot",
                "public init(_object: Stet._QueryObject, slot: Stet._Slot) {",
                "self._object = _object",
                "self._slot = slot",
                "}",
                "public var city: Stet._FieldOf<String> {",
                "String._field(_object, slot: _slot)",
                "}",
                "var kind: Stet._FieldOf<_$Types.kind> {",
                "_$Types.kind._field(_object, slot: Stet._Slot(_slot.index &+ 1))",
                "}",
                "}",
                "public static let _$members: [Stet._EmbeddedMember<Address>] = [",
                "Stet._EmbeddedMember(\"city\", (String).self, \\Address.city, "
                    + "\\Address?.?.city, "
                    + "[.trimmed, .indexed], originalName: \"town\", default: {",
                "\"\"",
                "}),",
                "Stet._EmbeddedMember(\"kind\", (_$Types.kind).self, \\Address.kind, "
                    + "\\Address?.?.kind, "
                    + "[.hidden]),",
                "]",
                "public static var _$memberCount: Swift.Int {",
                "2",
                "}",
                "public func _$encode(into writer: inout Stet._RecordWriter, slot: "
                    + "Stet._Slot) {",
                "String._write(self.city, &writer, slot: slot)",
                "_$Types.kind._write(self.kind, &writer, slot: Stet._Slot(slot.index &+ 1))",
                "}",
                "fileprivate enum _$CodingKeys: Swift.String, Swift.CodingKey {",
                "case city",
                "case kind",
                "}",
                "public func _$encode(to encoder: any Swift.Encoder) throws {",
                "var values = encoder.container(keyedBy: _$CodingKeys.self)",
                "try String._encode(self.city, &values, _$CodingKeys.city)",
                "}",
                "public mutating func _$normalize(since base: Self?) {",
                "if base == nil || base?.city != self.city {",
                "Stet._trim(&self.city)",
                "}",
                "}",
                "public mutating func _$stamp(_ date: Stet._StampDate, isInsert: "
                    + "Swift.Bool) {",
                "}",
                "public static func == (one: Self, other: Self) -> Swift.Bool {",
                "guard one.city == other.city else {", "return false", "}",
                "guard one.kind == other.kind else {", "return false", "}", "return true",
                "}",
                Self.refusal, "public typealias _List = Stet._RefusedProperty<[Address]>",
                Self.refusal, "public typealias _OptionalList = Stet._RefusedProperty<[Address]?>",
                "}",
                "extension Address: Stet.EmbeddedValue {",
                "public init(_$reader reader: inout Stet._RecordReader, slot: "
                    + "Stet._Slot) throws(Stet._UnreadableValue) {",
                "self.city = try String._member(&reader, slot: slot)",
                "self.kind = try _$Types.kind._member(&reader, slot: "
                    + "Stet._Slot(slot.index &+ 1))",
                "}",
                "public init(_$decoder decoder: any Swift.Decoder) throws {",
                "let values = try decoder.container(keyedBy: _$CodingKeys.self)",
                "self.city = try String._decodeMember(values, _$CodingKeys.city)",
                "self.kind = try _$Types.kind._decodeMember(values, _$CodingKeys.kind)",
                "}",
                "}",
            ])
    }

    private static let person = """
        @Model final class Person {
            var name: String
            var address: Address
            var kind: Kind
            var note: String
            init() {}
        }
        """

    @Test func thePropertiesAfterAPossibleEmbeddedValueHaveComputedSlots() {
        let lines = expand(Self.person)
        #expect(
            lines.filter { $0.contains("_$Slots") || $0.contains("Stet._slot(") } == [
                "fileprivate enum _$Slots {",
                "Stet._slot(after: 1, _$Types.address.self)",
                "Stet._slot(after: _$Slots.kind, _$Types.kind.self)",
                "self.kind = try Stet._SnapshotValueOf<_$Types.kind>"
                    + "._field(&reader, slot: _$Slots.kind)",
                "self.note = try Stet._SnapshotValueOf<String>"
                    + "._field(&reader, slot: _$Slots.note)",
                "self.kind._write(&writer, slot: _$Slots.kind)",
                "self.note._write(&writer, slot: _$Slots.note)",
                "_$Types.kind._field(_object, slot: _$Slots.kind)",
                "String._field(_object, slot: _$Slots.note)",
                "_kind = _$Types.kind._storage(from: try Stet._SnapshotValueOf<_$Types.kind>"
                    + "._field(&reader, slot: _$Slots.kind))",
                "_note = String._storage(from: try Stet._SnapshotValueOf<String>"
                    + "._field(&reader, slot: _$Slots.note))",
                "Stet._slot(after: _$Slots.kind, _$Types.kind.self, 1).index",
                "case _$Slots.kind.index:",
                "case _$Slots.kind.index:",
                "_$Types.kind._snapshotValue(_kind)._write(&writer, slot: _$Slots.kind)",
                "String._snapshotValue(_note)._write(&writer, slot: _$Slots.note)",
            ])
        #expect(
            lines.filter { $0.contains("_normalized(") || $0.contains("_stamped(") } == [
                "if let normalized = _$Types.address._normalized(_address, "
                    + "since: base?.address) {",
                "if let normalized = _$Types.kind._normalized(_kind, since: base?.kind) {",
                "if let stamped = _$Types.address._stamped(_address, date, "
                    + "isInsert: isInsert) {",
                "if let stamped = _$Types.kind._stamped(_kind, date, isInsert: isInsert) {",
            ])
        #expect(
            lines.filter { $0.hasPrefix("@Stet._Stored") } == [
                "@Stet._Stored(0)", "@Stet._Stored(1)", "@Stet._Stored()", "@Stet._Stored()",
            ])
    }

    @Test func aModelOfPlainAttributesHasLiteralSlots() {
        let lines = expand(
            """
            @Model final class Note {
                var a: String
                @Relationship var b: Note?
                @Attribute(.indexed) var kind: Kind?
                var c: [Kind]
                init() {}
            }
            """)
        #expect(!lines.contains { $0.contains("_$Slots") })
        #expect(lines.contains("static var _$propertyCount: Int {"))
        #expect(lines.contains("4"))
    }

    @Test func anOptionalPropertyOfAnUnknownTypeMayBeEmbedded() {
        let lines = expand(
            "@Model final class Note { @Attribute(.hidden) var a: Place?; var b: Int; init() {} }")
        #expect(
            lines.filter { $0.contains("_slot(") || $0.contains("_normalized(") } == [
                "Stet._slot(after: 0, _$Types.a.self)",
                "Stet._slot(after: 0, _$Types.a.self, 1).index",
                "if let normalized = _$Types.a._normalized(_a, since: base?.a) {",
            ])
        #expect(lines.contains("typealias a = Stet._PropertyType<Place>._OptionalAttribute"))
    }

    @Test func anEmbeddedValueWithACounterCannotBeOptional() {
        let lines = expand("@Embedded struct A { @Attribute(.counter) var hits: Int = 0 }")
        #expect(
            lines.contains("typealias _OptionalAttribute = Stet._RefusedProperty<A?>"), "\(lines)")
        #expect(lines.contains { $0.contains("increments of 'hits' would be lost with it") })
    }

    @Test(arguments: [
        (
            "class Address { var city: String = \"\" }",
            "@Embedded needs a struct: an embedded value has no identity"
        ),
        (
            "struct Address<T> { var city: String = \"\" }",
            "@Embedded can't be generic: it has one set of members"
        ),
        (
            "struct Address { var line: String { \"\" } }",
            "@Embedded needs members: write 'var name: String = \"\"'"
        ),
        (
            "struct Address { var city = \"\" }",
            "'city' needs an explicit type: write 'var city: …'"
        ),
        (
            "struct Address { @Relationship var owner: Person? }",
            "An embedded value has no relationships: write 'owner' in the model"
        ),
        (
            "struct Address { var owners: ToMany<Person> }",
            "An embedded value has no relationships: write 'owners' in the model"
        ),
        (
            "struct Address { @Transient var cache: Int = 0 }",
            "An embedded value has no @Transient members: make 'cache' a computed property, or "
                + "write it in the model"
        ),
        (
            "struct Address { var Fields: String }",
            "'Fields' is a member of every embedded value: choose another name"
        ),
        (
            "struct Address { var names: Set<String> }",
            "A model can't store a 'Set': write 'ToMany<String>' for the members of a "
                + "relationship, or '[String]' for values"
        ),
        (
            "struct Address { let city: String }",
            "A model's property can't be a constant: make 'city' a 'var'"
        ),
        (
            "struct Address { @Attribute(.range(0...1)) var city: String }",
            "'.range' needs a number or a Date; 'city' is String"
        ),
    ])
    func aStructThatCannotBeEmbeddedIsExplained(source: String, message: String) {
        #expect(messages("@Embedded \(source)") == [message])
    }

    @Test(arguments: [
        "struct Address { var id: String = \"\"; static var x = 1; let y = 2 }",
        "struct Address { var context: [Kind]; var snapshot: Int? }",
    ])
    func namesOfModelsAreFreeInAnEmbeddedValue(source: String) {
        #expect(messages("@Embedded \(source)") == [])
    }

    @Test(arguments: [
        ("\\.a.b", "'a' \(isNotEmbedded)"), ("\\.note.b", "'note' \(isNotEmbedded)"),
        ("\\.address.b.c", "'address.b' \(isNotEmbedded)"),
        ("\\.c.b", "'c' is not a stored property of the model"),
        ("\\.address[0]", "#Index reads the text: write '\\.name', not '\\.address[0]'"),
    ])
    func anIndexNamesAMemberOfAnEmbeddedValue(path: String, message: String) {
        let model = "var a: Int; @Relationship var note: Note?; var address: Address?"
        #expect(messages("@Model final class A { \(model)\n#Index<A>(\(path)) }") == [message])
    }

    @Test func anIndexOverMembersIsAccepted() {
        let source = """
            @Model final class A {
                var name: String
                var address: Address
                var site: Address?
                #Index<A>(\\.address.city, \\.name)
                #Unique<A>(\\.site?.city)
                init() {}
            }
            """
        #expect(messages(source) == [])
        let lines = expand(source)
        #expect(
            lines.contains(
                "Stet._ModelIndex(of: A.self, isUnique: false, [\"address.city\", \"name\"]),"))
        #expect(lines.contains("Stet._ModelIndex(of: A.self, isUnique: true, [\"site.city\"]),"))
        #expect(
            lines.contains {
                $0.hasPrefix("private static func") && $0.hasSuffix("Fields> = \\.city) {")
            })
    }
}

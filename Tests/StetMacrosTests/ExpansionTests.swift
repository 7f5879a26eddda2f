import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import StetMacros

/// The code that `@Model` generates, word for word.
@Suite struct ExpansionTests {
    private func expand(_ source: String) -> [String] {
        let macros: [String: MacroSpec] = [
            "Model": MacroSpec(
                type: ModelMacro.self, conformances: ["Stet.Model", "Stet.ObservableModel"]),
            "_Stored": MacroSpec(type: StoredMacro.self),
        ]
        return Parser.expand(source, macros, BasicMacroExpansionContext())
            .split(separator: "\n").map { line in
                line.split(separator: " ").joined(separator: " ")
            }
    }

    private static let note = """
        final class Note {
            @Attribute(.trimmed) var title: String
            @Attribute(.stamped(.insert)) var made: Date
        }
        """

    @Test func observationIsAllThatTheOptionAdds() {
        let plain = expand("@Model \(Self.note)")
        let observable = expand("@Model(.observable) \(Self.note)")
        #expect(
            observable.filter { !plain.contains($0) } == [
                "@Stet._Stored(0, isObserved: true) var title: String",
                "@Stet._Stored(1, isObserved: true) var made: Date",
                "final let _$registrar = Stet._ObjectRegistrar()",
                "_$registrar.show(self, \\.title, isOther: "
                    + "String._snapshotValue(_title) != snapshot.title) {",
                "_$registrar.show(self, \\.made, isOther: "
                    + "Date._snapshotValue(_made) != snapshot.made) {",
                "var normalized = _title;",
                "Stet._trim(&normalized);",
                "_$registrar.show(self, \\.title, isOther: normalized != _title) {",
                "_title = normalized",
                "_$registrar.show(self, \\.made, isOther: true) {",
                "extension Note: Stet.ObservableModel {",
            ])
        #expect(
            plain.filter { !observable.contains($0) } == [
                "@Stet._Stored(0) var title: String",
                "@Stet._Stored(1) var made: Date",
                "Stet._trim(&_title)",
            ])
    }

    @Test func normalisersRunInTheOrderOfTheirDeclaration() {
        let options = ".nfc, .normalized(by: Note.clean), .lowercased, .trimmed"
        let lines = expand("@Model final class Note { @Attribute(\(options)) var title: String }")
        #expect(
            lines.filter {
                $0.contains("&_title") && $0.hasPrefix("Stet._") && !$0.contains("_assign")
            }
                == [
                    "Stet._composeCharacters(&_title);",
                    "Stet._normalize(&_title, by: Note.clean);",
                    "Stet._lowercase(&_title);", "Stet._trim(&_title)",
                ])
    }

    @Test func theAccessorsOfAPlainModelReadAndSetTheStorage() {
        #expect(
            expand("class Note { @_Stored(3) var title: String }") == [
                "class Note {",
                "var title: String {",
                "@storageRestrictions(initializes: _title, accesses: _$state)",
                "init(initialValue) {",
                "_title = String._initialStorage(initialValue, slot: 3, &_$state)",
                "}",
                "get {",
                "String._value(of: _title, in: self, slot: 3)",
                "}",
                "set {",
                "guard let storage = String._storage(assigning: newValue, replacing: _title, "
                    + "in: self, slot: 3) else {",
                "return",
                "}",
                "_title = storage",
                "}",
                "}",
                "}",
            ])
    }

    @Test func theStorageHasAValueWhereThePropertyNeedsNone() {
        let lines = expand(
            """
            @Model final class Note {
                var title: String
                var rating: Int = 0
                var body: String?
                @Relationship(inverse: \\Note.parent) var children: ToMany<Note>
                var others: ToMany<Note> = []
            }
            """)
        #expect(
            lines.filter { $0.contains("private final var _") } == [
                "@exclusivity(unchecked) private final var _title: Stet._StorageOf<String>",
                "@exclusivity(unchecked) private final var _rating: Stet._StorageOf<Int>",
                "@exclusivity(unchecked) private final var _body: Stet._StorageOf<String?> = "
                    + "String?._storage(from: nil as Stet._SnapshotValueOf<String?>)",
                "private final var _children: Stet._MemberCache? = nil",
                "private final var _others: Stet._MemberCache?",
            ])
    }

    @Test func theAccessorsOfAnObservableModelTellWhoReadsAndWhatChanges() {
        let plain = expand("class Note { @_Stored(3) var title: String }")
        let observable = expand("class Note { @_Stored(3, isObserved: true) var title: String }")
        #expect(
            observable.filter { !plain.contains($0) } == [
                "_$registrar.access(self, \\.title)",
                "return String._value(of: _title, in: self, slot: 3)",
                "_$registrar.show(self, \\.title) {",
            ])
    }
}

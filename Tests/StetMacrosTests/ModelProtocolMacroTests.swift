import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import StetMacros

/// The code of `@ModelProtocol`, and the messages for misuse.
@Suite struct ModelProtocolMacroTests {
    private static let macros: [String: MacroSpec] = [
        "ModelProtocol": MacroSpec(type: ModelProtocolMacro.self),
        "Transient": MacroSpec(type: TransientMacro.self),
    ]

    /// The lines that an expansion adds to a protocol, without indentation.
    private func added(to source: String) -> [String] {
        let lines = Parser.expand(source, Self.macros, BasicMacroExpansionContext())
            .split(separator: "\n").map { line in
                line.split(separator: " ").joined(separator: " ")
            }.filter { !$0.isEmpty }
        return Array(lines.drop { !$0.contains("struct ") })
    }

    @Test func theTypeHasTheStoredPropertiesOfTheProtocol() {
        let lines = added(
            to: """
                @ModelProtocol public protocol Commentable: Model {
                    var postedAt: Date { get }
                    var `default`: [String]? { get set }
                    var author: Person? { get }
                    var id: ObjectID { get }
                    var tags: ToMany<Tag> { get }
                    @Transient var summary: String { get }
                    static var plural: String { get }
                    func post()
                }
                """)
        #expect(
            lines == [
                "public struct CommentableModels: Stet.ModelGroup {",
                "public let _model: Stet._GroupModel",
                "public init(_model: Stet._GroupModel) {",
                "self._model = _model",
                "}",
                "public static func _adopts(_ type: any Stet.Model.Type) -> Swift.Bool {",
                "type is any Commentable.Type",
                "}",
                "public static func _object(_ object: any Stet.Model) -> (any Commentable)? {",
                "object as? any Commentable",
                "}",
                "public var postedAt: Stet._FieldOf<Date> {",
                "_model.field(\"postedAt\", (Date).self)",
                "}",
                "public var `default`: Stet._FieldOf<[String]?> {",
                "_model.field(\"default\", ([String]?).self)",
                "}",
                "public var author: Stet._FieldOf<Person?> {",
                "_model.field(\"author\", (Person?).self)",
                "}",
                "}",
            ])
    }

    @Test func aPrivateProtocolHasAFilePrivateType() {
        let lines = added(
            to: """
                @ModelProtocol private protocol Named: Model {
                    var name: String { get }
                }
                """)
        #expect(lines.first == "fileprivate struct NamedModels: Stet.ModelGroup {")
        #expect(lines.count { $0.hasPrefix("fileprivate ") } == 6)
    }

    @Test(arguments: [
        (
            "@ModelProtocol final class Article {}",
            "@ModelProtocol needs a protocol, which models adopt"
        ),
        (
            "@ModelProtocol protocol Holder<Element>: Model { associatedtype Element }",
            "@ModelProtocol can't be generic: it has one set of properties"
        ),
    ]) func misuseIsReported(source: String, message: String) {
        #expect(Parser.messages(source, Self.macros) == [message])
    }
}

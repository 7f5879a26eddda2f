import StetTestSupport
import Testing

/// The messages of the compiler for sealed values in the wrong place.
@Suite struct SealedMessageTests {
    /// All errors of a program with a member of a struct in line 2, a property of a model in line
    /// 6, and a condition and an order in line 11.
    private func errors(
        member: String = "", property: String = "", condition: String = "$0.name == nil",
        order: String = ""
    ) throws -> [CompiledProgram.Error] {
        try CompiledProgram(
            """
            import Stet
            @Embedded struct Address: EmbeddedValue { var city: String = ""; \(member)
            }
            @Model final class Person {
                var other: Person?
                \(property)
                var name: Sealed<String>?
                init() {}
            }
            func find(_ context: ManagedContext) throws -> [Person] {
                try context.fetch(Person.self) { \(condition) }\(order).all()
            }
            """
        ).errors
    }

    @Test func sealedValuesCompile() throws {
        #expect(
            try errors(
                property: """
                    @Attribute(.hidden, .sealed(by: \\.other)) var list: Sealed<[String]>?; \
                    @Attribute(originalName: "size") var count: Sealed<Int> = Sealed(1); \
                    @Attribute(.sealed(by: \\.other), .indexed) var email: Sealed<String>?; \
                    @Attribute(.indexed) var code: Sealed<Int> = Sealed(1)
                    """,
                condition: """
                    $0.name != nil && $0.list == nil \
                        && $0.email.isEqual(to: "a", sealedBy: Person()) \
                        && $0.code.isEqual(to: 1, sealedBy: ObjectID())
                    """) == [])
    }

    @Test(arguments: [
        (
            "@Attribute(.sealed(by: \\.other)) var text: String?",
            "'.sealed' needs a Sealed value; 'text' is String?"
        ),
        (
            "@Attribute(.unique) var text: Sealed<String> = Sealed(\"\")",
            "a sealed value can be indexed, but has no rules, unique indexes or normalisers"
        ),
        (
            "var texts: [Sealed<String>] = []",
            "seal the array as a whole: write 'Sealed<[String]>'"
        ),
    ])
    func anErrorIsReportedAtTheProperty(property: String, message: String) throws {
        let found = try errors(property: property)
        #expect(found.map(\.line) == [6])
        #expect(found.first?.text.contains(message) == true, "\(found)")
    }

    @Test func anEmbeddedValueContainsNoSealedOne() throws {
        let found = try errors(member: "var text: Sealed<String>?")
        #expect(found.map(\.line) == [2])
        #expect(
            found.first?.text.contains("an embedded value can't contain a sealed one") == true,
            "\(found)")
    }

    @Test(arguments: ["$0.name == Sealed(\"Ada\")", "$0.name != Sealed(\"Ada\")"])
    func aComparisonIsRefused(condition: String) throws {
        let found = try errors(condition: condition)
        #expect(found.map(\.line) == [11])
        #expect(
            found.first?.text.contains("isEqual(to:sealedBy:)") == true, "\(found)")
    }

    @Test(arguments: [
        "$0.name < Sealed(\"Ada\")", "$0.name < \"Ada\"", "$0.count >= 1",
        "$0.name.hasPrefix(\"A\")",
    ])
    func anOrderOfSealedValuesIsRefused(condition: String) throws {
        let found = try errors(
            property: "var count: Sealed<Int> = Sealed(1)", condition: condition)
        #expect(found.map(\.line).contains(11), "\(found)")
    }

    @Test(arguments: [
        ".sorted(by: \\.name)", ".sorted(by: { $0.name })", ".sorted(by: \\.count)",
        ".sorted(by: { $0.count }, .descending)", ".sorted(by: \\.plain).then(by: \\.name)",
    ])
    func sealedValuesAreNotSorted(order: String) throws {
        let property = "var plain: Int = 1; var count: Sealed<Int> = Sealed(1)"
        #expect(try errors(property: property, order: ".sorted(by: \\.plain)") == [])
        let found = try errors(property: property, order: order)
        #expect(found.map(\.line).contains(11), "\(found)")
    }
}

import StetTestSupport
import Testing

/// The messages of the compiler for embedded values in the wrong place.
@Suite struct EmbeddedMessageTests {
    /// All errors of a program with a member of the struct in line 4 and one of the model in line
    /// 10.
    private func errors(
        member: String = "", property: String = ""
    ) throws -> [CompiledProgram.Error] {
        try CompiledProgram(
            """
            import Stet
            enum Kind: String, RawAttribute { case one }
            @Embedded struct Address: EmbeddedValue { var city: String = ""
                \(member)
                var isHere: Bool { true } }
            @Embedded struct Other { var text: String? }
            @Embedded struct Tally { @Attribute(.counter) var calls: Int = 0 }
            @Model final class Person {
                var kind: Kind = .one
                \(property)
                var name: String = ""
                init() {}
            }
            func use(_ person: Person) { person.name = "x" }
            """
        ).errors
    }

    @Test func anEmbeddedValueCompiles() throws {
        #expect(
            try errors(
                member: "@Attribute(.unique) var kinds: Kind?; var list: [Kind] = []",
                property: """
                    var address: Address = Address(); @Attribute(.hidden) var other: Other = Other()
                    var site: Address?; @Attribute(.hidden) var further: Optional<Other>
                    var tally: Tally = Tally(); var owner: Person?; var second: Kind?
                    @Attribute(.length(1...)) var list: [Other] = []; var others: [Other]?
                    #Index<Person>(\\.address.city, \\.address.kinds, \\.name)
                    #Unique<Person>(\\.site?.city, \\.second); #Index<Person>(\\.owner)
                    """) == [])
    }

    @Test(arguments: [
        (
            "var person: Person?",
            "an embedded value has no relationships: write it in the model"
        ),
        (
            "var other: Other = Other()",
            "an embedded value can't contain another: write the members of that one"
        ),
        (
            "var other: Other?",
            "an embedded value can't contain another: write the members of that one"
        ),
        (
            "var others: [Other] = []",
            "an embedded value can't contain others: write an array of them in the model"
        ),
    ])
    func aMemberIsAnAttribute(member: String, message: String) throws {
        let errors = try errors(member: member)
        // A reference is not Sendable, either.
        #expect(errors.allSatisfy { $0.line == 4 }, "\(errors)")
        #expect(errors.first?.text.hasSuffix(message) ?? false, "\(errors)")
    }

    @Test(arguments: [
        (
            "@Attribute(.required) var address: Address?",
            "write the rules of an embedded value at its members, in the struct"
        ),
        (
            "var tally: Tally?",
            "an embedded value with a '.counter' can't be optional: increments of 'calls' would be "
                + "lost with it; move it to the model"
        ),
        (
            "var tallies: [Tally] = []",
            "an element of an array can't have a member that is '.counter': remove that of "
                + "'calls', or write a '@Model'"
        ),
        (
            "var tallies: [Tally]?",
            "an element of an array can't have a member that is '.counter': remove that of "
                + "'calls', or write a '@Model'"
        ),
        (
            "@Attribute(.indexed) var address: Address = Address()",
            "write the rules of an embedded value at its members, in the struct"
        ),
    ])
    func aPropertyHasAnEmbeddedValueItself(property: String, message: String) throws {
        let errors = try errors(property: property)
        #expect(errors.count == 1, "\(errors)")
        #expect(errors.first?.line == 10)
        #expect(errors.first?.text.hasSuffix(message) ?? false, "\(errors)")
    }

    @Test(arguments: [
        (
            "#Index<Person>(\\.kind.rawValue)",
            "type 'Kind' does not conform to protocol 'EmbeddedValue'"
        ),
        (
            "var address: Address = Address(); #Unique<Person>(\\.address.isHere)",
            "has no member 'isHere'"
        ),
        (
            "var address: Address?; #Unique<Person>(\\.address?.isHere)",
            "has no member 'isHere'"
        ),
    ])
    func anIndexNamesAStoredMember(property: String, message: String) throws {
        let errors = try errors(property: property)
        #expect(errors.count == 1, "\(errors)")
        #expect(errors.first?.line == 10, "\(errors)")
        #expect(errors.first?.text.hasSuffix(message) ?? false, "\(errors)")
    }

    @Test func aDictionaryContainsNone() throws {
        let errors = try errors(property: "var addresses: [String: Address] = [:]")
        let message = "a dictionary can't contain embedded values: write a 'CodableAttribute'"
        #expect(errors.contains { $0.line == 10 && $0.text.hasSuffix(message) }, "\(errors)")
    }
}

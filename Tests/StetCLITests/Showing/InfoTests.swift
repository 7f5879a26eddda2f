import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// The lines of `stet info` about attributes that follow from others, or that a key opens.
struct InfoTests {
    /// A store of crews and sailors.
    private func fixture() throws -> Fixture {
        let crew = Entity(
            name: "Crew",
            properties: [
                Property(name: "name", type: .string),
                Property(name: "code", type: .data, isOptional: true, seal: .own),
            ])
        func own(_ slot: Slot) -> QueryNode { .property(.root, slot: slot) }
        func text(_ text: String) -> QueryNode { .constant(.string(text)) }
        func sum(_ one: QueryNode, _ other: QueryNode) -> QueryNode {
            .arithmetic(.add, one, other)
        }
        let crewName = QueryNode.property(.target(.root, slot: 3, entity: "Crew"), slot: 0)
        let sailor = Entity(
            name: "Sailor",
            properties: [
                Property(name: "first", type: .string), Property(name: "last", type: .string),
                Property(name: "age", type: .int),
                Property(name: "crew", type: .reference, isOptional: true, target: "Crew"),
                Property(name: "fullName", type: .string)
                    .derived(by: sum(sum(own(0), text(" ")), own(1))),
                Property(name: "label", type: .string)
                    .derived(by: sum(own(4), .coalesced(crewName, text("none")))),
                Property(name: "months", type: .int).derived(
                    by: .arithmetic(
                        .multiply, .constant(.int(12)),
                        .arithmetic(.subtract, .constant(.int(100)), own(2)))),
                Property(name: "secret", type: .data, isOptional: true, seal: .reference("crew")),
            ],
            indexes: [EntityIndex(substringsOf: 4)])
        return try Fixture(schema: try Schema(entities: [crew, sailor]))
    }

    @Test func derivedAttributesAreShownWithTheirExpressions() throws {
        let fixture = try fixture()
        let text = try Tool.run("info", fixture.path).output
        for line in [
            "fullName: string .required = ((first + \" \") + last)",
            "label: string .required = (fullName + (crew?.name ?? \"none\"))",
            "months: int .required = (12 * (100 - age))", "substrings (fullName)",
        ] {
            #expect(text.contains("\n    \(line)\n"), "\(text)")
        }
        let json = try Tool.run("info", fixture.path, "--json").output
        #expect(json.contains("{\"derivation\":\"(12 * (100 - age))\","), "\(json)")
    }

    @Test func sealedAttributesAreShownWithTheirOwners() throws {
        let fixture = try fixture()
        let text = try Tool.run("info", fixture.path).output
        #expect(text.contains("\n    code: sealed value? by itself\n"), "\(text)")
        #expect(text.contains("\n    secret: sealed value? by crew\n"), "\(text)")
        let json = try Tool.run("info", fixture.path, "--json").output
        #expect(json.contains("\"sealedBy\":\"crew\","), "\(json)")
    }
}

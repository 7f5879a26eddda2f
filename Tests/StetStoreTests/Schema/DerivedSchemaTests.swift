import StetTestSupport
import Testing

@testable import StetStore

/// Derived attributes in a schema: their order, their bytes, and those that cannot be.
@Suite struct DerivedSchemaTests {
    private static func text(_ name: String, _ node: QueryNode? = nil) -> Property {
        let property = Property(name: name, type: .string, isOptional: true)
        return node.map { property.derived(by: $0) } ?? property
    }

    private static func own(_ slot: Int) -> QueryNode { .property(.root, slot: Slot(slot)) }

    /// Persons with an employer: `first`, `employer`, and the derived attributes.
    private static func people(_ derived: [Property]) throws -> Schema {
        try Schema(entities: [
            Entity(name: "Company", properties: [text("name"), text("title", Self.own(0))]),
            Entity(
                name: "Person",
                properties: [
                    text("first"),
                    Property(
                        name: "employer", type: .reference, isOptional: true, target: "Company"),
                ] + derived),
        ])
    }

    private static let employer = QueryObject.target(.root, slot: 1, entity: "Company")
    private static let rich: [Property] = [
        text("a", .coalesced(.property(employer, slot: 1), Self.own(3))),
        text(
            "b",
            .arithmetic(
                .add, .folded(Self.own(0), .caseInsensitive), .constant(.string("é")))),
        Property(name: "c", type: .bool).derived(
            by: .all([
                .any([.text(.prefix, Self.own(0), .constant(.string("x"))), .everything]),
                .not(.comparison(.lessOrEqual, Self.own(2), .constant(.null))),
                .isIn(Self.own(0), [.string("x"), .null]),
                .comparison(.equal, .id(employer), .constant(.null)),
            ])),
        Property(name: "d", type: .double).derived(by: .constant(.double(.pi))),
    ]

    private func decode(_ bytes: [UInt8]) throws -> Schema {
        try bytes.withUnsafeBytes { try Schema(decoding: $0) }
    }

    @Test func theBytesOfAnExpressionAreThoseOfTheSameExpression() throws {
        let schema = try Self.people(Self.rich)
        let bytes = schema.encoded()
        #expect(try decode(bytes) == schema)
        let plain = try Self.people([])
        #expect(plain != schema)
        #expect(plain.encoded() != bytes)
    }

    @Test func anAttributeComesAfterThoseThatItReads() throws {
        let derived = try Self.people(Self.rich).derivedProperties
        let places = derived.map { [$0.entity.rawValue, $0.slot.index] }
        #expect(places == [[1, 1], [2, 3], [2, 2], [2, 4], [2, 5]])
        #expect(derived[2].inputs.map(\.steps.count) == [0, 1, 0])
    }

    @Test func damagedExpressionsAreRefusedOrAreOthers() throws {
        let bytes = try Self.people(Self.rich).encoded()
        for count in 0..<bytes.count {
            #expect(throws: (any Error).self) { try decode(Array(bytes[..<count])) }
        }
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << UInt8(bit)
                guard let schema = try? decode(damaged) else { continue }
                #expect(schema.encoded() == damaged)
            }
        }
    }

    @Test func aDeeplyNestedExpressionIsRefused() throws {
        func nested(_ depth: Int) -> QueryNode {
            (0..<depth).reduce(.everything) { node, _ in .not(node) }
        }
        func schema(_ depth: Int) throws -> Schema {
            try Self.people([Property(name: "x", type: .bool).derived(by: nested(depth))])
        }
        let deepest = try schema(QueryNode.depthLimit - 1)
        #expect(try decode(deepest.encoded()) == deepest)
        #expect(throws: StoreError.self) { try schema(QueryNode.depthLimit) }
    }

    @Test(arguments: [
        (Self.text("x", Self.own(2)), "Person.x is derived from itself"),
        (Self.text("x", Self.own(1)), "Person.x can't be derived: its expression is a reference"),
        (Self.text("x", Self.own(9)), "it reads a property that has no single value"),
        (
            Self.text("x", .arithmetic(.add, Self.own(0), .constant(.int(1)))),
            "its expression combines a string and a int"
        ),
        (
            Self.text("x", .property(.target(.root, slot: 0, entity: "Company"), slot: 0)),
            "it follows a reference that is not there"
        ),
        (
            Self.text("x", .property(.target(.root, slot: 1, entity: "Person"), slot: 0)),
            "it follows a reference that is not there"
        ),
        (
            Property(name: "x", type: .int, isCounter: true).derived(by: .constant(.int(1))),
            "with stamps, normalizers or increments can't be"
        ),
    ])
    func anImpossibleExpressionIsRefused(property: Property, message: String) throws {
        let error = try #require(throws: StoreError.self) { try Self.people([property]) }
        #expect(error.message.contains(message), "\(error.message)")
    }
}

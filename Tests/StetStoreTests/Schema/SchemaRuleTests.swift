import StetStore
import Testing

/// Rules that a schema refuses, and those that give it another format.
struct SchemaRuleTests {
    @Test func rulesThatCannotBeAskedAreRefused() {
        func problem(_ type: ValueType, _ rule: Rule) -> String? {
            let entity = Entity(
                name: "A", properties: [Property(name: "p", type: type, rules: [rule])])
            return thrown(StoreError.self) { try Schema(entities: [entity]) }?.message
        }
        func message(_ text: String) -> String { "The schema is not usable: \(text)." }
        #expect(
            problem(.int, .matches("a"))
                == message(".matches(\"a\") does not fit A.p, which is a int"))
        #expect(
            problem(.int, .oneOf([.int(1), .double(2)]))
                == message(".oneOf(1, 2.0) does not fit A.p, which is a int"))
        #expect(
            problem(.int8, .oneOf([.int(128)]))
                == message(".oneOf(128) does not fit A.p, which is a int8"))
        #expect(
            problem(.string, .oneOf([])) == message(".oneOf() does not fit A.p, which is a string"))
        #expect(problem(.uuid, .oneOf([.string("a")])) != nil)
        let limit = Limits.ruleByteCount
        func text(_ count: Int) -> String { String(repeating: "a", count: count) }
        for count in [limit, limit + 1] {
            #expect((problem(.string, .matches(text(count))) == nil) == (count == limit))
            #expect((problem(.string, .oneOf([.string(text(count))])) == nil) == (count == limit))
        }
        for count in [255, 256] {
            let values = (0..<count).map(Value.int)
            #expect((problem(.int, .oneOf(values)) == nil) == (count == 255))
        }
    }

    @Test func aCounterIsAnIntegerThatIsNotOptional() throws {
        func problem(_ type: ValueType, isOptional: Bool = false) -> String? {
            let property = Property(
                name: "p", type: type, isOptional: isOptional, isCounter: true)
            let entity = Entity(name: "A", properties: [property])
            return thrown(StoreError.self) { try Schema(entities: [entity]) }?.message
        }
        let message =
            "The schema is not usable: A.p is a counter, which must be an integer that is not "
            + "optional."
        let integers: [ValueType] = [.int, .int8, .int16, .int32, .uint, .uint8, .uint16, .uint32]
        #expect(integers.map { problem($0) } == integers.map { _ in nil })
        #expect(integers.map { problem($0, isOptional: true) } == integers.map { _ in message })
        for type in [ValueType.double, .decimal, .bool, .date, .string] {
            #expect(problem(type) == message)
        }
    }

    /// The flags follow the name and the type.
    @Test func theBytesOfASchemaSayWhatIsACounter() throws {
        func schema(_ isCounter: Bool) throws -> Schema {
            try Schema(entities: [
                Entity(
                    name: "A",
                    properties: [Property(name: "p", type: .int, isCounter: isCounter)])
            ])
        }
        let (counter, plain) = (try schema(true).encoded(), try schema(false).encoded())
        let differences = counter.indices.filter { counter[$0] != plain[$0] }
        #expect(differences.count == 1)
        #expect(counter.count == plain.count)
        #expect(differences.map { counter[$0] } == [8])
        #expect(differences.map { plain[$0] } == [0])
        let decoded = try counter.withUnsafeBytes { try Schema(decoding: $0) }
        #expect(try decoded == schema(true))
        #expect(try decoded != schema(false))
    }

    /// A pattern is compiled when it is asked, not when a schema is read.
    @Test func aPatternThatIsNoneIsFoundInTheModels() throws {
        let schema = try Schema(entities: [
            Entity(
                name: "A",
                properties: [Property(name: "p", type: .string, rules: [.matches("(")])])
        ])
        let decoded = try schema.encoded().withUnsafeBytes { try Schema(decoding: $0) }
        #expect(decoded == schema)
        let error = try #require(throws: StoreError.self) { try schema.checkPatterns() }
        #expect(
            error.message
                == "The schema is not usable: .matches(\"(\") can't be a rule for A.p: a group is "
                + "not closed.")
        try Schema(entities: [.patterned]).checkPatterns()
    }
}

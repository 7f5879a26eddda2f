import Foundation
import StetStore
import Testing

/// The rules of a schema, asked of stored bytes.
struct RuleCheckTests {
    /// Returns the violations of one value of a property with these rules: code and message.
    private func violations(
        _ value: Value, _ type: ValueType, _ rules: Rule...
    ) throws -> [Broken] {
        let property = Property(name: "p", type: type, isOptional: true, rules: rules)
        let schema = try Schema(entities: [Entity(name: "A", properties: [property])])
        var changes = ChangeSetBuilder(schema: schema)
        let after = changes.encode(entity: 1) { $0.write([value]) }
        changes.append(
            ChangeSetBuilder.Item(
                kind: .insert, entity: 1, id: .fixed(1), base: .zero, before: 0..<0, after: after))
        return try changes.violations().map { violation in
            #expect(violation.entity == "A")
            #expect(violation.object == .fixed(1))
            #expect(violation.property == "p")
            #expect(violation.slot == 0)
            #expect(violation.description == violation.message)
            return Broken(violation.code, violation.message)
        }
    }

    private struct Broken: Equatable {
        var code: Violation.Code
        var message: String

        init(_ code: Violation.Code, _ message: String) {
            self.code = code
            self.message = message
        }
    }

    @Test func aRequiredValueIsThere() throws {
        #expect(try violations(.null, .int, .required) == [Broken(.required, "p is required")])
        #expect(try violations(.int(0), .int, .required) == [])
        #expect(try violations(.string(""), .string, .required) == [])
    }

    @Test func nilBreaksNoOtherRule() throws {
        let length = Rule.length(minimum: 1, maximum: 2)
        #expect(try violations(.null, .string, .notEmpty, length) == [])
        let range = Rule.range(minimum: .int(1), maximum: .int(2))
        #expect(try violations(.null, .int, range) == [])
    }

    @Test func lengthsCountCharactersOfTextAndBytesOfData() throws {
        let rule = Rule.length(minimum: 2, maximum: 3)
        let short = Broken(.tooShort, "p must be at least 2 characters")
        let long = Broken(.tooLong, "p can't be longer than 3 characters")
        let texts: [(String, [Broken])] = [
            ("", [short]), ("a", [short]), ("ab", []), ("abc", []), ("abcd", [long]),
            ("e\u{301}", [short]), ("e\u{301}e", []), ("👩‍👩‍👧👩‍👩‍👧", []), ("\r\n", [short]),
            ("\r\n\r\n", []),
            ("\n\n\n\n", [long]), ("🇩🇪🇫🇷🇮🇹🇪🇸", [long]),
        ]
        for (text, expected) in texts {
            #expect(try violations(.string(text), .string, rule) == expected, "\(text)")
        }
        let one = Rule.length(minimum: 1, maximum: 1)
        #expect(
            try violations(.data(Data()), .data, one)
                == [Broken(.tooShort, "p must be at least 1 byte")])
        #expect(try violations(.data(Data([1])), .data, one) == [])
        #expect(
            try violations(.data(Data([1, 2])), .data, one)
                == [Broken(.tooLong, "p can't be longer than 1 byte")])
        #expect(
            try violations(.string(""), .string, .notEmpty) == [
                Broken(.tooShort, "p can't be empty")
            ])
    }

    @Test func rangesIncludeTheirBounds() throws {
        let ints = Rule.range(minimum: .int(-1), maximum: .int(1))
        #expect(
            try violations(.int(-2), .int, ints) == [Broken(.tooSmall, "p must be at least -1")])
        for value in -1...1 { #expect(try violations(.int(value), .int, ints) == []) }
        #expect(
            try violations(.int(2), .int, ints) == [Broken(.tooLarge, "p can't be greater than 1")])
        let open = Rule.range(minimum: nil, maximum: .double(0))
        #expect(try violations(.double(-.infinity), .double, open) == [])
        #expect(try violations(.double(-0.0), .double, open) == [])
        #expect(
            try violations(.double(.leastNonzeroMagnitude), .double, open)
                == [Broken(.tooLarge, "p can't be greater than 0.0")])
        #expect(try violations(.double(.nan), .double, open).count == 1)
        #expect(
            try violations(.double(.nan), .double, .range(minimum: nil, maximum: nil)) == [])
    }

    @Test func datesAreEarlyOrLate() throws {
        func date(_ seconds: Double) -> Value {
            .date(Date(timeIntervalSinceReferenceDate: seconds))
        }
        let rule = Rule.range(minimum: date(0), maximum: date(60))
        #expect(try violations(date(0), .date, rule) == [])
        #expect(try violations(date(60), .date, rule) == [])
        #expect(
            try violations(date(-1), .date, rule)
                == [Broken(.tooEarly, "p can't be before 2001-01-01T00:00:00Z")])
        #expect(
            try violations(date(61), .date, rule)
                == [Broken(.tooLate, "p can't be after 2001-01-01T00:01:00Z")])
    }

    @Test func violationsHaveATotalOrder() {
        func violation(_ entity: String, _ number: Int?, _ slot: Slot?, _ text: String) -> Violation
        {
            Violation(
                code: .custom, entity: entity, object: number.map(ObjectID.fixed), property: nil,
                slot: slot,
                Sentence(text))
        }
        let sorted = [
            violation("A", nil, 0, "z"), violation("A", 1, 0, "b"), violation("A", 1, 0, "a"),
            violation("A", 1, 1, "c"), violation("A", 1, nil, "d"), violation("A", 2, 0, "e"),
            violation("B", 1, 0, "f"),
        ]
        let order = [6, 1, 4, 0, 2, 3, 5].map { sorted[$0] }
        #expect(order.inTotalOrder() == sorted)
    }
}

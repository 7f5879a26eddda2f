import Foundation
import StetStore
import Testing

/// Sentences of rules in other languages.
struct MessageTableTests {
    private func violations(
        _ value: Value, _ type: ValueType, _ rules: [Rule], _ messages: MessageTable
    ) throws -> [String] {
        let property = Property(name: "p", type: type, isOptional: true, rules: rules)
        let schema = try Schema(entities: [Entity(name: "A", properties: [property])])
        var changes = ChangeSetBuilder(schema: schema)
        let after = changes.encode(entity: 1) { $0.write([value]) }
        changes.append(
            ChangeSetBuilder.Item(
                kind: .insert, entity: 1, id: .fixed(1), base: .zero, before: 0..<0, after: after))
        return try changes.violations(messages).map(\.message)
    }

    private static let rules: [(Value, ValueType, Rule)] = [
        (.null, .int, .required), (.string(""), .string, .notEmpty),
        (.string("abc"), .string, .length(minimum: nil, maximum: 2)),
        (.string(""), .string, .length(minimum: 1, maximum: nil)),
        (.data(Data([1, 2])), .data, .length(minimum: nil, maximum: 1)),
        (.data(Data()), .data, .length(minimum: 1, maximum: nil)),
        (.int(3), .int, .range(minimum: nil, maximum: .int(2))),
        (.int(3), .int, .range(minimum: .int(4), maximum: nil)),
        (.date(.distantPast), .date, .range(minimum: .date(.distantFuture), maximum: nil)),
        (.date(.distantFuture), .date, .range(minimum: nil, maximum: .date(.distantPast))),
        (.string("b"), .string, .matches("a")), (.int(1), .int, .oneOf([.int(2)])),
    ]

    @Test(arguments: rules.indices)
    func everySentenceOfARuleIsInChinese(index: Int) throws {
        let (value, type, rule) = Self.rules[index]
        let english = try violations(value, type, [rule], .english)
        let chinese = try violations(value, type, [rule], .simplifiedChinese)
        #expect(english.count == 1)
        #expect(chinese.count == 1)
        #expect(english[0].allSatisfy { $0.isASCII })
        #expect(!english[0].contains("{"))
        #expect(chinese[0].contains { !$0.isASCII })
        #expect(!chinese[0].contains("{"))
    }

    @Test func aTableOfAnotherLanguageHasItsOwnPlurals() throws {
        var polish = MessageTable(language: "pl") { count in
            if count == 1 { return .one }
            return (2...4).contains(count % 10) && count / 10 % 10 != 1 ? .few : .many
        }
        let key = "{property} can't be longer than {count} characters"
        polish.plurals[key] = [
            .one: "{property}: najwyżej {count} znak", .few: "{property}: najwyżej {count} znaki",
            .many: "{property}: najwyżej {count} znaków",
        ]
        polish.names["A.p"] = "tytuł"
        func message(_ maximum: Int) throws -> [String] {
            let text = String(repeating: "x", count: maximum + 1)
            return try violations(
                .string(text), .string, [.length(minimum: nil, maximum: maximum)], polish)
        }
        #expect(try message(1) == ["tytuł: najwyżej 1 znak"])
        #expect(try message(22) == ["tytuł: najwyżej 22 znaki"])
        #expect(try message(12) == ["tytuł: najwyżej 12 znaków"])
        #expect(
            try violations(.null, .int, [.required], polish) == ["tytuł is required"])
    }

    @Test func bracesThatMeanNothingStay() throws {
        let violation = Violation(
            code: .custom, entity: "A", object: nil, property: nil, slot: nil,
            Sentence("{ {x} {property} {entity} {subject}"))
        #expect(violation.message == "{ {x} {property} A A")
    }
}

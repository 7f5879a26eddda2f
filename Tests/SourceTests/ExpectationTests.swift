import Testing

/// The expectations of the tests: one claim each, so that a failure says which one is wrong.
@Suite struct ExpectationTests {
    @Test func anExpectationIsNoConjunction() throws {
        var count = 0
        var found: [String] = []
        for file in try SourceFile.all(in: "Tests") where !file.path.hasPrefix("Tests/SourceTests")
        {
            for expectation in try Expectation.all(in: SourceFile.text(file.path)) {
                count += 1
                if expectation.isConjunction { found.append("\(file.path):\(expectation.line)") }
            }
        }
        #expect(count > 7_000)
        #expect(found == [])
    }

    @Test(arguments: [
        ("#expect(a && b)", true), ("#require(a == (b && c))", false),
        ("#expect(f { a && b })", false),
        ("#expect(a == \"&&\")", false), ("#expect(a || b && c)", false),
        ("#expect(a, \"&&\")", false),
        ("#expect(a == \"\\\"\" && b)", true), ("#expect(\n    a\n        && b)", true),
    ])
    func aConjunctionIsFound(text: String, isConjunction: Bool) throws {
        let found = Expectation.all(in: text)
        #expect(found.map(\.isConjunction) == [isConjunction])
    }
}

/// A call of `#expect` or `#require` in a source.
private struct Expectation {
    let line: Int
    /// True when the condition is `a && b`; an `||` in it is another matter.
    let isConjunction: Bool

    static func all(in text: String) -> [Expectation] {
        let bytes = Array(text.utf8)
        var found: [Expectation] = []
        var line = 1
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "\n") { line += 1 }
            guard bytes[index] == UInt8(ascii: "#") else { continue }
            for name in ["#expect(", "#require("] where bytes[index...].starts(with: name.utf8) {
                let condition = bytes[(index + name.utf8.count)...]
                found.append(Expectation(line: line, isConjunction: isConjunction(condition)))
            }
        }
        return found
    }

    /// Reads a condition to its end: a comma or the closing parenthesis.
    private static func isConjunction(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        var depth = 0
        var operators: Set<String> = []
        while let byte = rest.first {
            if let end = stringEnd(rest) {
                rest = rest[end...]
                continue
            }
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 { return operators == ["&&"] }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0: return operators == ["&&"]
            default:
                for name in ["&&", "||"] where depth == 0 && rest.starts(with: name.utf8) {
                    operators.insert(name)
                }
            }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Returns the index after the string literal with which a text begins; nil when it begins with
    /// none.
    private static func stringEnd(_ text: ArraySlice<UInt8>) -> Int? {
        for (start, end) in [("\"\"\"", "\"\"\""), ("#\"", "\"#")]
        where text.starts(with: start.utf8) {
            var index = text.startIndex + start.utf8.count
            while index < text.endIndex, !text[index...].starts(with: end.utf8) { index += 1 }
            return min(index + end.utf8.count, text.endIndex)
        }
        guard text.first == UInt8(ascii: "\"") else { return nil }
        var index = text.startIndex + 1
        while index < text.endIndex, text[index] != UInt8(ascii: "\"") {
            index += text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, text.endIndex)
    }
}

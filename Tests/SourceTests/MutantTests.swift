import Foundation
import Testing

/// The planted bugs, of which CI runs a few at a time.
@Suite struct MutantTests {
    /// The names of all tests, such as `SourceTests.MutantTests/anExample()`; each type of a file
    /// is combined with each function.
    private static func testNames() throws -> [String] {
        try SourceFile.all(in: "Tests").flatMap { file -> [String] in
            func names(after keyword: String) -> [Substring] {
                file.lines.compactMap { line in
                    guard let range = line.firstRange(of: keyword + " ") else { return nil }
                    return line[range.upperBound...].prefix { $0.isLetter || $0.isNumber }
                }
            }
            let functions = names(after: "func")
            let types = ["struct", "class", "enum", "extension"].flatMap { names(after: $0) }
            let module = file.path.split(separator: "/")[1]
            return types.flatMap { type in functions.map { "\(module).\(type)/\($0)()" } }
        }
    }

    @Test func aPlantedBugNamesTestsThatExist() throws {
        let folder = "\(SourceFile.root)/Tests/Mutants"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        let names = try Self.testNames()
        var missing: [String] = []
        var count = 0
        for file in files.sorted() where file.hasSuffix(".patch") {
            let text = try SourceFile.text("Tests/Mutants/\(file)")
            let lines = text.split(separator: "\n").filter { $0.hasPrefix("Run: test ") }
            guard let line = lines.first else { continue }
            count += 1
            let pattern = line.dropFirst("Run: test ".count).filter { $0 != "\"" }
            let expression = try NSRegularExpression(pattern: pattern)
            let isThere = names.contains { name in
                let range = NSRange(name.startIndex..., in: name)
                return expression.firstMatch(in: name, range: range) != nil
            }
            if !isThere { missing.append("\(file): \(pattern)") }
        }
        #expect(count > 100)
        #expect(missing == [])
    }
}

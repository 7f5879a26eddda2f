import Foundation
import Testing

/// The page for operators lists every metric and every span.
@Suite struct ObservabilityTableTests {
    private static let page = "Sources/Stet/Stet.docc/Deployment.md"

    /// The names in the first column of the table below a heading.
    private func listed(below heading: String) throws -> Set<String> {
        let lines = try SourceFile.text(Self.page).split(
            separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: Substring(heading)))
        let rows = lines[start...].dropFirst().prefix { !$0.hasPrefix("#") }
            .filter { $0.hasPrefix("| `stet.") }
        return Set(
            rows.flatMap { row in
                (row.split(separator: "|").first ?? "").split(separator: "`")
                    .filter { $0.hasPrefix("stet.") }.map(String.init)
            })
    }

    /// The texts in quotes that begin with "stet." and follow one of these words.
    private func written(after words: [String], in folders: [String]) throws -> Set<String> {
        var names: Set<String> = []
        for file in try folders.flatMap({ try SourceFile.all(in: $0) }) {
            for word in words {
                let text = file.lines.joined(separator: "\n")
                for part in text.components(separatedBy: word).dropFirst() {
                    let name = part.drop { $0.isWhitespace }
                    guard name.hasPrefix("\"stet.") else { continue }
                    names.insert(String(name.dropFirst().prefix { $0 != "\"" }))
                }
            }
        }
        return names
    }

    @Test func theTableHasEveryMetric() throws {
        let names = try written(
            after: ["timer(", "recorder(", "gauge(", "label:"], in: ["Sources/StetStore/File"])
        #expect(names.count > 10)
        #expect(try listed(below: "### Metrics") == names)
    }

    @Test func theTableHasEverySpan() throws {
        let names = try written(
            after: ["span(", "begin("], in: ["Sources/StetStore", "Sources/Stet"])
        #expect(names.count > 6)
        #expect(try listed(below: "### Traces") == names)
    }
}

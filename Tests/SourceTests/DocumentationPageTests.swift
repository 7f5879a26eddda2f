import Foundation
import Testing

/// The pages of the documentation: their code runs as a test or in the example, and they name what
/// is public.
@Suite struct DocumentationPageTests {
    private static let catalogue = "Sources/Stet/Stet.docc"

    private static var pages: [String] {
        let names = try? FileManager.default.contentsOfDirectory(
            atPath: "\(SourceFile.root)/\(catalogue)")
        return (names ?? []).filter { $0.hasSuffix(".md") }.sorted()
    }

    /// Returns lines without indentation and without empty lines.
    private func trimmed(_ lines: [Substring]) -> [Substring] {
        lines.map { line in line.drop { $0 == " " } }.filter { !$0.isEmpty }
    }

    /// The Swift blocks of a page that are Stet's: not those under the name of another framework.
    private func blocks(_ page: String) throws -> [[Substring]] {
        let foreign = ["**Core Data**", "**SwiftData**"]
        var blocks: [[Substring]] = []
        var block: [Substring]?
        var isForeign = false
        for line in try SourceFile.text("\(Self.catalogue)/\(page)").split(separator: "\n") {
            if let code = block {
                if line == "```" && !isForeign { blocks.append(trimmed(code)) }
                block = line == "```" ? nil : code + [line]
            } else if line == "```swift" {
                block = []
            } else if line.hasPrefix("**") || line.hasPrefix("#") {
                isForeign = foreign.contains { line.hasPrefix($0) }
            }
        }
        return blocks
    }

    @Test(arguments: pages) func theCodeOfAPageRunsInATestOrInTheExample(page: String) throws {
        let isTour = page == "CatalogueTour.md"
        let folder = isTour ? "Examples/Sources/Catalogue" : "Tests/DocumentationTests"
        let code = try SourceFile.all(in: folder).map { trimmed($0.lines) }
        for block in try blocks(page) {
            let isTested = code.contains { lines in
                lines.indices.contains { lines[$0...].starts(with: block) }
            }
            #expect(isTested, "\(page):\n\(block.joined(separator: "\n"))")
            #expect(!block.isEmpty, "\(page):\n\(block.joined(separator: "\n"))")
        }
    }

    /// The types that a user names first: the examples of their doc comments run in a test.
    private static let typesWithExamples = [
        "Change", "ChangeSet", "Commit", "Commits", "Conflict", "ConflictError", "HistoricChange",
        "ManagedContext", "MergePolicy", "ObjectChange", "ObjectQuery", "Retention", "Store",
        "StoreError", "Subscription", "UndoConflictError", "UndoPlan", "UndoPolicy", "UndoStack",
        "UnknownOutcomeError", "Validation", "ValidationError", "VerificationReport", "Violation",
    ]

    @Test func theExampleOfATypeRunsInATest() throws {
        let code = try SourceFile.all(in: "Tests/DocumentationTests").map { trimmed($0.lines) }
        var examples: [String: [Substring]] = [:]
        for folder in ["Sources/Stet", "Sources/StetStore"] {
            for file in try SourceFile.all(in: folder) {
                examples.merge(file.examplesOfPublicTypes) { $0 + $1 }
            }
        }
        for type in Self.typesWithExamples {
            let example = trimmed(examples[type] ?? [])
            #expect(!example.isEmpty, "\(type)")
            let isTested = code.contains { lines in
                lines.indices.contains { lines[$0...].starts(with: example) }
            }
            #expect(isTested, "\(type):\n\(example.joined(separator: "\n"))")
        }
    }

    @Test(arguments: pages) func aPageHasCodeUnlessItOnlyLeadsToOthers(page: String) throws {
        #expect(try blocks(page).isEmpty == (page == "Stet.md"))
    }

    @Test func theTourHasTheHeadingsOfTheExample() throws {
        let page = try SourceFile.text("\(Self.catalogue)/CatalogueTour.md")
        let titles = page.split(separator: "\n").filter { $0.hasPrefix("## ") }.map {
            $0.dropFirst(3)
        }
        let code = try SourceFile.all(in: "Examples/Sources/Catalogue").flatMap(\.lines)
        let headings = code.compactMap { line -> Substring? in
            let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
            return line.contains("report.heading(") && parts.count == 3 ? parts[1] : nil
        }
        #expect(headings.count == 7)
        #expect(Set(titles.dropFirst()) == Set(headings))
    }

    @Test func eachOfTenTasksIsShownInThreeFrameworks() throws {
        let page = try SourceFile.text("\(Self.catalogue)/ComingFromCoreDataOrSwiftData.md")
        let tasks = page.components(separatedBy: "\n## ").filter { $0.first?.isNumber == true }
        #expect(tasks.count == 10)
        for task in tasks {
            let names = task.split(separator: "\n").filter { $0.hasPrefix("**") }
                .map { $0.split(separator: "**")[0] }
            #expect(names == ["Core Data", "SwiftData", "Stet"], "\(task)")
        }
    }

    /// The names of the types and macros that users see; no underscored one is among them.
    private static func publicNames() throws -> Set<Substring> {
        // The types of StetStore that Stet re-exports, one per line.
        let exports = try SourceFile.text("Sources/Stet/Stet.swift").split(separator: "\n")
            .filter { $0.hasPrefix("@_exported") }
        var names = Set(exports.compactMap { $0.split(separator: ".").last })
        for file in try SourceFile.all(in: "Sources/Stet") {
            for line in file.lines where line.hasPrefix("public ") {
                let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }
                let keyword = words.firstIndex {
                    ["class", "enum", "macro", "protocol", "struct", "typealias"].contains($0)
                }
                guard let keyword, keyword + 1 < words.count else { continue }
                names.insert(words[keyword + 1])
            }
        }
        return names.filter { !$0.hasPrefix("_") }
    }

    @Test func theLandingPageNamesEveryPublicType() throws {
        let page = try SourceFile.text("\(Self.catalogue)/Stet.md")
        let names = try Self.publicNames()
        let missing = names.filter { name in
            !page.contains("- ``\(name)``") && !page.contains("- ``\(name)(")
        }
        #expect(names.count > 60)
        #expect(missing.sorted() == [])
    }

    /// The reason for the number is in docs/decisions.md.
    @Test func thePublicNamesAreWithinTheirBudget() throws {
        #expect(try Self.publicNames().count <= 138)
    }

    @Test(arguments: ["Store", "ManagedContext", "ObjectQuery", "QueryAggregates", "Fetch"])
    func thePageOfATypeNamesItsMembers(type: String) throws {
        let page = try SourceFile.text("\(Self.catalogue)/Types/\(type).md")
        let lines = try SourceFile.text("docs/Interface.txt").split(separator: "\n")
        let members = lines.filter { $0.hasPrefix("Stet \(type).") }.map { line in
            line.dropFirst("Stet \(type).".count).prefix { $0 != " " }
        }
        // Not the members of nested types, nor the type that a conformance determines.
        let own = members.filter { name in !name.prefix { $0 != "(" }.contains(".") && name != "M" }
        #expect(own.count > 3)
        #expect(own.filter { !page.contains("- ``\($0)") } == [])
    }

    @Test func thePageOnLimitsNamesEachLimit() throws {
        let page = try SourceFile.text("\(Self.catalogue)/PerformanceAndLimits.md")
        let source = try SourceFile.text("Sources/StetStore/Values/Limits.swift")
        let names = source.matches(of: /static let (\w+)/).map(\.1)
        #expect(names.count == 12)
        #expect(names.filter { !page.contains("``Limits/\($0)``") } == [])
    }

    @Test func theFiguresOfTheReadmeAreThoseOfTheWholeTable() throws {
        let readme = try SourceFile.text("README.md").split(separator: "\n")
        let table = try SourceFile.text("docs/Performance.md").split(separator: "\n")
        var count = 0
        for line in readme {
            guard let id = line.firstMatch(of: /^\|.*\((W\w+)\) \|/)?.1 else { continue }
            let row = try #require(table.first { $0.hasPrefix("| \(id) ") })
            let cells = line.split(separator: "|").dropFirst().joined(separator: " ")
            for number in cells.matches(of: /\d+\.\d+/) {
                count += 1
                #expect(row.contains(" \(number.0)"), "\(id) \(number.0)")
            }
        }
        #expect(count == 17)
    }
}

extension SourceFile {
    /// The lines of the Swift code in the doc comments of public types.
    fileprivate var examplesOfPublicTypes: [String: [Substring]] {
        var examples: [String: [Substring]] = [:]
        var example: [Substring] = []
        var isCode = false
        for line in lines {
            if line.hasPrefix("/// ```") {
                isCode = line == "/// ```swift"
            } else if line.hasPrefix("///") {
                if isCode { example.append(line.dropFirst(4)) }
            } else if !line.hasPrefix("@") || line.contains(" public ") {
                let words = line.split { " :<".contains($0) }
                if let index = words.firstIndex(where: { $0 == "public" }) {
                    for name in words[index...].dropFirst(2).prefix(2) where !example.isEmpty {
                        examples[String(name), default: []] += example
                    }
                }
                example = []
            }
        }
        return examples
    }
}

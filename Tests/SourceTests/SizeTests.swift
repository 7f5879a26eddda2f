import Testing

/// The sizes of files, lines, functions and types; comments and empty lines do not count.
@Suite struct SizeTests {
    private static let sources = Result {
        try SourceFile.all(in: "Sources") + SourceFile.all(in: "Tests")
    }

    @Test func aLineHasAtMost100Characters() throws {
        let files = try Self.sources.get().filter { !$0.path.contains("StetMacros") }
        let places = files.flatMap { file in
            file.lines.indices.filter { file.lines[$0].count > 100 }.map {
                "\(file.path):\($0 + 1)"
            }
        }
        #expect(files.count > 500)
        #expect(places == [])
    }

    @Test func aFileHasAtMost300LinesOfCode() throws {
        let files = try Self.sources.get().map { ($0.path, $0.codeLines.count) }
        let long = Dictionary(uniqueKeysWithValues: files.filter { $0.1 > 300 })
        expect(long, within: SizeExceptions.files)
    }

    @Test func aFunctionHasAtMost40LinesOfCode() throws {
        var long: [String: Int] = [:]
        for file in try Self.sources.get() {
            for function in file.functions where function.count > 40 {
                long["\(file.path) \(function.name)"] = function.count
            }
        }
        expect(long, within: SizeExceptions.functions)
    }

    /// Expects that everything too long is an exception that has not grown, and that no exception
    /// is left that has become short enough.
    private func expect(_ long: [String: Int], within exceptions: [String: Int]) {
        let grown = long.filter { $0.value > exceptions[$0.key] ?? 0 }
        #expect(grown == [:])
        #expect(Set(exceptions.keys).subtracting(long.keys) == [])
    }

    @Test func theLinesOfAFunctionAreCounted() throws {
        let file = SourceFile(
            path: "",
            lines: """
                struct A {
                    // A comment.
                    func one(
                        _ value: Int
                    ) -> Int {

                        value
                    }
                    func two() {}
                    init() {
                        func inner() {
                            print()
                        }
                    }
                }
                """.split(separator: "\n", omittingEmptySubsequences: false))
        #expect(file.functions.map(\.name) == ["one", "init", "inner"])
        #expect(file.functions.map(\.count) == [5, 5, 3])
    }

    /// Over its declaration and its extensions; nested types count for themselves.
    @Test func aTypeHasAtMost600LinesOfCode() throws {
        var counts: [String: Int] = [:]
        for file in try SourceFile.all(in: "Sources") {
            counts.merge(file.codeLineCountsOfTypes) { $0 + $1 }
        }
        #expect(counts["StoreReader"] ?? 0 > 300)
        #expect(counts.filter { $0.value > 600 } == [:])
    }
}

extension SourceFile {
    /// The functions and initialisers of more than one line, with the numbers of their lines of
    /// code, from the line that begins with the declaration to the closing brace.
    fileprivate var functions: [(name: Substring, count: Int)] {
        let code = codeLines
        // A regular expression is parsed where it is evaluated.
        let declaration = Self.declaration
        var found: [(name: Substring, count: Int)] = []
        for (index, line) in code.enumerated() {
            guard let match = line.prefixMatch(of: declaration) else { continue }
            let margin = line.prefix { $0 == " " }
            for end in index..<code.count {
                let text = code[end]
                if text == "\(margin)}" {
                    found.append((match.1 ?? match.2 ?? "", end - index + 1))
                    break
                }
                let isOneLine = end == index && text.hasSuffix("}")
                let isOutside = text.prefix { $0 == " " }.count < margin.count
                // The next declaration: this one was a requirement, or had a body of one line.
                let isNext =
                    end > index && text.prefix { $0 == " " } == margin
                    && text.prefixMatch(of: declaration) != nil
                if isOneLine || isOutside || isNext { break }
            }
        }
        return found
    }

    private static var declaration: Regex<(Substring, Substring?, Substring?)> {
        /\s*(?:[@\w]+(?:\([^)]*\))? )*(?:func ([^\s(<]+)[(<]|(init|deinit)\b[?(<{ ])/
    }
}

import Foundation
import StetTestSupport
import Testing

/// The README beside the program that it shows.
@Suite struct ReadmeTests {
    @Test func theCodeOfTheReadmeIsTheProgramThatRunsAndPrintsWhatItSays() throws {
        let readme = try SourceFile.text("README.md")
        func blocks(_ language: String) -> [String] {
            readme.components(separatedBy: "```\(language)\n").dropFirst()
                .map { $0.components(separatedBy: "\n```")[0] }
        }
        let program = try SourceFile.text("Tests/StetReadme/main.swift")
        #expect(blocks("swift").joined(separator: "\n\n") + "\n" == program)
        let directory = TemporaryDirectory()
        let outcome = try ChildProcess.run([], program: "stet-readme", in: directory.path)
        #expect(outcome.status == 0)
        #expect(outcome.lines.joined(separator: "\n") == blocks("text").first)
    }
}

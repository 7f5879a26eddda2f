import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// The progress of commands: a bar on terminals, lines elsewhere if requested.
struct ProgressTests {
    private final class Screen {
        var texts: [String] = []
        var time = Duration.zero
    }

    private func meter(_ form: ProgressMeter.Form, _ screen: Screen) -> ProgressMeter {
        ProgressMeter(
            form, { "\($0) of \($1)" }, elapsed: { screen.time },
            show: { text, json in screen.texts.append(json.map { "\($0.text)" } ?? text) })
    }

    @Test func aBarAppearsAfterASecondAndIsErasedAtTheEnd() {
        let screen = Screen()
        let bar = meter(.bar, screen)
        bar.report(10, of: 200)
        #expect(screen.texts == [])
        screen.time = .seconds(1)
        bar.report(100, of: 200)
        bar.report(101, of: 200)
        bar.report(200, of: 200)
        bar.end()
        let half = String(repeating: "#", count: 15) + String(repeating: "-", count: 15)
        let whole = String(repeating: "#", count: 30)
        #expect(
            screen.texts == [
                "\r\u{1B}[K[\(half)] 50 %, 100 of 200", "\r\u{1B}[K[\(whole)] 100 %, 200 of 200",
                "\r\u{1B}[K",
            ])
    }

    @Test func aFastCommandDrawsNothing() {
        let screen = Screen()
        let bar = meter(.bar, screen)
        for done in 1...200 { bar.report(done, of: 200) }
        bar.end()
        #expect(screen.texts == [])
    }

    @Test func thereIsALineForEachPercentAndNoneForAnUnknownAmount() {
        let screen = Screen()
        let lines = meter(.lines, screen)
        for done in 1...1_000 { lines.report(done, of: 1_000) }
        lines.report(7, of: 0)
        lines.end()
        #expect(screen.texts.count == 101)
        #expect(screen.texts.first == #"{"count":1000,"doneCount":1}"#)
        #expect(screen.texts.last == #"{"count":1000,"doneCount":1000}"#)
    }

    @Test func verifyTrimAndImportReportProgress() throws {
        let fixture = try Fixture()
        for number in 0..<5 { try fixture.commitArticles(1, first: 10 * number) }
        let count = Int(try fixture.file.read { try $0.head().revision.number })
        let verified = try Tool.run("verify", fixture.path, "--progress")
        #expect(verified.status == 0)
        let lines = verified.errors.split(separator: "\n")
        #expect(lines.count == count)
        #expect(lines.last == "verified \(count) of \(count) commits")

        let rows = fixture.directory.file("rows.jsonl")
        try Data("{\"name\": \"One\"}\n{\"name\": \"Two\"}\n".utf8)
            .write(to: URL(fileURLWithPath: rows))
        let imported = try Tool.run(
            "import", fixture.path, "Notebook", rows, "--without-validators", "--progress")
        #expect(imported.status == 0)
        #expect(imported.errors == "read 32 bytes of 32 bytes\n")

        let trimmed = try Tool.run(
            "trim", fixture.path, "--before", "\(count)", "--yes", "--progress")
        #expect(trimmed.status == 0)
        #expect(trimmed.errors == "removed \(count - 1) of \(count - 1) commits\n")
    }

    @Test func shippingRestoringAndExportReportProgress() throws {
        let fixture = try Fixture()
        let shipped = fixture.directory.file("shipped")
        try FileManager.default.createDirectory(
            atPath: shipped, withIntermediateDirectories: false)
        let based = try Tool.run("ship", fixture.path, shipped, "--progress")
        #expect(based.status == 0)
        #expect(based.errors.hasPrefix("copied "))
        for number in 0..<3 { try fixture.commitArticles(1, first: 10 * number) }
        let more = try Tool.run("ship", fixture.path, shipped, "--progress")
        #expect(more.errors == "shipped 3 of 3 commits\n")
        let restored = try Tool.run(
            "restore", shipped, fixture.directory.file("restored"), "--progress")
        #expect(restored.errors == "restored 3 of 3 commits\n")
        let exported = try Tool.run("export", fixture.path, "Article", "--progress")
        let count = exported.output.split(separator: "\n").count
        #expect(
            exported.errors.split(separator: "\n").last
                == "exported \(count) objects; there are at most \(count)")
    }
}

import Foundation
import Testing

@testable import catalogue

@Suite struct StatusFileTests {
    private let bash = """
        Package: bash
        Essential: yes
        Status: install ok installed
        Priority: required
        Section: shells
        Installed-Size: 7175
        Maintainer: Matthias Klose <doko@debian.org>
        Architecture: amd64
        Version: 5.2.15-2+b8
        Description: GNU Bourne Again SHell
         Bash is an sh-compatible command language interpreter.
         .
         Description: not a field

        """
    private let expected = InstalledPackage(
        name: "bash", version: "5.2.15-2+b8", architecture: "amd64", installedSize: 7_175,
        summary: "GNU Bourne Again SHell", isEssential: true, section: "shells",
        maintainer: InstalledPackage.Person(name: "Matthias Klose", email: "doko@debian.org"))

    private func minimal(_ fields: String...) -> String {
        let head = [
            "Package: a", "Status: install ok installed", "Version: 1", "Architecture: all",
        ]
        return (head + fields).joined(separator: "\n")
    }

    private func package(_ fields: String...) throws -> InstalledPackage {
        let text = minimal() + "\n" + fields.joined(separator: "\n")
        return try #require(StatusFile(text.utf8).packages.first)
    }

    @Test func aStanzaBecomesAPackage() {
        let file = StatusFile(bash.utf8)
        #expect(file.packages == [expected])
        #expect(file.stanzaCount == 1)
        #expect(file.strayLineCount == 0)
    }

    @Test func stanzasAreSeparatedByAnyNumberOfBlankLines() {
        let file = StatusFile("\n\n\(bash) \t\n\n\(minimal())".utf8)
        #expect(file.packages.map(\.name) == ["bash", "a"])
        #expect(file.stanzaCount == 2)
    }

    @Test func continuationLinesAreFoldedExceptInADescription() throws {
        #expect(try package("Section: x", "\ty").section == "x y")
        #expect(try package("Section:", " x", " y").section == "x y")
        #expect(try package("Description: one", " two").summary == "one")
    }

    @Test func continuationLinesOfUnknownFieldsAreLeftOut() throws {
        let found = try package("Conffiles:", " /etc/x 0123", " Section: y", "Section: z")
        #expect(found.section == "z")
    }

    @Test func missingFieldsAreNil() throws {
        let found = try package("Installed-Size: a lot", "Section:", "Maintainer:  ")
        #expect(
            found
                == InstalledPackage(
                    name: "a", version: "1", architecture: "all", summary: "", isEssential: false))
    }

    @Test(arguments: ["-1", "99999999999999999999", "1.5", ""])
    func aSizeThatIsNoSizeIsNil(_ size: String) throws {
        #expect(try package("Installed-Size: \(size)").installedSize == nil)
    }

    @Test func aStanzaWithoutNameVersionOrArchitectureIsCounted() {
        let file = StatusFile("Package: a\n\nVersion: 1\n\n\(minimal())".utf8)
        #expect(file.incompleteCount == 2)
        #expect(file.packages.count == 1)
    }

    @Test(arguments: [
        ("install ok installed", 1), ("hold ok installed", 1), ("deinstall ok config-files", 0),
        ("install ok half-installed", 0), ("install reinstreq installed", 0), ("installed", 0),
    ])
    func onlyInstalledPackagesAreTaken(_ status: String, _ count: Int) {
        let text = minimal().replacingOccurrences(of: "install ok installed", with: status)
        let file = StatusFile(text.utf8)
        #expect(file.packages.count == count)
        #expect(file.notInstalledCount == 1 - count)
    }

    @Test(arguments: ["", "\n", "\r\n\r\n", "   \n\t\n"])
    func anEmptyFileHasNoPackages(_ text: String) {
        let file = StatusFile(text.utf8)
        #expect(file.packages.isEmpty)
        #expect(file.stanzaCount == 0)
        #expect(file.strayLineCount == 0)
    }

    @Test func garbageHasNoPackages() {
        var generator = SystemRandomNumberGenerator()
        let noise = (0..<100_000).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        #expect(StatusFile(noise).packages.isEmpty)
        let text = StatusFile("no field\n continues nothing\n: no name\n".utf8)
        #expect(text.strayLineCount == 3)
        #expect(text.stanzaCount == 0)
    }

    @Test func garbageAroundAStanzaLeavesItReadable() {
        let file = StatusFile([0xff, 0x00, 0xfe, 0x0a, 0x0a] + Array(bash.utf8) + [0x0a, 0xc3])
        #expect(file.packages == [expected])
        #expect(file.strayLineCount == 2)
    }

    @Test func windowsLineEndsMakeNoDifference() {
        let text = bash + "\n" + minimal("Section: x")
        let windows = text.replacingOccurrences(of: "\n", with: "\r\n")
        #expect(StatusFile(windows.utf8) == StatusFile(text.utf8))
        #expect(StatusFile(windows.utf8).packages.count == 2)
    }

    @Test func bytesThatAreNotUTF8AreRepaired() {
        let start = Array((minimal() + "\nMaintainer: J").utf8)
        let text = start + [0xf6] + Array("rg <j@x.org>\n".utf8)
        let person = StatusFile(text).packages.first?.maintainer
        #expect(person == InstalledPackage.Person(name: "J\u{FFFD}rg", email: "j@x.org"))
    }

    @Test func aTruncatedCharacterDoesNotSwallowTheLineEnd() {
        let start = Array((minimal() + "\nSection: x").utf8)
        let text = start + [0xe2, 0x82] + Array("\nEssential: yes".utf8)
        let found = StatusFile(text).packages.first
        #expect(found?.section == "x\u{FFFD}")
        #expect(found?.isEssential == true)
    }

    @Test func controlCharactersAreReplaced() throws {
        #expect(try package("Description: a\u{1b}[2Jb\tc").summary == "a\u{FFFD}[2Jb c")
    }

    @Test func theFirstOfTwoFieldsCountsWhateverTheCaseOfTheirNames() throws {
        #expect(try package("SECTION: x", "Section: y").section == "x")
    }

    @Test(arguments: [
        ("Ada <a@x.org>", "Ada", "a@x.org"), ("Ada", "Ada", nil),
        ("<a@x.org>", "a@x.org", "a@x.org"), ("Ada <>", "Ada", nil), ("<>", "<>", nil),
        ("Ada <a@x.org", "Ada <a@x.org", nil),
    ])
    func aMaintainerHasANameInAnyCase(_ text: String, _ name: String, _ email: String?) {
        let person = InstalledPackage.Person(text)
        #expect(person == InstalledPackage.Person(name: name, email: email))
    }

    @Test func aVeryLongLineIsOneValue() throws {
        let found = try package("Description: " + String(repeating: "x", count: 1_000_000))
        #expect(found.summary.count == 1_000_000)
    }

    @Test func theExcerptIsReadCompletely() throws {
        let file = StatusFile(try Input.excerpt().bytes)
        #expect(file.stanzaCount == 200)
        #expect(file.packages.count == 200)
        #expect(file.incompleteCount == 0)
        #expect(file.strayLineCount == 0)
        #expect(file.packages.filter(\.isEssential).count > 10)
        #expect(Set(file.packages.compactMap(\.section)).count > 10)
    }
}

import Foundation
import StetTestSupport
import Testing

/// The messages of the compiler for unconfirmed destruction; each case is a separate program.
@Suite struct ProtectionMessageTests {
    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Errors and warnings, in order, without where they stand.
    private func messages(_ statement: String) throws -> [String] {
        let source = """
            import Stet

            @Model(.protected) final class Album {
                var title: String = ""
                init() {}
            }
            @Model final class Note {
                var title: String = ""
                init() {}
            }
            func generic<M: Model>(_ object: M, _ context: ManagedContext) throws {
                context.delete(object)
            }
            func use(_ album: Album, _ note: Note, _ context: ManagedContext) throws {
                \(statement)
            }
            """
        let directory = TemporaryDirectory()
        let file = directory.file("Program.swift")
        let text =
            statement.contains("generic(")
            ? source
            : source.replacing("    context.delete(object)\n", with: "")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let build = ChildProcess.buildFolder
        let outcome = try ChildProcess.run(
            [
                "-c", "exec swiftc \"$@\" 2>&1", "swiftc", "-emit-sil", "-o",
                directory.file("Program.sil"), "-swift-version", "6", "-diagnostic-style", "llvm",
                "-module-cache-path", "\(build)/MessageTests.cache", "-I", "\(build)/Modules", "-I",
                "\(Self.package)/Sources/CLMDB",
                "-load-plugin-executable", "\(build)/StetMacros-tool#StetMacros", file,
            ], program: "/bin/sh")
        return outcome.lines.compactMap { line in
            for kind in [": error: ", ": warning: "] {
                if let range = line.range(of: kind) { return String(line[range.upperBound...]) }
            }
            return nil
        }
    }

    private static let isUnavailable =
        "'delete' is unavailable: the model may be protected: use requestDelete(_:), and confirm "
        + "what it returns"

    @Test(
        "B3 deleting a protected model does not compile",
        arguments: [
            "context.delete(album)",
            "let model: any Model = note; context.delete(model)",
            "try generic(album, context)",
        ])
    func b3DoesNotCompile(statement: String) throws {
        #expect(try messages(statement) == [Self.isUnavailable])
    }

    @Test(
        "B1 what the compiler says of an action that is not confirmed, or twice",
        arguments: [
            (
                "try context.requestDelete(album)",
                "result of call to 'requestDelete' is unused [#no-usage]"
            ),
            (
                "let action = try context.requestDelete(album); try action.confirm(); "
                    + "try action.confirm()",
                "'action' consumed more than once"
            ),
            (
                "let action = try context.requestDelete(album); "
                    + "for _ in 0..<2 { try action.confirm() }",
                "'action' consumed in a loop"
            ),
        ])
    func b1Ignored(statement: String, message: String) throws {
        #expect(try messages(statement) == [message])
    }

    @Test("B1 what is confirmed once, or cancelled, compiles")
    func b1Compiles() throws {
        #expect(try messages("context.delete(note)") == [])
        #expect(try messages("try context.requestDelete(album).confirm()") == [])
        #expect(try messages("try context.requestDelete(note).cancel()") == [])
    }
}

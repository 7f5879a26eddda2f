import Foundation
import StetTestSupport

/// A separate program that the compiler checks against the modules of this build.
struct CompiledProgram {
    /// An error of the compiler, at a line of the source; 0 for one in generated code.
    struct Error: Equatable, CustomStringConvertible {
        let line: Int
        let text: String

        init(_ line: Int, _ text: String) {
            self.line = line
            self.text = text
        }

        var description: String { "\(line): \(text)" }
    }

    /// All errors, in ascending order of line, each once.
    let errors: [Error]

    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Checks a program of one file.
    init(_ source: String, flags: [String] = []) throws {
        try self.init(files: [("Program.swift", source)], flags: flags)
    }

    /// Checks a program of several files, in this order.
    init(files: [(name: String, text: String)], flags: [String] = []) throws {
        let directory = TemporaryDirectory()
        let paths = try files.map { name, text in
            let path = directory.file(name)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
        let build = ChildProcess.buildFolder
        let outcome = try ChildProcess.run(
            [
                "-c", "exec swiftc \"$@\" 2>&1", "swiftc", "-typecheck", "-swift-version", "6",
                "-diagnostic-style", "llvm", "-module-cache-path", "\(build)/MessageTests.cache",
                "-I", "\(build)/Modules", "-I", "\(Self.package)/Sources/CLMDB",
                "-load-plugin-executable", "\(build)/StetMacros-tool#StetMacros",
            ] + flags + paths, program: "/bin/sh")
        var errors: [Error] = []
        for line in outcome.lines {
            if line.contains("Assertion failed") { errors.append(Error(0, line)) }
            guard let text = line.range(of: ": error: ") else { continue }
            let place = line[..<text.lowerBound].split(separator: ":")
            let isOwn = paths.contains { place.first.map(String.init) == $0 }
            let number = isOwn && place.count > 1 ? Int(place[1]) : nil
            var message = String(line[text.upperBound...])
            if let macro = message.range(of: " (from macro") {
                message = String(message[..<macro.lowerBound])
            }
            let error = Error(number ?? 0, message)
            if !errors.contains(error) { errors.append(error) }
        }
        self.errors = errors.sorted { $0.line < $1.line }
    }
}

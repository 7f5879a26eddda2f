import Foundation
import Subprocess

/// The tool `stet` on one store.
///
/// Each request runs it anew: it reads any store without models, and a damaged page ends a child of
/// the tool, neither the tool nor the inspector.
struct Tool {
    /// The program `stet`.
    let program: String
    /// The file of the store.
    let store: String

    /// The most that a command may write: a page cannot show more.
    static let outputLimit = 32 << 20

    /// The error that the tool reports instead of a result.
    struct Failure: Error {
        let code: Int
        let message: String
        let advice: String?

        /// The status for a browser: the tool's exit codes are those of `sysexits.h`.
        var status: Int {
            switch code {
            case 64: 400
            case 66: 404
            default: 500
            }
        }
    }

    struct Result {
        /// The objects that the tool wrote, one per line.
        let lines: [JSONValue]
        /// False if the tool found a conflict or a violation.
        let isClean: Bool

        var first: JSONValue { lines.first ?? .null }
    }

    /// Runs a command.
    ///
    /// What comes from a browser is an argument after `--`, or behind `=`, so that it is never an
    /// option.
    func run(
        _ command: String, options: [String] = [], _ arguments: [String] = []
    ) async throws -> Result {
        let all = [command, "--json"] + options + ["--", store] + arguments
        let outcome = try await Subprocess.run(
            .path(.init(program)), arguments: Arguments(all),
            output: .data(limit: Self.outputLimit), error: .data(limit: Self.outputLimit))
        let lines = outcome.standardOutput.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(JSONValue.self, from: Data($0))
        }
        switch outcome.terminationStatus {
        case .exited(0): return Result(lines: lines, isClean: true)
        case .exited(1):
            return Result(lines: lines + problems(outcome.standardError), isClean: false)
        case .exited(let code): throw failure(Int(code), outcome.standardError)
        default: throw failure(70, outcome.standardError)
        }
    }

    private func problems(_ output: Data) -> [JSONValue] {
        output.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(JSONValue.self, from: Data($0))
        }
    }

    private func failure(_ code: Int, _ output: Data) -> Failure {
        if let problem = problems(output).first, let message = problem["message"].text {
            return Failure(code: code, message: message, advice: problem["advice"].text)
        }
        let text = String(decoding: output, as: UTF8.self)
        let line = text.split(separator: "\n").first.map(String.init) ?? "stet ended with \(code)."
        return Failure(code: code, message: line, advice: nil)
    }
}

import StetLMDB

/// A regular expression, compiled at its first use.
///
/// It is not compiled with the schema: a schema that is read from a file may be hostile, and
/// reading a store without its models evaluates no rules.
///
/// State: the compiled program, guarded by the monitor. It never changes afterwards, so it is used
/// outside the monitor.
final class Pattern: Sendable {
    /// The greatest number of bytes of a text that is matched.
    static let textByteCount = 4_096

    private let text: String
    private let compiled = Monitor<Result<PatternProgram, PatternProblem>?>(nil)

    init(_ text: String) {
        self.text = text
    }

    /// The reason why the text is not a usable regular expression, as part of a sentence; nil when
    /// it is one.
    var problem: PatternProblem? {
        if case .failure(let problem) = program { problem } else { nil }
    }

    private var program: Result<PatternProgram, PatternProblem> {
        compiled.withLock { compiled in
            if let compiled { return compiled }
            let text = text
            let result = Result { () throws(PatternProblem) in try PatternProgram(text) }
            compiled = result
            return result
        }
    }

    /// Returns whether the pattern matches a whole text.
    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= Self.textByteCount, case .success(let program) = program else {
            return false
        }
        return program.matches(String(decoding: text, as: UTF8.self))
    }
}

extension Schema {
    /// Checks that the patterns of the models are usable regular expressions.
    ///
    /// - Throws: `StoreError` (`.invalidSchema`) for the first one that is not.
    package func checkPatterns() throws {
        for entity in entities {
            for property in entity.properties {
                for case .matches(let pattern) in property.rules {
                    guard let problem = Pattern(pattern).problem else { continue }
                    throw StoreError(
                        .invalidSchema,
                        message: "The schema is not usable: \(Rule.matches(pattern)) can't be a "
                            + "rule for \(entity.name).\(property.name): \(problem.reason).",
                        advice: "Change the models.")
                }
            }
        }
    }
}

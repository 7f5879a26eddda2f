import StetLMDB

/// A regular expression, compiled when it is asked for the first time.
///
/// Not with the schema: a schema that is read from a file may be hostile, and who reads a store
/// without its models asks no rules.
///
/// State: what was compiled, guarded by the monitor. It is never changed afterwards, so that it is
/// used outside.
final class Pattern: Sendable {
    /// Longer text is not matched.
    static let textByteCount = 4_096

    private let text: String
    private let compiled = Monitor<Result<PatternProgram, PatternProblem>?>(nil)

    init(_ text: String) {
        self.text = text
    }

    /// Why the text is no regular expression that can be used, in the middle of a sentence; nil
    /// when it is one.
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

    /// Whether it matches a text as a whole.
    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= Self.textByteCount, case .success(let program) = program else {
            return false
        }
        return program.matches(String(decoding: text, as: UTF8.self))
    }
}

extension Schema {
    /// Makes sure that the patterns of the models are regular expressions.
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

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

    private enum Compiled {
        case notYet
        case ready(Regex<AnyRegexOutput>)
        case isNone
    }

    private let text: String
    private let compiled = Monitor(Compiled.notYet)

    init(_ text: String) {
        self.text = text
    }

    /// True when the text is a regular expression.
    var isUsable: Bool { expression != nil }

    private var expression: Regex<AnyRegexOutput>? {
        compiled.withLock { compiled in
            switch compiled {
            case .ready(let expression): return expression
            case .isNone: return nil
            case .notYet:
                guard let expression = try? Regex(text) else {
                    compiled = .isNone
                    return nil
                }
                // Compiles it to the end.
                _ = try? expression.wholeMatch(in: "")
                compiled = .ready(expression)
                return expression
            }
        }
    }

    /// Whether it matches a text as a whole.
    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= Self.textByteCount, let expression else { return false }
        let text = String(decoding: text, as: UTF8.self)
        return (try? expression.wholeMatch(in: text)) != nil
    }
}

extension Schema {
    /// Makes sure that the patterns of the models are regular expressions.
    ///
    /// - Throws: `StoreError` (`.invalidSchema`) for the first one that is not.
    package func checkPatterns() throws {
        for entity in entities {
            for property in entity.properties {
                for case .matches(let pattern) in property.rules where !Pattern(pattern).isUsable {
                    let rule = Rule.matches(pattern)
                    throw StoreError(
                        .invalidSchema,
                        message: "The schema is not usable: \(rule) is no regular expression for "
                            + "\(entity.name).\(property.name).",
                        advice: "Change the models.")
                }
            }
        }
    }
}

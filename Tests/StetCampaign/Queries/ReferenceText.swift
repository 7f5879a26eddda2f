import Foundation
import StetStore

/// The results that the campaign expects of text functions, computed by other means than the
/// engine's.
enum ReferenceText {
    /// The folded texts of the pools for each folding.
    private static let folded: [UInt8: [String: String]] = {
        var tables: [UInt8: [String: String]] = [:]
        for folding in 1...3 as ClosedRange<UInt8> {
            let pairs = ValuePools.texts.map { ($0, made($0, TextFolding(rawValue: folding))) }
            // Equal texts have equal foldings.
            tables[folding] = Dictionary(pairs) { one, _ in one }
        }
        return tables
    }()

    private static let characters: [String: [Character]] = {
        let texts = ValuePools.texts + folded.values.flatMap(\.values)
        return Dictionary(texts.map { ($0, Array($0)) }) { one, _ in one }
    }()

    static func folded(_ text: String, _ folding: TextFolding) -> String {
        if folding.isEmpty { return text }
        return folded[folding.rawValue]?[text] ?? made(text, folding)
    }

    private static func made(_ text: String, _ folding: TextFolding) -> String {
        var text = text
        if folding.contains(.diacriticInsensitive) {
            let kept = text.decomposedStringWithCanonicalMapping.unicodeScalars.filter { scalar in
                let position = scalar.properties.canonicalCombiningClass.rawValue
                return position < 10 || (37..<200).contains(position)
            }
            text = kept.reduce(into: "") { $0.unicodeScalars.append($1) }
        }
        return folding.contains(.caseInsensitive) ? text.uppercased().lowercased() : text
    }

    static func finds(_ search: QueryNode.TextSearch, _ part: String, in text: String) -> Bool {
        let part = characters[part] ?? Array(part)
        let text = characters[text] ?? Array(text)
        if part.count > text.count { return false }
        return switch search {
        case .prefix: text[..<part.count].elementsEqual(part)
        case .suffix: text[(text.count - part.count)...].elementsEqual(part)
        case .anywhere:
            (0...(text.count - part.count)).contains { start in
                text[start..<start + part.count].elementsEqual(part)
            }
        }
    }
}

/// A set of characters that a position of a regular expression matches.
///
/// A character is a grapheme cluster, and equals a canonically equivalent one, as in `String`.
indirect enum PatternClass: Sendable {
    case any
    case character(Character)
    /// The characters that consist of one scalar after composition, within a range.
    case range(ClosedRange<Unicode.Scalar>)
    case digit, word, whitespace, horizontalWhitespace, newline
    /// The characters whose first scalar has a property.
    case property(@Sendable (Unicode.Scalar.Properties) -> Bool)
    case ascii(ClosedRange<UInt8>)
    case union([PatternClass])
    case not(PatternClass)
    case ignoringCase(PatternClass)

    func contains(_ character: Character) -> Bool { contains(character, false) }

    private func contains(_ character: Character, _ ignoresCase: Bool) -> Bool {
        switch self {
        case .any: return true
        case .character(let own):
            return character == own
                || ignoresCase && character.lowercased() == own.lowercased()
        case .range(let range):
            if character.onlyScalar.map(range.contains) ?? false { return true }
            return ignoresCase
                && [character.lowercased(), character.uppercased()].contains { text in
                    guard text.count == 1 else { return false }
                    return text.first?.onlyScalar.map(range.contains) ?? false
                }
        case .digit: return character.isNumber
        case .word: return character.isLetter || character.isNumber || character == "_"
        case .whitespace: return character.isWhitespace
        case .horizontalWhitespace: return character.isWhitespace && !character.isNewline
        case .newline: return character.isNewline
        case .property(let holds):
            return character.unicodeScalars.first.map { holds($0.properties) } ?? false
        case .ascii(let range): return character.asciiValue.map(range.contains) ?? false
        case .union(let kinds): return kinds.contains { $0.contains(character, ignoresCase) }
        case .not(let kind): return !kind.contains(character, ignoresCase)
        case .ignoringCase(let kind): return kind.contains(character, true)
        }
    }
}

extension Character {
    /// The only scalar of a character after composition; nil for a character with several.
    var onlyScalar: Unicode.Scalar? {
        if let first = unicodeScalars.first, unicodeScalars.count == 1 { return first }
        let composed = String(self).inNormalFormC.unicodeScalars
        return composed.count == 1 ? composed.first : nil
    }
}

extension PatternClass {
    /// Creates a class with a name of POSIX; nil for an unknown name.
    init?(named name: String) {
        switch name {
        case "alpha": self.init(property: "Alphabetic")
        case "lower": self.init(property: "Lowercase")
        case "upper": self.init(property: "Uppercase")
        case "digit": self.init(property: "Nd")
        case "punct": self.init(property: "P")
        case "space": self = .whitespace
        case "blank": self = .horizontalWhitespace
        case "word": self = .word
        case "ascii": self = .ascii(0...0x7f)
        case "alnum":
            self = .property { $0.isAlphabetic || $0.numericType != nil }
        case "xdigit":
            self = .union([.ascii(0x30...0x39), .ascii(0x41...0x46), .ascii(0x61...0x66)])
        default: return nil
        }
    }

    /// Creates a class with the short or long name of a general category of Unicode, or of some
    /// properties; nil for an unknown name.
    init?(property name: String) {
        switch name {
        case "Any": self = .any
        case "ASCII": self = .ascii(0...0x7f)
        case "Alphabetic": self = .property(\.isAlphabetic)
        case "Uppercase": self = .property(\.isUppercase)
        case "Lowercase": self = .property(\.isLowercase)
        case "Whitespace", "White_Space": self = .whitespace
        default:
            guard let categories = Self.categories[name] else { return nil }
            self = .property { categories.contains($0.generalCategory) }
        }
    }

    private static let categories: [String: Set<Unicode.GeneralCategory>] = {
        let each: [(String, String, Unicode.GeneralCategory)] = [
            ("Lu", "Uppercase_Letter", .uppercaseLetter),
            ("Ll", "Lowercase_Letter", .lowercaseLetter),
            ("Lt", "Titlecase_Letter", .titlecaseLetter),
            ("Lm", "Modifier_Letter", .modifierLetter), ("Lo", "Other_Letter", .otherLetter),
            ("Mn", "Nonspacing_Mark", .nonspacingMark), ("Mc", "Spacing_Mark", .spacingMark),
            ("Me", "Enclosing_Mark", .enclosingMark), ("Nd", "Decimal_Number", .decimalNumber),
            ("Nl", "Letter_Number", .letterNumber), ("No", "Other_Number", .otherNumber),
            ("Pc", "Connector_Punctuation", .connectorPunctuation),
            ("Pd", "Dash_Punctuation", .dashPunctuation),
            ("Ps", "Open_Punctuation", .openPunctuation),
            ("Pe", "Close_Punctuation", .closePunctuation),
            ("Pi", "Initial_Punctuation", .initialPunctuation),
            ("Pf", "Final_Punctuation", .finalPunctuation),
            ("Po", "Other_Punctuation", .otherPunctuation), ("Sm", "Math_Symbol", .mathSymbol),
            ("Sc", "Currency_Symbol", .currencySymbol),
            ("Sk", "Modifier_Symbol", .modifierSymbol), ("So", "Other_Symbol", .otherSymbol),
            ("Zs", "Space_Separator", .spaceSeparator),
            ("Zl", "Line_Separator", .lineSeparator),
            ("Zp", "Paragraph_Separator", .paragraphSeparator), ("Cc", "Control", .control),
            ("Cf", "Format", .format), ("Cs", "Surrogate", .surrogate),
            ("Co", "Private_Use", .privateUse), ("Cn", "Unassigned", .unassigned),
        ]
        let groups = [
            "L": "Letter", "M": "Mark", "N": "Number", "P": "Punctuation", "S": "Symbol",
            "Z": "Separator", "C": "Other",
        ]
        var categories: [String: Set<Unicode.GeneralCategory>] = [:]
        for (short, long, category) in each {
            categories[short] = [category]
            categories[long] = [category]
            let group = String(short.prefix(1))
            categories[group, default: []].insert(category)
            if let name = groups[group] { categories[name, default: []].insert(category) }
        }
        return categories
    }()
}

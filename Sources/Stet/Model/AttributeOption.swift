import StetStore
public import FoundationEssentials

/// An option of an attribute: a rule, a normaliser, a stamp or an index.
public struct AttributeOption: Sendable {
    var rule: Rule?
    var normalizer: (kind: Normalizer, change: @Sendable (Value) -> Value)?
    var stamp: Stamp?
    var index: Index?
    var search: Search?
    var isHidden = false
    var isCounter = false
    /// The object by whose key the value is sealed.
    var seal: Seal?

    /// A kind of index of a string, besides that of its value.
    public enum TextIndex: Sendable {
        /// The parts of the string, by which `contains` finds it.
        case substring
    }

    /// An index that an option declares.
    struct Index: Sendable {
        var isUnique = false
        var folding: TextFolding = []
        var isOfSubstrings = false
    }

    /// The search of the words of an attribute.
    struct Search: Sendable {
        var language: TextLanguage?
        var weight = 1.0
    }

    /// Keeps the value out of encoded snapshots and change sets, of debug text, of violations and
    /// of what `stet` prints: for password hashes, tokens and the like.
    ///
    /// The value is stored and read like any other. An encoder with
    /// `userInfo[.encodesHiddenValues] = true` encodes it in change sets, but never in snapshots. A
    /// snapshot is decoded without it if it is optional, and otherwise not without it.
    public static let hidden: AttributeOption = {
        var option = AttributeOption()
        option.isHidden = true
        return option
    }()

    /// Adds up the changes of an integer: what counts is by how much it was changed, not to what.
    ///
    /// ```swift
    /// @Attribute(.counter, .range(0...)) var views: Int = 0
    /// ```
    ///
    /// `article.views += 1` is an increment by 1, and an assignment one by the difference to the
    /// value that the context showed. Contexts and processes that increment a counter at the same
    /// time do not conflict, under any merge policy: the store gets the sum. An undo subtracts the
    /// increment, and leaves those of others. Two contexts that reset a counter to 0 both subtract
    /// its value: a `.range(0...)` refuses the second one.
    ///
    /// The sum must satisfy the rules, like every value that is saved. A sum that the type cannot
    /// represent is a `ConflictError` (`.overflow`), or an `UndoConflict` (`.overflow`), and
    /// nothing is written. The attribute can't be optional.
    public static let counter: AttributeOption = {
        var option = AttributeOption()
        option.isCounter = true
        return option
    }()

    /// Requires that no two objects of the model have equal values.
    ///
    /// Nil values are exempt. Text is compared as `String` compares it; -0 equals 0, and NaN equals
    /// NaN. Code 1551; the violation names the object that already has the value.
    public static let unique = AttributeOption(index: Index(isUnique: true))

    /// Requires that no two objects of the model have equal values, where text is compared with a
    /// folding.
    public static func unique(_ comparing: TextFolding) -> AttributeOption {
        AttributeOption(index: Index(isUnique: true, folding: comparing))
    }

    /// Adds an index by which objects are found by the value without reading every object.
    public static let indexed = AttributeOption(index: Index())

    /// Adds an index by which objects are found by the value, where text is compared with a
    /// folding.
    public static func indexed(_ comparing: TextFolding) -> AttributeOption {
        AttributeOption(index: Index(folding: comparing))
    }

    /// Adds an index of the parts of a string.
    ///
    /// ```swift
    /// @Attribute(.indexed(.substring)) var title: String
    /// ```
    ///
    /// Queries with `contains`, `hasPrefix` and `hasSuffix` use it, also where they ignore case or
    /// diacritics, if the text that they search for has at least three characters. A save writes an
    /// entry for each three characters in succession that a changed string gains or loses. An
    /// attribute can have this index and one of its values.
    public static func indexed(_ kind: TextIndex) -> AttributeOption {
        switch kind {
        case .substring: AttributeOption(index: Index(isOfSubstrings: true))
        }
    }

    /// Adds the words of a string to those that `matching(_:)` searches.
    ///
    /// ```swift
    /// @Attribute(.searchable(weight: 3)) var title: String
    /// @Attribute(.searchable) var text: String
    /// ```
    ///
    /// Words are found at Unicode's word boundaries; case and diacritics make no difference.
    public static let searchable = AttributeOption(search: Search())

    /// Adds the words of a string to those that `matching(_:)` searches, with a weight: an
    /// occurrence of a word in an attribute of weight 3 counts as three in one of weight 1 when
    /// hits are ranked.
    ///
    /// A different weight takes effect at once, without a migration.
    ///
    /// - Precondition: `weight` is positive and finite.
    public static func searchable(weight: Double) -> AttributeOption {
        searchable(nil, weight)
    }

    /// Adds the words of a string to those that `matching(_:)` searches, and reduces them to their
    /// stems by the rules of a language: a search for `session` finds `sessions`.
    ///
    /// ```swift
    /// import StetStemming
    ///
    /// @Attribute(.searchable(language: .english, weight: 3)) var title: String
    /// ```
    ///
    /// The words of a search are reduced to their stems in the same way, for each attribute by its
    /// own language. With another language, or other rules of it, the index is built again when the
    /// store is opened.
    ///
    /// - Precondition: `weight` is positive and finite.
    public static func searchable(
        language: TextLanguage, weight: Double = 1
    ) -> AttributeOption {
        searchable(language, weight)
    }

    private static func searchable(
        _ language: TextLanguage?, _ weight: Double
    ) -> AttributeOption {
        trap(
            unless: weight > 0 && weight.isFinite,
            "a weight of searchable words must be positive and finite")
        return AttributeOption(search: Search(language: language, weight: weight))
    }

    /// Requires that the value is not nil when it is saved.
    ///
    /// Code 1570.
    public static let required = AttributeOption(rule: .required)

    /// Requires that a string, data, an array or a dictionary is not empty.
    ///
    /// Code 1670.
    public static let notEmpty = AttributeOption(rule: .notEmpty)

    /// Limits the length: characters (grapheme clusters, as `count` counts them) of a string, bytes
    /// of data, elements of an array or dictionary.
    ///
    /// Codes 1670 and 1660.
    public static func length(_ range: ClosedRange<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: range.lowerBound, maximum: range.upperBound))
    }

    /// Requires a minimum length: characters of a string, bytes of data, elements of an array or
    /// dictionary.
    ///
    /// Code 1670.
    public static func length(_ range: PartialRangeFrom<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: range.lowerBound, maximum: nil))
    }

    /// Requires a maximum length: characters of a string, bytes of data, elements of an array or
    /// dictionary.
    ///
    /// Code 1660.
    public static func length(_ range: PartialRangeThrough<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: nil, maximum: range.upperBound))
    }

    /// Requires that a number or date is within two inclusive bounds; NaN is not.
    ///
    /// Codes 1620 and 1610, dates 1640 and 1630.
    public static func range<Bound: _RangeBound>(_ range: ClosedRange<Bound>) -> AttributeOption {
        AttributeOption(
            rule: .range(minimum: range.lowerBound._value, maximum: range.upperBound._value))
    }

    /// Requires that a number or date is not below a bound.
    ///
    /// Code 1620, for dates 1640.
    public static func range<Bound: _RangeBound>(
        _ range: PartialRangeFrom<Bound>
    ) -> AttributeOption {
        AttributeOption(rule: .range(minimum: range.lowerBound._value, maximum: nil))
    }

    /// Requires that a number or date is not above a bound.
    ///
    /// Code 1610, for dates 1630.
    public static func range<Bound: _RangeBound>(
        _ range: PartialRangeThrough<Bound>
    ) -> AttributeOption {
        AttributeOption(rule: .range(minimum: nil, maximum: range.upperBound._value))
    }

    /// Sets a `Date` to the time of the save.
    ///
    /// Such a property needs no value in `init`.
    public static func stamped(_ stamp: Stamp) -> AttributeOption {
        AttributeOption(stamp: stamp)
    }
}

/// A type that a stamped attribute can have: `Date` or `Date?`.
///
/// Used by the code that `@Model` writes.
public protocol _Stampable {
    static var _unstamped: Self { get }
    init(_stamp: Date)
}

extension Date: _Stampable {
    /// The reference date, which a stamped property has until its first save.
    public static var _unstamped: Date { Date(timeIntervalSinceReferenceDate: 0) }
    /// Creates the date of a stamp.
    public init(_stamp: Date) { self = _stamp }
}

extension Optional: _Stampable where Wrapped == Date {
    /// Nil, which a stamped property has until its first save.
    public static var _unstamped: Date? { nil }
    /// Creates the date of a stamp.
    public init(_stamp: Date) { self = .some(_stamp) }
}

/// The type of stamps, under a name that generated code finds without an import of Foundation.
public typealias _StampDate = Date

// Rules other than lengths and bounds, and the values that rules compare.

extension AttributeOption {
    /// Requires that a regular expression matches the whole string.
    ///
    /// The syntax and its meaning are those of Swift's `Regex`, where characters are grapheme
    /// clusters: literals, `.`, sets with ranges, `\d`, `\w`, `\s`, `\h`, `\v` and their negations,
    /// general categories as `\p{Lu}`, groups, alternatives, `*`, `+`, `?`, `{m,n}` and their lazy
    /// forms, `^`, `$`, `\A`, `\z`, and the options `(?i)`, `(?s)` and `(?m)`. Unlike in `Regex`,
    /// `\b` matches between a character that `\w` matches and one that it does not.
    ///
    /// A text is read once, in time linear in its length and in the length of the pattern, so that
    /// no text delays a save. Constructs that cannot be matched in this way are refused when the
    /// store is opened (`StoreError.Code.invalidSchema`): back-references, look-ahead, look-behind,
    /// atomic groups and possessive repetitions.
    ///
    /// A string of more than 4,096 bytes does not match. The pattern is part of the schema: at most
    /// 1,024 bytes, and 10,000 steps with repetitions written out. Code 1680.
    public static func matches(_ pattern: String) -> AttributeOption {
        AttributeOption(rule: .matches(pattern))
    }

    /// Requires that a string, number or date is one of these values; text is compared as `String`
    /// compares it.
    ///
    /// At most 255 values, texts of at most 1,024 bytes. Code 7 of the domain "Stet".
    public static func oneOf<Element: _AttributeElement>(_ values: Element...) -> AttributeOption {
        AttributeOption(rule: .oneOf(values.map(\._value)))
    }
}

/// A type whose values `.range` can compare.
public protocol _RangeBound: AttributeValue, OrderedValue {}
extension Int: _RangeBound {}
extension Int8: _RangeBound {}
extension Int16: _RangeBound {}
extension Int32: _RangeBound {}
extension Int64: _RangeBound {}
extension UInt: _RangeBound {}
extension UInt8: _RangeBound {}
extension UInt16: _RangeBound {}
extension UInt32: _RangeBound {}
extension UInt64: _RangeBound {}
extension Float: _RangeBound {}
extension Double: _RangeBound {}
extension Decimal: _RangeBound {}
extension Date: _RangeBound {}

extension Rule {
    /// Returns the rule with its literals converted to a type: `0...5` for a `Double` is written
    /// with integers, `0.5...1` for a `Float` with doubles.
    ///
    /// A bound that the type cannot represent stays as it is, and is refused with the schema.
    func fitted(to type: ValueType) -> Rule {
        switch self {
        case .range(let minimum, let maximum):
            .range(minimum: minimum?.fitted(to: type), maximum: maximum?.fitted(to: type))
        case .oneOf(let values): .oneOf(values.map { $0.fitted(to: type) })
        default: self
        }
    }
}

extension Value {
    fileprivate func fitted(to type: ValueType) -> Value {
        switch (self, type.widest) {
        case (.int(let number), .uint): UInt64(exactly: number).map(Value.uint) ?? self
        case (.uint(let number), .int): Int(exactly: number).map(Value.int) ?? self
        case (.int(let number), .float): .float(Float(number))
        case (.int(let number), .double): .double(Double(number))
        case (.int(let number), .decimal): .decimal(Decimal(number))
        case (.double(let number), .float): .float(Float(number))
        // Converts the decimal digits: 0.1 means one tenth, not the nearest double.
        case (.double(let number), .decimal):
            Decimal(string: "\(number)").map(Value.decimal) ?? self
        default: self
        }
    }
}

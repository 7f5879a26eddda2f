import StetStore
public import FoundationEssentials

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

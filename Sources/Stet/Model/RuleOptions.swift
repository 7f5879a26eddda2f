import StetStore
public import FoundationEssentials

// Rules beyond those of lengths and bounds, and the values that rules compare.

extension AttributeOption {
    /// A string is matched as a whole by a regular expression, in the syntax of Swift's `Regex`.
    ///
    /// A string of more than 4,096 bytes is not matched. The pattern is part of the schema, at most
    /// 1,024 bytes; how long it takes is up to its author. Code 1680.
    public static func matches(_ pattern: String) -> AttributeOption {
        AttributeOption(rule: .matches(pattern))
    }

    /// A string, number or date is one of these; text is compared as `String` compares it.
    ///
    /// At most 255 values, texts of at most 1,024 bytes. Code 7 of the domain "Stet".
    public static func oneOf<Element: AttributeElement>(_ values: Element...) -> AttributeOption {
        AttributeOption(rule: .oneOf(values.map(\._value)))
    }
}

/// A type whose values `.range` can compare.
public protocol RangeBound: AttributeValue, OrderedValue {}
extension Int: RangeBound {}
extension Int8: RangeBound {}
extension Int16: RangeBound {}
extension Int32: RangeBound {}
extension Int64: RangeBound {}
extension UInt: RangeBound {}
extension UInt8: RangeBound {}
extension UInt16: RangeBound {}
extension UInt32: RangeBound {}
extension UInt64: RangeBound {}
extension Float: RangeBound {}
extension Double: RangeBound {}
extension Decimal: RangeBound {}
extension Date: RangeBound {}

extension Rule {
    /// `0...5` for a `Double` is written with integers, `0.5...1` for a `Float` with doubles.
    ///
    /// A bound that the type does not have stays as it is, and is refused with the schema.
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
        // By its digits: 0.1 is meant, not the double beside it.
        case (.double(let number), .decimal):
            Decimal(string: "\(number)").map(Value.decimal) ?? self
        default: self
        }
    }
}

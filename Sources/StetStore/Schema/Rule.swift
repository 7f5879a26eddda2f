/// A condition that a value must satisfy when it is saved.
public enum Rule: Hashable, Sendable {
    /// The value is not nil.
    case required
    /// The string, data, list or dictionary is not empty; nil is allowed.
    case notEmpty
    /// The string has a number of characters (grapheme clusters), the data of bytes, the list or
    /// dictionary of elements, within the bounds; nil is allowed.
    case length(minimum: Int?, maximum: Int?)
    /// The value is within the bounds, both included; nil is allowed.
    case range(minimum: Value?, maximum: Value?)
    /// A regular expression matches the whole text, which has at most 4,096 bytes; nil is allowed.
    ///
    /// `AttributeOption.matches` describes the syntax.
    case matches(String)
    /// The value is one of these values; nil is allowed.
    case oneOf([Value])

    /// Returns the reason why a property cannot have the rule, as part of a sentence; nil when it
    /// can.
    func problem(with property: Property) -> String? {
        if case .oneOf(let values) = self {
            if values.count > UInt8.max { return "names more than \(UInt8.max) values for" }
            if values.contains(where: { $0.ruleText?.utf8.count ?? 0 > Limits.ruleByteCount }) {
                return "has a value of more than \(Limits.ruleByteCount) bytes for"
            }
        }
        if case .matches(let pattern) = self, property.type == .string {
            if pattern.utf8.count > Limits.ruleByteCount {
                return "has more than \(Limits.ruleByteCount) bytes for"
            }
        }
        return fits(property) ? nil : "does not fit"
    }

    private func fits(_ property: Property) -> Bool {
        let type = property.type
        return switch self {
        case .required: true
        case .notEmpty, .length: [.string, .data, .list, .dictionary].contains(type)
        case .range(let minimum, let maximum):
            [.int, .uint, .float, .double, .decimal, .date].contains(type.widest)
                && (minimum == nil || minimum?.type == type.widest)
                && (maximum == nil || maximum?.type == type.widest)
        case .matches: type == .string
        case .oneOf(let values):
            Value.ruleTypes.contains(type.widest) && !values.isEmpty
                && values.allSatisfy { $0 != .null && property.accepts($0) }
        }
    }
}

extension Value {
    /// The types whose values a rule can name.
    static let ruleTypes: [ValueType] = [
        .bool, .int, .uint, .float, .double, .decimal, .date, .string,
    ]

    fileprivate var ruleText: String? { if case .string(let text) = self { text } else { nil } }
}

extension Rule: CustomStringConvertible {
    /// The rule as it is declared in code.
    public var description: String {
        func range(_ lower: (any CustomStringConvertible)?, _ upper: (any CustomStringConvertible)?)
            -> String
        {
            "\(lower?.description ?? "")...\(upper?.description ?? "")"
        }
        return switch self {
        case .required: ".required"
        case .notEmpty: ".notEmpty"
        case .length(let minimum, let maximum): ".length(\(range(minimum, maximum)))"
        case .range(let minimum, let maximum): ".range(\(range(minimum, maximum)))"
        case .matches(let pattern): ".matches(\(pattern.debugDescription))"
        case .oneOf(let values): ".oneOf(\(values.map(\.description).joined(separator: ", ")))"
        }
    }
}

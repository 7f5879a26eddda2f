/// What a value must satisfy when it is saved.
public enum Rule: Hashable, Sendable {
    /// Not nil.
    case required
    /// Not the empty string, data, list or dictionary; nil is let through.
    case notEmpty
    /// At least and at most so many characters (grapheme clusters) of a string, bytes of data,
    /// elements of a list or dictionary; nil is let through.
    case length(minimum: Int?, maximum: Int?)
    /// At least and at most this value; nil is let through.
    case range(minimum: Value?, maximum: Value?)
    /// Text that a regular expression matches as a whole, of at most 4,096 bytes; nil is let
    /// through. `AttributeOption.matches` describes the syntax.
    case matches(String)
    /// One of these values; nil is let through.
    case oneOf([Value])

    /// Why the rule cannot be asked of a property, in the middle of a sentence; nil when it can.
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
    /// The rule as it is declared.
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

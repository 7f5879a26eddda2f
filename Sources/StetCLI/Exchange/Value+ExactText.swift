import FoundationEssentials
import StetStore

// Values in exchanged files, as JSON and as text: reading them gives the same stored bytes.

extension Value {
    /// The value as JSON, for a reader that knows its type.
    var exactJSON: JSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .integer(value)
        case .uint(let value): .number(value)
        case .double(let value):
            value.isPlain ? .double(value) : .string(value.exactText)
        case .float(let value):
            // Uses the float's own digits. Converted to a double it would have more.
            value.isPlain
                ? Double(value.exactText).map { .double($0) } ?? .string(value.exactText)
                : .string(value.exactText)
        case .url(let url) where url.baseURL != nil:
            .object([
                "base": .string(url.baseURL?.absoluteString ?? ""),
                "relative": .string(url.relativeString),
            ])
        case .list(let values): .array(values.map(\.elementJSON))
        // Written as pairs: JSON treats canonically equivalent names as one member.
        case .dictionary(let values):
            .array(
                values.map { .array([$0.key.exactJSON, $0.value.exactJSON]) }
                    .sorted { $0.text < $1.text })
        default: .string(exactText)
        }
    }

    /// The value as an element of a list, where a dictionary is an embedded value.
    private var elementJSON: JSON {
        guard case .dictionary(let members) = self else { return exactJSON }
        return .object(
            Dictionary(
                uniqueKeysWithValues: members.map { ($0.exactText, $1.exactJSON) }))
    }

    /// The value as text; empty for nil.
    var exactText: String {
        switch self {
        case .null: ""
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .uint(let value): "\(value)"
        case .float(let value): value.exactText
        case .double(let value): value.exactText
        case .decimal(let value): "\(value)"
        case .date(let value): value.exactText
        case .string(let value), .codable(let value): value
        case .data(let value): value.base64EncodedString()
        case .uuid(let value): value.uuidString.lowercased()
        case .url(let url): url.baseURL == nil ? url.relativeString : exactJSON.text
        case .reference(let id): id.description
        case .placed(let id, let position): "\(id)@\(position)"
        case .list, .dictionary: exactJSON.text
        }
    }
}

extension BinaryFloatingPoint {
    /// True for a value that JSON represents as a number; -0 would be read as 0.
    fileprivate var isPlain: Bool { isFinite && !(isZero && sign == .minus) }
}

extension Property {
    /// A sentence that says why a text or JSON is not a value of the property.
    var expectation: String {
        "is not \(isOptional ? "nil or " : "")\(type == type.widest ? "" : "\(type), ")"
            + type.expectation
    }
}

import FoundationEssentials

/// A JSON value with a canonical text: keys are sorted, integers exact.
enum JSON: Hashable, Encodable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(UInt64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Creates a string, or null.
    init(_ text: String?) {
        self = text.map { .string($0) } ?? .null
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }

    /// The text of the value, in one line.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        // Cannot fail: every case has a JSON form, and floats that are not finite are converted.
        guard let data = try? encoder.encode(self) else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }
}

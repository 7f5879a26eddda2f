import FoundationEssentials

extension JSON: Decodable {
    /// Reads any JSON value, integers exactly.
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .number(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let values = try? container.decode([JSON].self) {
            self = .array(values)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    /// Reads a text; nil when it is no JSON.
    init?(text: String) {
        guard let value = try? JSONDecoder().decode(JSON.self, from: Data(text.utf8)) else {
            return nil
        }
        self = value
    }
}

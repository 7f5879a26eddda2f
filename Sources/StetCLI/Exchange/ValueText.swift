import FoundationEssentials
import StetStore

// Values in files that are exchanged, as JSON and as text: what is written is read as the same
// stored bytes.

extension Value {
    /// The value as JSON, for a reader who knows its type.
    var exactJSON: JSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .integer(value)
        case .uint(let value): .number(value)
        case .double(let value):
            value.isPlain ? .double(value) : .string(value.exactText)
        case .float(let value):
            // By its own digits: as a double it would have more than it was written with.
            value.isPlain
                ? Double(value.exactText).map { .double($0) } ?? .string(value.exactText)
                : .string(value.exactText)
        case .url(let url) where url.baseURL != nil:
            .object([
                "base": .string(url.baseURL?.absoluteString ?? ""),
                "relative": .string(url.relativeString),
            ])
        case .list(let values): .array(values.map(\.exactJSON))
        // As pairs: names of members that differ in their bytes only would be one.
        case .dictionary(let values):
            .array(
                values.map { .array([$0.key.exactJSON, $0.value.exactJSON]) }
                    .sorted { $0.text < $1.text })
        default: .string(exactText)
        }
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

    /// Reads what `exactText` writes; nil when it is no value of the type.
    init?(text: String, _ type: ValueType, elements: [ValueType] = []) {
        let value: Value? =
            switch type.widest {
            case .bool: Bool(text).map { .bool($0) }
            case .int: Int(text).map { .int($0) }
            case .uint: UInt64(text).map { .uint($0) }
            case .float: Float(exactText: text).map { .float($0) }
            case .double: Double(exactText: text).map { .double($0) }
            case .decimal: Decimal(exactText: text).map { .decimal($0) }
            case .date: Date(exactText: text).map { .date($0) }
            case .string: .string(text)
            case .codable: JSON(text: text).map { _ in .codable(text) }
            case .data: Data(base64Encoded: text).map { .data($0) }
            case .uuid: UUID(uuidString: text).map { .uuid($0) }
            case .reference: Value(reference: text)
            case .url where text.hasPrefix("{"), .list, .dictionary:
                JSON(text: text).flatMap { Value(json: $0, type, elements: elements) }
            case .url: URL(string: text).map { .url($0) }
            default: nil
            }
        guard let value else { return nil }
        self = value
    }

    /// Reads what `exactJSON` writes, and plain JSON where that is clear; nil when it is no value
    /// of the type.
    init?(json: JSON, _ type: ValueType, elements: [ValueType] = []) {
        switch (json, type.widest) {
        case (.null, _): self = .null
        case (.bool(let value), .bool): self = .bool(value)
        case (.integer(let value), .int): self = .int(value)
        case (.integer, .uint), (.integer, .float), (.integer, .double), (.integer, .decimal),
            (.number, .uint), (.number, .float), (.number, .double), (.number, .decimal),
            (.double, .float), (.double, .double), (.double, .decimal):
            self.init(text: json.text, type)
        case (.object(let members), .url):
            guard case .string(let relative)? = members["relative"],
                case .string(let base)? = members["base"],
                let url = URL(storedRelative: relative, base: base)
            else { return nil }
            self = .url(url)
        case (.array(let values), .list) where elements.count == 1:
            let list = values.compactMap { Value(json: $0, elements[0]) }
            guard list.count == values.count else { return nil }
            self = .list(list)
        case (.array(let pairs), .dictionary) where elements.count == 2:
            self.init(pairs.map { if case .array(let pair) = $0 { pair } else { [] } }, elements)
        case (.object(let members), .dictionary) where elements.first == .string:
            self.init(members.map { [.string($0.key), $0.value] }, elements)
        case (.array, .codable), (.object, .codable), (.bool, .codable), (.integer, .codable),
            (.number, .codable), (.double, .codable):
            self = .codable(json.text)
        case (.string(let text), let type) where ![.list, .dictionary].contains(type):
            self.init(text: text, type)
        default: return nil
        }
    }

    /// An id, perhaps with the position among the members that the object belongs to.
    private init?(reference text: String) {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard let id = ObjectID(String(parts[0])) else { return nil }
        guard parts.count > 1 else {
            self = .reference(id)
            return
        }
        guard let position = ListPosition(description: String(parts[1])) else { return nil }
        self = .placed(id, position)
    }

    /// A dictionary of pairs.
    private init?(_ pairs: [[JSON]], _ elements: [ValueType]) {
        var values: [Value: Value] = [:]
        for pair in pairs {
            guard pair.count == 2, let key = Value(json: pair[0], elements[0]), key != .null,
                let value = Value(json: pair[1], elements[1]), value != .null,
                values.updateValue(value, forKey: key) == nil
            else { return nil }
        }
        self = .dictionary(values)
    }
}

extension BinaryFloatingPoint {
    /// True for what JSON has numbers for; -0 would be read as 0.
    fileprivate var isPlain: Bool { isFinite && !(isZero && sign == .minus) }
}

extension Property {
    /// Why a text or JSON is no value of the property.
    var expectation: String {
        "is not \(isOptional ? "nil or " : "")\(type == type.widest ? "" : "\(type), ")"
            + type.expectation
    }
}

import FoundationEssentials
import StetStore

/// Parses values of a type from text and JSON.
struct ValueReader {
    private let type: ValueType
    private let elements: [ValueType]
    private let embedded: EmbeddedElements?

    /// Creates a reader of values of a type that is no list or dictionary.
    init(_ type: ValueType) {
        self.type = type
        elements = []
        embedded = nil
    }

    /// Creates a reader of values of a property.
    init(of property: Property) {
        type = property.type
        elements = property.elements
        embedded = property.embedded
    }

    /// Parses an `exactText`; nil when it is not a value of the type.
    func value(text: String) -> Value? {
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
        case .reference: reference(text)
        case .url where text.hasPrefix("{"), .list, .dictionary:
            JSON(text: text).flatMap { value(json: $0) }
        case .url: URL(string: text).map { .url($0) }
        default: nil
        }
    }

    /// Parses an `exactJSON`, or plain JSON where that is unambiguous; nil when it is not a value
    /// of the type.
    func value(json: JSON) -> Value? {
        switch (json, type.widest) {
        case (.null, _): return .null
        case (.bool(let value), .bool): return .bool(value)
        case (.integer(let value), .int): return .int(value)
        case (.integer, .uint), (.integer, .float), (.integer, .double), (.integer, .decimal),
            (.number, .uint), (.number, .float), (.number, .double), (.number, .decimal),
            (.double, .float), (.double, .double), (.double, .decimal):
            return value(text: json.text)
        case (.object(let members), .url):
            guard case .string(let relative)? = members["relative"],
                case .string(let base)? = members["base"],
                let url = URL(storedRelative: relative, base: base)
            else { return nil }
            return .url(url)
        case (.array(let values), .list) where elements.count == 1:
            let list = values.compactMap { element in
                embedded.map { embeddedValue(element, $0) }
                    ?? ValueReader(elements[0]).value(json: element)
            }
            guard list.count == values.count else { return nil }
            return .list(list)
        case (.array(let pairs), .dictionary) where elements.count == 2:
            return dictionary(pairs.map { if case .array(let pair) = $0 { pair } else { [] } })
        case (.object(let members), .dictionary) where elements.first == .string:
            return dictionary(members.map { [.string($0.key), $0.value] })
        case (.array, .codable), (.object, .codable), (.bool, .codable), (.integer, .codable),
            (.number, .codable), (.double, .codable):
            return .codable(json.text)
        case (.string(let text), let type) where ![.list, .dictionary].contains(type):
            return value(text: text)
        default: return nil
        }
    }

    /// Parses an element of an array of embedded values: an object, in which members that may be
    /// nil can be left out.
    private func embeddedValue(_ json: JSON, _ elements: EmbeddedElements) -> Value? {
        guard case .object(var given) = json else { return nil }
        var members: [Value] = []
        for member in elements.entity.properties {
            let json = given.removeValue(forKey: member.name) ?? .null
            guard let value = ValueReader(of: member).value(json: json), member.accepts(value)
            else { return nil }
            members.append(value)
        }
        return given.isEmpty ? elements.element(members) : nil
    }

    /// Returns the place of the first mistake in an array of embedded values, and a description,
    /// such as "[1].price is missing"; nil when there is none, or it is no such array.
    func mistake(inElementsOf json: JSON) -> String? {
        guard case .array(let values) = json, let embedded else { return nil }
        for (index, value) in values.enumerated() {
            if let mistake = mistake(in: value, embedded) { return "[\(index)]\(mistake)" }
        }
        return nil
    }

    private func mistake(in element: JSON, _ elements: EmbeddedElements) -> String? {
        guard case .object(var given) = element else { return " is not an object with members" }
        for member in elements.entity.properties {
            guard let json = given.removeValue(forKey: member.name) else {
                if member.isOptional { continue }
                return ".\(member.name) is missing"
            }
            guard let value = ValueReader(of: member).value(json: json), member.accepts(value)
            else { return ".\(member.name) \(member.expectation)" }
        }
        return given.keys.min().map { " has no member \($0)" }
    }

    /// Parses an id, optionally with the position among the members that the object belongs to.
    private func reference(_ text: String) -> Value? {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard let id = ObjectID(String(parts[0])) else { return nil }
        guard parts.count > 1 else { return .reference(id) }
        guard let position = ListPosition(description: String(parts[1])) else { return nil }
        return .placed(id, position)
    }

    /// Parses a dictionary from pairs.
    private func dictionary(_ pairs: [[JSON]]) -> Value? {
        var values: [Value: Value] = [:]
        for pair in pairs {
            guard pair.count == 2, let key = ValueReader(elements[0]).value(json: pair[0]),
                key != .null,
                let value = ValueReader(elements[1]).value(json: pair[1]), value != .null,
                values.updateValue(value, forKey: key) == nil
            else { return nil }
        }
        return .dictionary(values)
    }
}

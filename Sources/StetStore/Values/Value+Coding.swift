import FoundationEssentials

// The Codable form of values. Unlike a plain encoder it represents every value: numbers that are
// not finite by their bits, decimals by their digits.

extension Value: Codable {
    /// Decodes a value.
    public init(from decoder: any Decoder) throws {
        switch try Coded(from: decoder) {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(value)
        case .uint(let value): self = .uint(value)
        case .float(let value): self = .float(value.number)
        case .double(let value): self = .double(value.number)
        case .decimal(let value): self = .decimal(value.decimal)
        case .date(let value): self = .date(Date(timeIntervalSinceReferenceDate: value.number))
        case .string(let value): self = .string(value)
        case .data(let value): self = .data(value)
        case .uuid(let value): self = .uuid(value)
        case .url(let value): self = .url(value.url)
        case .reference(let id): self = .reference(id)
        case .placed(let place): self = .placed(place.target, place.position)
        case .list(let values): self = .list(values)
        case .dictionary(let entries):
            self = .dictionary(
                Dictionary(entries.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 }))
        case .codable(let text): self = .codable(text)
        }
    }

    /// Encodes any value, including numbers that are not finite.
    public func encode(to encoder: any Encoder) throws {
        let coded: Coded =
            switch self {
            case .null: .null
            case .bool(let value): .bool(value)
            case .int(let value): .int(value)
            case .uint(let value): .uint(value)
            case .float(let value): .float(ExactFloat(number: value))
            case .double(let value): .double(ExactDouble(number: value))
            case .decimal(let value): .decimal(ExactDecimal(decimal: value))
            case .date(let value):
                .date(ExactDouble(number: value.timeIntervalSinceReferenceDate))
            case .string(let value): .string(value)
            case .data(let value): .data(value)
            case .uuid(let value): .uuid(value)
            case .url(let value): .url(ExactURL(url: value))
            case .reference(let id): .reference(id)
            case .placed(let id, let position): .placed(Place(target: id, position: position))
            case .list(let values): .list(values)
            case .dictionary(let values):
                .dictionary(
                    values.map { Entry(key: $0, value: $1) }
                        .sorted { $0.key.description < $1.key.description })
            case .codable(let text): .codable(text)
            }
        try coded.encode(to: encoder)
    }
}

private enum Coded: Codable {
    case null
    case bool(Bool)
    case int(Int)
    case uint(UInt64)
    case float(ExactFloat)
    case double(ExactDouble)
    case decimal(ExactDecimal)
    case date(ExactDouble)
    case string(String)
    case data(Data)
    case uuid(UUID)
    case url(ExactURL)
    case reference(ObjectID)
    case placed(Place)
    case list([Value])
    case dictionary([Entry])
    case codable(String)
}

private struct Place: Codable {
    var target: ObjectID
    var position: ListPosition
}

private struct Entry: Codable {
    var key: Value
    var value: Value
}

/// A number; one that is not finite is encoded as its bits in hexadecimal digits, and so is -0,
/// which binary property lists would decode as 0.
private struct ExactDouble: Codable {
    var number: Double

    init(number: Double) { self.number = number }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Double.self) {
            self.number = number
        } else {
            let text = try container.decode(String.self)
            guard let bits = UInt64(text, radix: 16) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "no bits of a number")
            }
            number = Double(bitPattern: bits)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if number.isFinite, number.bitPattern != (-0.0).bitPattern {
            try container.encode(number)
        } else {
            try container.encode(String(number.bitPattern, radix: 16))
        }
    }
}

/// A `Float`, encoded as the `Double` with the same value, or as its bits.
private struct ExactFloat: Codable {
    var number: Float

    init(number: Float) { self.number = number }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Double.self) {
            self.number = Float(number)
        } else {
            let text = try container.decode(String.self)
            guard let bits = UInt32(text, radix: 16) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "no bits of a number")
            }
            number = Float(bitPattern: bits)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if number.isFinite, number.bitPattern != Float(-0.0).bitPattern {
            try container.encode(Double(number))
        } else {
            try container.encode(String(number.bitPattern, radix: 16))
        }
    }
}

/// A decimal as text, because other JSON decoders read numbers as doubles.
private struct ExactDecimal: Codable {
    var decimal: Decimal

    init(decimal: Decimal) { self.decimal = decimal }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let decimal = text == "NaN" ? Decimal.nan : Decimal(string: text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "no decimal number")
        }
        self.decimal = decimal
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(decimal.description)
    }
}

/// A URL and its base.
private struct ExactURL: Codable {
    var url: URL

    private enum CodingKeys: String, CodingKey { case relative, base }

    init(url: URL) { self.url = url }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let relative = try container.decode(String.self, forKey: .relative)
        let base = try container.decodeIfPresent(String.self, forKey: .base)
        guard let url = URL(storedRelative: relative, base: base) else {
            throw DecodingError.dataCorruptedError(
                forKey: .relative, in: container, debugDescription: "no URL")
        }
        self.url = url
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(url.relativeString, forKey: .relative)
        try container.encodeIfPresent(url.baseURL?.absoluteString, forKey: .base)
    }
}

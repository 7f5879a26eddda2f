import FoundationEssentials

// The JSON of values, which the page "JSON for clients" describes: null, true, 3, "text" and lists
// are themselves, every other value is an object whose only key names the type. Unlike a plain
// encoder it represents every value: numbers that are not finite by their bits, decimals by their
// digits.

extension Value: Codable {
    private enum Key: String, CodingKey {
        case uint, float, double, decimal, date, data, uuid, url, reference, placed, dictionary
        case codable
    }

    /// Decodes a value.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        if let plain = Self.plain(decoder) {
            self = plain
            return
        }
        let container = try decoder.container(keyedBy: Key.self)
        guard container.allKeys.count == 1, let key = container.allKeys.first else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "A value has one key, which names its type."))
        }
        func decode<T: Decodable>(_ type: T.Type) throws -> T {
            try container.decode(type, forKey: key)
        }
        self =
            switch key {
            case .uint: .uint(try decode(UInt64.self))
            case .float: .float(try decode(ExactFloat.self).number)
            case .double: .double(try decode(ExactDouble.self).number)
            case .decimal: .decimal(try decode(ExactDecimal.self).decimal)
            case .date: .date(try decode(ExactDate.self).date)
            case .data: .data(try decode(Data.self))
            case .uuid: .uuid(try decode(UUID.self))
            case .url: .url(try decode(ExactURL.self).url)
            case .reference: .reference(try decode(ObjectID.self))
            case .placed: try decode(Place.self).value
            case .dictionary:
                .dictionary(
                    Dictionary(
                        try decode([Entry].self).map { ($0.key, $0.value) },
                        uniquingKeysWith: { $1 }))
            case .codable: .codable(try decode(String.self))
            }
    }

    /// Returns the value of JSON that is not an object; nil for an object.
    private static func plain(_ decoder: any Decoder) -> Value? {
        if let container = try? decoder.singleValueContainer() {
            if container.decodeNil() { return .null }
            if let value = try? container.decode(Bool.self) { return .bool(value) }
            if let value = try? container.decode(Int.self) { return .int(value) }
            if let value = try? container.decode(String.self) { return .string(value) }
        }
        guard var list = try? decoder.unkeyedContainer() else { return nil }
        var values: [Value] = []
        while !list.isAtEnd {
            guard let value = try? list.decode(Value.self) else { return nil }
            values.append(value)
        }
        return .list(values)
    }

    /// Encodes any value, including numbers that are not finite.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        func encode(_ key: Key, _ value: some Encodable) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(value, forKey: key)
        }
        switch self {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value): try value.encode(to: encoder)
        case .int(let value): try value.encode(to: encoder)
        case .string(let value): try value.encode(to: encoder)
        case .list(let values): try values.encode(to: encoder)
        case .uint(let value): try encode(.uint, value)
        case .float(let value): try encode(.float, ExactFloat(number: value))
        case .double(let value): try encode(.double, ExactDouble(number: value))
        case .decimal(let value): try encode(.decimal, ExactDecimal(decimal: value))
        case .date(let value): try encode(.date, ExactDate(date: value))
        case .data(let value): try encode(.data, value)
        case .uuid(let value): try encode(.uuid, value)
        case .url(let value): try encode(.url, ExactURL(url: value))
        case .reference(let id): try encode(.reference, id)
        case .placed(let id, let position):
            try encode(.placed, Place(target: id, position: position))
        case .dictionary(let values):
            try encode(
                .dictionary,
                values.map { Entry(key: $0, value: $1) }
                    .sorted { $0.key.description < $1.key.description })
        case .codable(let text): try encode(.codable, text)
        }
    }
}

private struct Place: Codable {
    var target: ObjectID
    var position: ListPosition

    var value: Value { .placed(target, position) }
}

private struct Entry: Codable {
    var key: Value
    var value: Value
}

/// A date in the form that the encoder has for dates; one that is not finite is encoded as the bits
/// of its seconds.
private struct ExactDate: Codable {
    var date: Date

    init(date: Date) { self.date = date }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let date = try? container.decode(Date.self) {
            self.date = date
        } else {
            let number = try container.decode(ExactDouble.self).number
            date = Date(timeIntervalSinceReferenceDate: number)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let seconds = ExactDouble(number: date.timeIntervalSinceReferenceDate)
        if seconds.isPlain { try container.encode(date) } else { try container.encode(seconds) }
    }
}

/// A number; one that is not finite is encoded as its bits in hexadecimal digits, and so is -0,
/// which binary property lists would decode as 0.
private struct ExactDouble: Codable {
    var number: Double

    init(number: Double) { self.number = number }

    var isPlain: Bool { number.isFinite && number.bitPattern != (-0.0).bitPattern }

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
        if isPlain {
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

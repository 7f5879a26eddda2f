public import FoundationEssentials

/// The types that an attribute can have, with the number that stands for each on disk.
public enum ValueType: UInt8, Sendable, Hashable, Codable, CaseIterable {
    /// `Bool`
    case bool = 1
    /// `Int`, 64 bits
    case int = 2
    /// `Double`; stored by its bits, so that NaN and -0 come back as they were
    case double = 3
    /// `Date`; stored as seconds since 2001, by the bits of the `Double`
    case date = 4
    /// `String`; stored as the UTF-8 bytes it has, not normalised
    case string = 5
    /// `Data`
    case data = 6
    /// `UUID`
    case uuid = 7
    /// a to-one reference: the id of the object
    case reference = 8

    /// True when a value fits the 8 bytes of its slot.
    @inlinable package var isInline: Bool { rawValue <= 4 }

    /// True when a value always has 16 bytes.
    package var isSixteenBytes: Bool { self == .uuid || self == .reference }
}

/// A value of one property, whatever its type: what change sets and violations show.
public enum Value: Sendable, Hashable, Codable {
    /// no value
    case null
    /// a `Bool`
    case bool(Bool)
    /// an `Int`
    case int(Int)
    /// a `Double`
    case double(Double)
    /// a `Date`
    case date(Date)
    /// a `String`
    case string(String)
    /// some `Data`
    case data(Data)
    /// a `UUID`
    case uuid(UUID)
    /// the object with this id
    case reference(ObjectID)

    /// The type; nil for `.null`, which every type has.
    public var type: ValueType? {
        switch self {
        case .null: nil
        case .bool: .bool
        case .int: .int
        case .double: .double
        case .date: .date
        case .string: .string
        case .data: .data
        case .uuid: .uuid
        case .reference: .reference
        }
    }
}

extension Value: CustomStringConvertible {
    /// The value as a person would write it: strings quoted, dates in ISO 8601, data by its size.
    public var description: String {
        switch self {
        case .null: "nil"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .double(let value): "\(value)"
        case .date(let value): value.formatted(.iso8601)
        case .string(let value): "\"\(value)\""
        case .data(let value): "\(value.count) bytes"
        case .uuid(let value): value.uuidString.lowercased()
        case .reference(let id): "\(id)"
        }
    }
}

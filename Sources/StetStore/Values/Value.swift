public import FoundationEssentials

/// A value of one property, of any type, as change sets and violations contain it.
///
/// Two values are equal when they are stored as the same bytes, because a change is a difference of
/// stored bytes: NaN equals the same NaN, 0 does not equal -0, and a precomposed "é" does not equal
/// "e" with a combining accent.
public enum Value: Sendable {
    /// no value
    case null
    /// a `Bool`
    case bool(Bool)
    /// a signed integer of any width
    case int(Int)
    /// an unsigned integer of any width
    case uint(UInt64)
    /// a `Float`
    case float(Float)
    /// a `Double`
    case double(Double)
    /// a `Decimal`
    case decimal(Decimal)
    /// a `Date`
    case date(Date)
    /// a `String`
    case string(String)
    /// a `Data` value
    case data(Data)
    /// a `UUID`
    case uuid(UUID)
    /// a `URL`
    case url(URL)
    /// the object with this id
    case reference(ObjectID)
    /// A to-one relationship with an ordered inverse: the id of the object that it refers to, and
    /// the position among that object's members.
    case placed(ObjectID, ListPosition)
    /// an array, whose elements have one type
    case list([Value])
    /// a dictionary, whose keys have one type, and whose values have one type
    case dictionary([Value: Value])
    /// a `Codable` value as JSON with sorted keys
    case codable(String)

    /// The type, for numbers the widest one; nil for `.null`, which belongs to every type.
    public var type: ValueType? {
        switch self {
        case .null: nil
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .float: .float
        case .double: .double
        case .decimal: .decimal
        case .date: .date
        case .string: .string
        case .data: .data
        case .uuid: .uuid
        case .url: .url
        case .reference, .placed: .reference
        case .list: .list
        case .dictionary: .dictionary
        case .codable: .codable
        }
    }
}

/// The types that an attribute can have; the raw value identifies the type on disk.
public enum ValueType: UInt8, Sendable, Hashable, Codable, CaseIterable {
    /// `Bool`
    case bool = 1
    /// `Int` and `Int64`
    case int = 2
    /// `Double`; stored by its bits, so that NaN and -0 are preserved
    case double = 3
    /// `Date`; stored as seconds since 2001, by the bits of the `Double`
    case date = 4
    /// `String`; stored as its UTF-8 bytes, not normalised
    case string = 5
    /// `Data`
    case data = 6
    /// `UUID`
    case uuid = 7
    /// a to-one reference: the id of the object
    case reference = 8
    /// `Int8`
    case int8 = 9
    /// `Int16`
    case int16 = 10
    /// `Int32`
    case int32 = 11
    /// `UInt` and `UInt64`
    case uint = 12
    /// `UInt8`
    case uint8 = 13
    /// `UInt16`
    case uint16 = 14
    /// `UInt32`
    case uint32 = 15
    /// `Float`; stored by its bits
    case float = 16
    /// `Decimal`; stored without trailing zeros, so that 1.0 equals 1.00
    case decimal = 17
    /// `URL`; stored as its text and the text of its base
    case url = 18
    /// an array of values of one type
    case list = 19
    /// a dictionary with keys of one type and values of one type
    case dictionary = 20
    /// a `Codable` value; stored as JSON with sorted keys
    case codable = 21
    /// an embedded value, as an element of an array
    case embedded = 22

    /// True when a value fits the 8 bytes of its slot.
    @inlinable package var isInline: Bool { 0x1_fe1e &>> UInt32(rawValue) & 1 != 0 }

    /// True when a value has 16 bytes; a reference may have a position after them.
    package var isSixteenBytes: Bool { self == .uuid || self == .reference }

    /// The number of element types: one for a list, two for a dictionary, otherwise none.
    var elementTypeCount: Int { self == .list ? 1 : self == .dictionary ? 2 : 0 }

    /// True when a list can contain elements of this type.
    var isElement: Bool { ![.reference, .list, .dictionary].contains(self) }

    /// True for an integer of any width.
    package var isInteger: Bool { widest == .int || widest == .uint }

    /// The common type of all widths of a number in a `Value`.
    package var widest: ValueType {
        switch self {
        case .int8, .int16, .int32: .int
        case .uint8, .uint16, .uint32: .uint
        default: self
        }
    }
}

extension Value {
    /// The id of the object that the value refers to; nil for other values.
    public var target: ObjectID? {
        switch self {
        case .reference(let id), .placed(let id, _): id
        default: nil
        }
    }
}

extension Value: CustomStringConvertible {
    /// The value as text for people: strings in quotation marks, dates in ISO 8601, data by its
    /// size.
    public var description: String {
        switch self {
        case .null: "nil"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .uint(let value): "\(value)"
        case .float(let value): "\(value)"
        case .double(let value): "\(value)"
        case .decimal(let value): "\(value)"
        case .date(let value): timeText(value.timeIntervalSinceReferenceDate)
        case .string(let value): "\"\(value)\""
        case .data(let value): value.count == 1 ? "1 byte" : "\(value.count) bytes"
        case .uuid(let value): value.uuidString.lowercased()
        case .url(let value): value.absoluteString
        case .reference(let id), .placed(let id, _): "\(id)"
        case .list(let values): "[\(values.map(\.description).joined(separator: ", "))]"
        case .dictionary(let values): Self.description(of: values)
        case .codable(let text): text
        }
    }

    private static func description(of values: [Value: Value]) -> String {
        let entries = values.map { "\($0): \($1)" }.sorted()
        return entries.isEmpty ? "[:]" : "[\(entries.joined(separator: ", "))]"
    }
}

extension Value: Hashable {
    /// Returns whether both values are stored as the same bytes.
    public static func == (one: Value, other: Value) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.int(let one), .int(let other)): one == other
        case (.uint(let one), .uint(let other)): one == other
        case (.float(let one), .float(let other)): one.bitPattern == other.bitPattern
        case (.double(let one), .double(let other)): one.bitPattern == other.bitPattern
        case (.decimal(let one), .decimal(let other)): one == other
        case (.date(let one), .date(let other)): one.word == other.word
        case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
        case (.data(let one), .data(let other)): one == other
        case (.uuid(let one), .uuid(let other)): one == other
        case (.url(let one), .url(let other)):
            one.storedText.utf8.elementsEqual(other.storedText.utf8)
        case (.reference(let one), .reference(let other)): one == other
        case (.placed(let one, let place), .placed(let other, let otherPlace)):
            one == other && place == otherPlace
        case (.list(let one), .list(let other)): one == other
        case (.dictionary(let one), .dictionary(let other)): one == other
        case (.codable(let one), .codable(let other)): one.utf8.elementsEqual(other.utf8)
        default: false
        }
    }

    /// Hashes the stored bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .int(let value): hasher.combine(value)
        case .uint(let value): hasher.combine(value)
        case .float(let value): hasher.combine(value.bitPattern)
        case .double(let value): hasher.combine(value.bitPattern)
        case .decimal(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value.word)
        case .string(let value), .codable(let value): hasher.combine(Array(value.utf8))
        case .data(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .url(let value): hasher.combine(Array(value.storedText.utf8))
        case .reference(let id): hasher.combine(id)
        case .placed(let id, let position):
            hasher.combine(id)
            hasher.combine(position)
        case .list(let values): hasher.combine(values)
        case .dictionary(let values): hasher.combine(values)
        }
    }
}

extension Date {
    /// The bits that its slot contains.
    var word: UInt64 { timeIntervalSinceReferenceDate.bitPattern }
}

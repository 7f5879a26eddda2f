/// The position of a member in an ordered relationship: bytes that sort as the members do.
///
/// A whole number of 8 bytes, its sign bit inverted, followed by a fraction in digits of a byte
/// whose last digit is not 0. There is always a position before the first and after the last
/// member, and usually one between two; where there is none, the neighbours get new positions.
public struct ListPosition: Hashable, Sendable {
    /// The eight bytes and the fraction, in the only valid form of a position.
    package let bytes: [UInt8]

    /// The greatest length of a position, in bytes.
    package static let byteLimit = 64
    private static let wholeByteCount = 8
    /// The distance between members that are appended.
    private static let step: Int64 = 1 << 20

    /// The position of the first member of a list.
    package static let first = ListPosition(whole: 0)

    private init(whole: Int64, fraction: [UInt8] = []) {
        let word = UInt64(bitPattern: whole) ^ 1 << 63
        bytes = withUnsafeBytes(of: word.bigEndian) { Array($0) } + fraction
    }

    /// Creates the position with these bytes; nil for bytes that are not a position.
    ///
    /// A fraction does not end with 0, and the least whole number needs a fraction, so that there
    /// is always a position before another one.
    package init?(bytes: some Collection<UInt8>) {
        guard (Self.wholeByteCount...Self.byteLimit).contains(bytes.count),
            bytes.count == Self.wholeByteCount
                ? bytes.contains(where: { $0 != 0 }) : Array(bytes).last != 0
        else { return nil }
        self.bytes = Array(bytes)
    }

    private var whole: Int64 {
        let word = bytes.prefix(Self.wholeByteCount).reduce(0) { $0 << 8 | UInt64($1) }
        return Int64(bitPattern: word ^ 1 << 63)
    }

    private var fraction: ArraySlice<UInt8> { bytes.dropFirst(Self.wholeByteCount) }

    // MARK: Between others

    /// Returns a position between two others; nil stands for an end of the list.
    ///
    /// - Returns: The position; nil when there is none, or it would be too long.
    package static func between(_ lower: ListPosition?, _ upper: ListPosition?) -> ListPosition? {
        let middle: ListPosition
        switch (lower, upper) {
        case (nil, nil): return first
        case (let lower?, nil): middle = lower.successor
        case (nil, let upper?): middle = upper.predecessor
        case (let lower?, let upper?):
            guard lower < upper else { return nil }
            middle = lower.middle(upper)
        }
        return middle.bytes.count <= byteLimit ? middle : nil
    }

    /// Returns a number of positions between two others, in ascending order.
    ///
    /// - Returns: The positions; nil when there are not enough.
    package static func spread(
        _ count: Int, between lower: ListPosition?, and upper: ListPosition?
    ) -> [ListPosition]? {
        if count == 0 { return [] }
        guard let lower, let upper else {
            var positions: [ListPosition] = []
            for _ in 0..<count {
                let next =
                    lower == nil && upper != nil
                    ? between(nil, positions.last ?? upper)
                    : between(positions.last ?? lower, nil)
                guard let next else { return nil }
                positions.append(next)
            }
            return lower == nil && upper != nil ? positions.reversed() : positions
        }
        guard let middle = between(lower, upper),
            let left = spread(count / 2, between: lower, and: middle),
            let right = spread(count - 1 - count / 2, between: middle, and: upper)
        else { return nil }
        return left + [middle] + right
    }

    private var successor: ListPosition {
        let (next, isBeyond) = whole.addingReportingOverflow(Self.step)
        return isBeyond
            ? ListPosition(whole: whole, fraction: Self.middle(fraction, nil))
            : ListPosition(whole: next)
    }

    private var predecessor: ListPosition {
        let (previous, isBeyond) = whole.subtractingReportingOverflow(Self.step)
        if !isBeyond, previous > .min { return ListPosition(whole: previous) }
        // The least whole number occurs only with a fraction, so `whole - 1` cannot overflow.
        return fraction.isEmpty
            ? ListPosition(whole: whole - 1, fraction: Self.middle([], nil))
            : ListPosition(whole: whole, fraction: Self.middle([], fraction))
    }

    private func middle(_ upper: ListPosition) -> ListPosition {
        let (distance, overflows) = upper.whole.subtractingReportingOverflow(whole)
        if overflows { return .first }
        if distance > 1 { return ListPosition(whole: whole + distance / 2) }
        return ListPosition(
            whole: whole, fraction: Self.middle(fraction, distance == 0 ? upper.fraction : nil))
    }

    /// Returns a fraction between two others, the second of which is greater; nil stands for 1.
    ///
    /// No fraction ends with 0, so that there is a digit in which the two differ.
    private static func middle(
        _ lower: ArraySlice<UInt8>, _ upper: ArraySlice<UInt8>?
    ) -> [UInt8] {
        var digits: [UInt8] = []
        var lower = lower
        var upper = upper
        while true {
            let low = Int(lower.popFirst() ?? 0)
            let high = upper == nil ? 256 : Int(upper?.popFirst() ?? 0)
            if high - low > 1 {
                digits.append(UInt8((low + high) / 2))
                return digits
            }
            digits.append(UInt8(low))
            // After a smaller digit every continuation is below the upper bound.
            if high > low { upper = nil }
        }
    }
}

extension ListPosition: Comparable {
    /// Compares two positions by the order of the members.
    public static func < (one: ListPosition, other: ListPosition) -> Bool {
        one.bytes.lexicographicallyPrecedes(other.bytes)
    }
}

extension ListPosition: CustomStringConvertible {
    /// The bytes in hexadecimal digits.
    public var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Creates the position with a `description`; nil for other text.
    package init?(description text: String) {
        let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil), text == text.lowercased()
        else { return nil }
        let values = digits.compactMap { $0 }
        let bytes = stride(from: 0, to: values.count, by: 2).map {
            UInt8(values[$0] << 4 | values[$0 + 1])
        }
        self.init(bytes: bytes)
    }
}

extension ListPosition: Codable {
    /// Decodes the text of a position.
    ///
    /// - Throws: `DecodingError` for text that is not a position.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let position = ListPosition(description: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not the position of a member")
        }
        self = position
    }

    /// Encodes the position as text.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

package import FoundationEssentials

/// Where a member of an ordered relationship stands: bytes that sort as the members do.
///
/// A whole number of 8 bytes, its sign turned over, and behind it a fraction in digits of a byte
/// without a 0 at its end. There is always a place before, behind and between; at the ends, and as
/// a rule between, it has no fraction.
package struct ListPosition: Hashable, Comparable, Sendable {
    private let whole: Int64
    private let fraction: [UInt8]
    /// What lies between members that are appended.
    private static let step: Int64 = 1 << 20

    private init(_ whole: Int64, _ fraction: [UInt8] = []) {
        self.whole = whole
        self.fraction = fraction
    }

    /// Of the first member.
    package static let first = ListPosition(0)

    /// Bytes of another length are taken for what they begin with.
    package init(_ bytes: Data) {
        var word: UInt64 = 0
        for byte in bytes.prefix(8) { word = word << 8 | UInt64(byte) }
        whole = Int64(bitPattern: word ^ 1 << 63)
        fraction = Array(bytes.dropFirst(8))
    }

    /// What a link has.
    package var bytes: Data {
        let word = UInt64(bitPattern: whole) ^ 1 << 63
        return Data((0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } + fraction)
    }

    /// The order of the members.
    package static func < (one: ListPosition, other: ListPosition) -> Bool {
        one.whole != other.whole
            ? one.whole < other.whole : one.fraction.lexicographicallyPrecedes(other.fraction)
    }

    /// A position between two; nil stands for the end of the list there.
    ///
    /// - Precondition: `lower` < `upper`.
    package static func between(_ lower: ListPosition?, _ upper: ListPosition?) -> ListPosition {
        switch (lower, upper) {
        case (nil, nil): return first
        case (let lower?, nil):
            let (next, isBeyond) = lower.whole.addingReportingOverflow(step)
            return isBeyond
                ? ListPosition(lower.whole, middle(lower.fraction, nil)) : ListPosition(next)
        case (nil, let upper?):
            let (previous, isBeyond) = upper.whole.subtractingReportingOverflow(step)
            return isBeyond
                ? ListPosition(upper.whole, middle([], upper.fraction)) : ListPosition(previous)
        case (let lower?, let upper?):
            let distance = upper.whole.subtractingReportingOverflow(lower.whole)
            if distance.overflow { return first }
            if distance.partialValue > 1 {
                return ListPosition(lower.whole + distance.partialValue / 2)
            }
            let isSame = distance.partialValue == 0
            return ListPosition(lower.whole, middle(lower.fraction, isSame ? upper.fraction : nil))
        }
    }

    /// A fraction between two; nil stands for 1.
    private static func middle(_ lower: [UInt8], _ upper: [UInt8]?) -> [UInt8] {
        var digits: [UInt8] = []
        var upper = upper
        for index in 0... {
            let low = index < lower.count ? Int(lower[index]) : 0
            let high = upper.map { index < $0.count ? Int($0[index]) : 0 } ?? 256
            if high - low > 1 {
                digits.append(UInt8((low + high) / 2))
                return digits
            }
            digits.append(UInt8(low))
            // Behind a smaller digit anything is below the upper one.
            if high > low { upper = nil }
        }
        return digits
    }
}

import FoundationEssentials
import Glibc

extension QueryNode.Comparison {
    /// The comparison with its sides exchanged.
    package var flipped: Self {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }

    @inline(__always)
    func holds<Operand: Comparable>(_ left: Operand, _ right: Operand) -> Bool {
        switch self {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }

    /// Returns the result for two things, the first of which is below (-1), at (0) or above (1) the
    /// other.
    func holds(_ order: Int) -> Bool { holds(order, 0) }

    package func holds(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .equal: return left.isEqual(to: right)
        case .notEqual: return !left.isEqual(to: right)
        default: break
        }
        return switch (left, right) {
        case (.int(let left), .int(let right)): holds(left, right)
        case (.uint(let left), .uint(let right)): holds(left, right)
        case (.double(let left), .double(let right)): holds(left, right)
        case (.float(let left), .float(let right)): holds(left, right)
        case (.decimal(let left), .decimal(let right)):
            left.isNaN || right.isNaN ? false : holds(left, right)
        case (.date(let left), .date(let right)):
            // `Date` returns true for every `<=` with NaN.
            holds(left.timeIntervalSinceReferenceDate, right.timeIntervalSinceReferenceDate)
        case (.string(let left), .string(let right)): holds(left, right)
        case (.uuid, .uuid), (.reference, .reference), (.data, .data), (.url, .url),
            (.bool, .bool):
            holds(left.keyOrder(to: right))
        default: false
        }
    }
}

extension Value {
    /// Returns whether Swift's `==` is true for the values themselves.
    func isEqual(to other: Value) -> Bool {
        switch (self, other) {
        case (.double(let one), .double(let other)): one == other
        case (.float(let one), .float(let other)): one == other
        case (.date(let one), .date(let other)): one == other
        case (.decimal(let one), .decimal(let other)): !one.isNaN && one == other
        case (.string(let one), .string(let other)): one == other
        case (.list(let ones), .list(let others)):
            ones.count == others.count && zip(ones, others).allSatisfy { $0.isEqual(to: $1) }
        case (.dictionary(let ones), .dictionary(let others)):
            ones.count == others.count
                && ones.allSatisfy { key, value in others[key]?.isEqual(to: value) ?? false }
        default: self == other
        }
    }

    /// True for a value that does not equal itself.
    package var isNaN: Bool { !isEqual(to: self) }

    fileprivate func keyOrder(to other: Value) -> Int {
        var (one, two): ([UInt8], [UInt8]) = ([], [])
        guard OrderedKey.append(self, to: &one), OrderedKey.append(other, to: &two) else {
            return 0
        }
        return one.withUnsafeBytes { one in two.withUnsafeBytes { one.order(to: $0) } }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns whether these bytes come before (-1), with (0) or after (1) others.
    func order(to other: UnsafeRawBufferPointer) -> Int {
        let common = Swift.min(count, other.count)
        if common > 0 {
            let order = memcmp(baseAddress!, other.baseAddress!, common)
            if order != 0 { return order < 0 ? -1 : 1 }
        }
        return count == other.count ? 0 : count < other.count ? -1 : 1
    }
}

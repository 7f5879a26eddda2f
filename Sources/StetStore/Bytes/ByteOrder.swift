/// Sorts parts of an array by their bytes, none of which is another one with zeros at its end.
package enum ByteOrder {
    /// The beginning of a part as two numbers, padded with zeros: they decide most comparisons,
    /// without access to bytes anywhere in memory.
    private struct SortKey {
        let first: UInt64
        let second: UInt64
        /// The index of the part.
        let index: Int
        /// True when the two numbers contain the whole part.
        let isWhole: Bool

        init(_ bytes: UnsafeRawBufferPointer, _ part: Range<Int>, _ index: Int) {
            func number(at offset: Int) -> UInt64 {
                var number: UInt64 = 0
                let start = part.lowerBound + offset
                if start + 8 <= bytes.count {
                    number = UInt64(
                        bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
                    let bits = 8 * min(max(part.count - offset, 0), 8)
                    return number & ~(UInt64.max >> UInt64(bits))
                }
                for place in start..<start + 8 {
                    let byte = place < part.upperBound ? bytes[place] : 0
                    number = number << 8 | UInt64(byte)
                }
                return number
            }
            first = number(at: 0)
            second = number(at: 8)
            self.index = index
            isWhole = part.count <= 16
        }
    }

    /// Returns the indexes of parts in the order of their bytes; equal parts keep their order.
    package static func sorted(_ bytes: [UInt8], _ parts: [Range<Int>]) -> [Int] {
        bytes.withUnsafeBytes { bytes in
            var keys = parts.indices.map { SortKey(bytes, parts[$0], $0) }
            keys.sort { one, other in
                if one.first != other.first { return one.first < other.first }
                if one.second != other.second { return one.second < other.second }
                if one.isWhole, other.isWhole { return one.index < other.index }
                let order = UnsafeRawBufferPointer(rebasing: bytes[parts[one.index]])
                    .compare(UnsafeRawBufferPointer(rebasing: bytes[parts[other.index]]))
                return order == 0 ? one.index < other.index : order < 0
            }
            return keys.map(\.index)
        }
    }
}

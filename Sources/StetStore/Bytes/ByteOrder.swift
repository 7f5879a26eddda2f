/// Sorts parts of an array by their bytes; no part is the beginning of another one that has a zero
/// behind it.
///
/// Eight bytes at a time, as numbers, after the bytes that all parts have in common: where two
/// numbers are equal, the next eight bytes of these parts decide.
package struct ByteOrder: ~Copyable {
    private let bytes: UnsafeRawBufferPointer
    private let parts: UnsafeBufferPointer<Range<Int>>
    private let order: NumberOrder

    /// Returns the indexes of parts in the order of their bytes; equal parts keep their order.
    ///
    /// - Complexity: O(bytes of the parts), unless each of many is the beginning of the next.
    package static func sorted(_ bytes: [UInt8], _ parts: [Range<Int>]) -> [Int] {
        bytes.withUnsafeBytes { bytes in
            parts.withUnsafeBufferPointer { parts in
                let order = ByteOrder(bytes, parts)
                order.sort()
                return order.order.places
            }
        }
    }

    private init(_ bytes: UnsafeRawBufferPointer, _ parts: UnsafeBufferPointer<Range<Int>>) {
        self.bytes = bytes
        self.parts = parts
        order = NumberOrder(count: parts.count)
    }

    private borrowing func sort() {
        // Not by recursion: parts with long common beginnings would need a large stack.
        var waiting = [(range: parts.indices, offset: 0)]
        while let (range, start) = waiting.popLast() {
            guard let offset = firstDifference(range, from: start) else { continue }
            for place in range {
                let part = parts[order.entries[place].place]
                order.entries[place].number = number(of: part, at: offset)
            }
            order.sort(range)
            order.forEachRun(in: range) { waiting.append(($0, offset + 8)) }
        }
    }

    /// Returns the offset of the first byte that is not the same in all parts of a range; nil when
    /// the parts are equal.
    private borrowing func firstDifference(_ range: Range<Int>, from offset: Int) -> Int? {
        guard let place = range.first else { return nil }
        let first = parts[order.entries[place].place]
        var (shortest, longest, equal) = (first.count, first.count, first.count)
        for place in range.dropFirst() {
            let part = parts[order.entries[place].place]
            shortest = min(shortest, part.count)
            longest = max(longest, part.count)
            equal = equalCount(first, part, from: offset, upTo: min(equal, shortest))
        }
        return equal < longest ? equal : nil
    }

    /// Returns how many of the first bytes of two parts are equal, as those before an offset are.
    @inline(__always)
    private borrowing func equalCount(
        _ one: Range<Int>, _ other: Range<Int>, from offset: Int, upTo end: Int
    ) -> Int {
        var count = offset
        while count + 8 <= end {
            let difference = word(at: one.lowerBound + count) ^ word(at: other.lowerBound + count)
            if difference != 0 { return count + difference.leadingZeroBitCount / 8 }
            count += 8
        }
        while count < end, bytes[one.lowerBound + count] == bytes[other.lowerBound + count] {
            count += 1
        }
        return count
    }

    /// Returns eight bytes of a part as a number, with zeros behind its end.
    @inline(__always)
    private borrowing func number(of part: Range<Int>, at offset: Int) -> UInt64 {
        let start = part.lowerBound + offset
        if start + 8 <= bytes.count {
            let bits = 8 * min(max(part.count - offset, 0), 8)
            return word(at: start) & ~(UInt64.max >> UInt64(bits))
        }
        var number: UInt64 = 0
        for place in start..<start + 8 {
            let byte = place < part.upperBound ? bytes[place] : 0
            number = number << 8 | UInt64(byte)
        }
        return number
    }

    @inline(__always)
    private borrowing func word(at place: Int) -> UInt64 {
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
}

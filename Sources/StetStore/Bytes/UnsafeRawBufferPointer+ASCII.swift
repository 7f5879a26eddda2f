extension UnsafeRawBufferPointer {
    /// True when all bytes are ASCII.
    @inlinable
    var isASCII: Bool {
        var offset = 0
        var seen: UInt64 = 0
        while offset &+ 8 <= count {
            seen |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        while offset < count {
            seen |= UInt64(self[offset])
            offset &+= 1
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }

    /// Returns the offset of the first byte from an offset on that is not ASCII; the number of
    /// bytes when there is none.
    func beyondASCII(from start: Int) -> Int {
        var place = start
        while place + 8 <= count,
            loadUnaligned(fromByteOffset: place, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        {
            place += 8
        }
        while place < count, self[place] < 0x80 { place += 1 }
        return place
    }
}

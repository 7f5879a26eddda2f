/// The keys of the tree of members: number of the end, owner, and the place of the chunk's first
/// entry, which the key of an owner's first chunk omits.
package enum MemberKey {
    static let prefixByteCount = 18

    /// Returns the key of an owner's first chunk, with which all of the owner's keys begin.
    package static func prefix(_ end: EndNumber, _ owner: ObjectID) -> [UInt8] {
        var bytes = prefix(ofEnd: end)
        bytes.reserveCapacity(prefixByteCount)
        owner.append(to: &bytes)
        return bytes
    }

    /// Calls `body` with the bytes that `prefix` returns, which are then on the stack.
    static func withPrefix<Result>(
        _ end: EndNumber, _ owner: ObjectID,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        try withUnsafeTemporaryAllocation(byteCount: prefixByteCount, alignment: 2) { bytes in
            bytes.storeBytes(of: end.rawValue.bigEndian, as: UInt16.self)
            owner.store(to: bytes.baseAddress! + 2)
            return try body(UnsafeRawBufferPointer(bytes))
        }
    }

    /// Returns the bytes with which all keys of an end begin.
    static func prefix(ofEnd end: EndNumber) -> [UInt8] {
        withUnsafeBytes(of: end.rawValue.bigEndian) { Array($0) }
    }

    /// Appends the place of an entry: its id or, where the end is ordered, position and id.
    static func appendPlace(
        _ id: ObjectID, _ position: UnsafeRawBufferPointer, _ layout: MemberLayout,
        to bytes: inout [UInt8]
    ) {
        if layout.isOrdered {
            // The terminator keeps a position from being a prefix of another one.
            for byte in position {
                bytes.append(byte)
                if byte == 0 { bytes.append(1) }
            }
            bytes.append(0)
            bytes.append(0)
        }
        id.append(to: &bytes)
    }

    /// Returns end and owner of a key.
    package static func decode(_ key: UnsafeRawBufferPointer) throws(DecodingFailure) -> (
        end: EndNumber, owner: ObjectID
    ) {
        guard key.count >= prefixByteCount else {
            throw DecodingFailure("a key of members of \(key.count) bytes")
        }
        return (
            EndNumber(UInt16(bigEndian: key.loadUnaligned(as: UInt16.self))),
            ObjectID(bytes: UnsafeRawBufferPointer(rebasing: key[2..<prefixByteCount]))
        )
    }
}

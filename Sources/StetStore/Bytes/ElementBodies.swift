/// The bodies of the elements in the bytes of an array of embedded values.
///
/// The bytes are those of any list: the type of the elements, their number, and each after its
/// length; none for an empty list.
package struct ElementBodies: Sequence {
    private let bodies: [UnsafeRawBufferPointer]

    /// - Throws: `DecodingFailure` when the bytes are no such array.
    package init(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
        var bodies: [UnsafeRawBufferPointer] = []
        if !bytes.isEmpty {
            var reader = ByteReader(bytes)
            guard try reader.read(UInt8.self) == ValueType.embedded.rawValue else {
                throw DecodingFailure("elements that are no embedded values")
            }
            let count = Int(try reader.read(UInt32.self))
            guard count > 0, count <= reader.remaining / 4 else {
                throw DecodingFailure("\(count) elements in \(reader.remaining) bytes")
            }
            bodies.reserveCapacity(count)
            for _ in 0..<count {
                bodies.append(try reader.read(byteCount: Int(try reader.read(UInt32.self))))
            }
            try reader.expectEnd()
        }
        self.bodies = bodies
    }

    /// The number of elements.
    package var count: Int { bodies.count }

    package func makeIterator() -> IndexingIterator<[UnsafeRawBufferPointer]> {
        bodies.makeIterator()
    }

    /// Returns the bytes of an array with these bodies.
    static func joined(_ bodies: [[UInt8]]) -> [UInt8] {
        if bodies.isEmpty { return [] }
        var bytes = [ValueType.embedded.rawValue]
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: bodies.count))
        for body in bodies {
            bytes.append(littleEndian: UInt32(truncatingIfNeeded: body.count))
            bytes += body
        }
        return bytes
    }
}

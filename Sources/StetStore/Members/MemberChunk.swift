import StetLMDB

/// A part of the list of an owner's members, as one value of the tree of members.
///
/// Value: checksum u32, number of present members u16, number of entries u16, then the entries.
package struct MemberChunk {
    package static let headerByteCount = 8
    /// The greatest number of bytes of entries in a chunk: three chunks fit a page of 4 KiB.
    package static let byteLimit = 1_200

    /// The number of present members, without entries of removed ones.
    package let presentCount: Int
    package let entryCount: Int
    package private(set) var entries: MemberEntries

    /// - Throws: `DecodingFailure` when the value does not match its checksum.
    package init(
        decoding value: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer,
        _ layout: MemberLayout
    ) throws(DecodingFailure) {
        var reader = ByteReader(value)
        let checksum: UInt32 = try reader.read()
        guard checksum == Self.checksum(of: value, at: key) else {
            throw DecodingFailure("a list of members does not match its checksum")
        }
        presentCount = Int(try reader.read(UInt16.self))
        entryCount = Int(try reader.read(UInt16.self))
        entries = MemberEntries(
            UnsafeRawBufferPointer(rebasing: value[Self.headerByteCount...]), layout)
    }

    /// Returns the checksum, which covers the key, so that a chunk under a wrong key is found.
    private static func checksum(
        of value: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer
    ) -> UInt32 {
        let seed = Checksum.hash(key, seed: 0)
        let bytes = UnsafeRawBufferPointer(rebasing: value[4...])
        return UInt32(truncatingIfNeeded: Checksum.hash(bytes, seed: seed))
    }

    /// Fills a value that is `headerByteCount` bytes longer than the entries.
    package static func store(
        _ entries: UnsafeRawBufferPointer, count: Int, presentCount: Int,
        in value: UnsafeMutableRawBufferPointer, at key: UnsafeRawBufferPointer
    ) {
        value.storeBytes(of: UInt16(presentCount).littleEndian, toByteOffset: 4, as: UInt16.self)
        value.storeBytes(of: UInt16(count).littleEndian, toByteOffset: 6, as: UInt16.self)
        UnsafeMutableRawBufferPointer(rebasing: value[headerByteCount...])
            .copyMemory(from: entries)
        let checksum = checksum(of: UnsafeRawBufferPointer(value), at: key)
        value.storeBytes(of: checksum.littleEndian, toByteOffset: 0, as: UInt32.self)
    }
}

/// The entry of one member in a list.
package struct MemberEntry {
    package let id: ObjectID
    /// The revision of the last change of the membership; 0 where the end does not record it.
    package let revision: Revision
    /// True for a former member, which is kept for reads of the past.
    package let isRemoved: Bool
    /// The position of the member; empty where the list has no order.
    package let position: UnsafeRawBufferPointer
    /// The entry as it is stored.
    package let bytes: UnsafeRawBufferPointer
}

extension MemberEntry {
    static func append(
        _ id: ObjectID, _ revision: Revision, isRemoved: Bool, _ position: ListPosition?,
        _ layout: MemberLayout, to buffer: inout ByteBuffer
    ) {
        buffer.append(id)
        if layout.hasState { buffer.append(revision.number << 1 | (isRemoved ? 1 : 0)) }
        guard layout.hasPosition else { return }
        buffer.append(UInt8(position?.bytes.count ?? 0))
        position?.bytes.withUnsafeBytes { buffer.append($0) }
    }

    /// Whether the object is a member, and its position.
    ///
    /// - Throws: `DecodingFailure` when its position is invalid.
    package var membership: Membership {
        get throws(DecodingFailure) {
            if isRemoved { return .absent }
            if position.isEmpty { return .present(nil) }
            guard let position = ListPosition(bytes: position) else {
                throw DecodingFailure("a position of a member that is not one")
            }
            return .present(position)
        }
    }
}

/// The entries of a chunk, one after another.
package struct MemberEntries {
    private var reader: ByteReader
    private let layout: MemberLayout

    package init(_ bytes: UnsafeRawBufferPointer, _ layout: MemberLayout) {
        reader = ByteReader(bytes)
        self.layout = layout
    }

    /// Returns the next entry; nil at the end.
    package mutating func next() throws(DecodingFailure) -> MemberEntry? {
        if reader.remaining == 0 { return nil }
        let start = reader.offset
        let id = try reader.readObjectID()
        let state: UInt64 = layout.hasState ? try reader.read() : 0
        var position = UnsafeRawBufferPointer(start: nil, count: 0)
        if layout.hasPosition {
            position = try reader.read(byteCount: Int(try reader.read(UInt8.self)))
            guard !position.isEmpty || state & 1 != 0 else {
                throw DecodingFailure("a member of an ordered relationship without a position")
            }
        }
        return MemberEntry(
            id: id, revision: Revision(state >> 1), isRemoved: state & 1 != 0, position: position,
            bytes: UnsafeRawBufferPointer(rebasing: reader.bytes[start..<reader.offset]))
    }
}

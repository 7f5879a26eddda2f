/// The state that a log continues: a tree of LMDB that is on the disk as a whole, with the meta
/// pages that lead to it.
///
/// It is stored twice at the head of the log's file, so that one bad sector does not lose it.
package struct LogSlot: Hashable, Sendable {
    /// The generation of the log that begins with it.
    package var generation: UInt64
    /// The transaction that made the tree.
    package var transaction: UInt64
    /// The last commit in the tree.
    package var revision: Revision
    /// The hash of the last frame before the log, or of none.
    package var chain: UInt64
    /// The first bytes of LMDB's two meta pages.
    package var metaPages: [[UInt8]]

    package init(
        generation: UInt64, transaction: UInt64, revision: Revision, chain: UInt64,
        metaPages: [[UInt8]]
    ) {
        self.generation = generation
        self.transaction = transaction
        self.revision = revision
        self.chain = chain
        self.metaPages = metaPages
    }

    private static let magic: UInt64 = 0x4C47_5445_5453_4C53
    private static let format: UInt32 = 1
    /// The distance of the two copies, which is a multiple of every sector's size.
    private static let copyByteCount = 4_096
    /// The bytes at the head of a log's file that belong to its slot.
    static let headByteCount = 2 * copyByteCount

    /// Returns the bytes of both copies.
    ///
    /// - Parameter seed: a number that distinguishes the logs of different stores.
    /// - Returns: `headByteCount` bytes.
    func encoded(seed: UInt64) -> [UInt8] {
        var copy = ByteBuffer()
        copy.append(Self.magic)
        copy.append(Self.format)
        copy.append(generation)
        copy.append(transaction)
        copy.append(revision.number)
        copy.append(chain)
        copy.append(UInt8(metaPages.count))
        for page in metaPages {
            copy.append(UInt16(page.count))
            page.withUnsafeBytes { copy.append($0) }
        }
        copy.append(Checksum.hash(copy.bytes, seed: seed))
        trap(unless: copy.bytes.count <= Self.copyByteCount, "a slot fits into a page")
        var bytes = [UInt8](copy.bytes)
        bytes += [UInt8](repeating: 0, count: Self.copyByteCount - bytes.count)
        return bytes + bytes
    }

    /// Returns the slot at the head of a file, or nil when neither copy is whole.
    static func decoding(_ head: [UInt8], seed: UInt64) -> LogSlot? {
        for start in stride(from: 0, to: head.count, by: copyByteCount) {
            let copy = head[start..<min(start + copyByteCount, head.count)]
            let slot = copy.withUnsafeBytes { try? LogSlot(decoding: $0, seed: seed) }
            if let slot { return slot }
        }
        return nil
    }

    private init(decoding bytes: UnsafeRawBufferPointer, seed: UInt64) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        guard try reader.read(UInt64.self) == Self.magic, try reader.read() == Self.format else {
            throw DecodingFailure("there is no slot")
        }
        generation = try reader.read()
        transaction = try reader.read()
        revision = Revision(try reader.read())
        chain = try reader.read()
        metaPages = []
        for _ in 0..<(try reader.read(UInt8.self)) {
            let count = Int(try reader.read(UInt16.self))
            metaPages.append(Array(try reader.read(byteCount: count)))
        }
        let checked = UnsafeRawBufferPointer(rebasing: bytes.prefix(reader.offset))
        guard try reader.read() == Checksum.hash(checked, seed: seed) else {
            throw DecodingFailure("a slot does not match its checksum")
        }
    }
}

/// The state that a log continues: a tree of LMDB that is on the disk as a whole, with the meta
/// pages that lead to it.
///
/// It is stored twice at the head of the log's file, so that one bad sector does not lose it.
package struct LogSlot: Hashable, Sendable {
    /// The generation of the log that begins with it.
    package var generation: UInt64
    /// LMDB's number of the transaction that made the tree.
    package var transaction: UInt64
    /// The number of the last frame in the tree.
    package var sequence: UInt64
    /// The hash of the last frame before the log, or of none.
    package var chain: UInt64
    /// The number of bytes that the disk writes at once: a power cut may damage all of them.
    package var sectorByteCount: Int
    /// The first bytes of LMDB's two meta pages.
    package var metaPages: [[UInt8]]

    package init(
        generation: UInt64, transaction: UInt64, sequence: UInt64, chain: UInt64,
        sectorByteCount: Int, metaPages: [[UInt8]]
    ) {
        self.generation = generation
        self.transaction = transaction
        self.sequence = sequence
        self.chain = chain
        self.sectorByteCount = sectorByteCount
        self.metaPages = metaPages
    }

    private static let magic: UInt64 = 0x4C47_5445_5453_4C53
    private static let format: UInt64 = 1
    private static let fieldCount = 7
    static let longestSectorByteCount: UInt64 = 1 << 16
    private static let metaPageByteCount = Format.metaByteCount
    private static let hashOffset = fieldCount * 8 + Format.metaPageCount * metaPageByteCount
    /// The distance of the two copies, which is a multiple of every sector's size.
    private static let copyByteCount = 4_096
    /// The bytes at the head of a log's file that belong to its slot.
    static let headByteCount = 2 * copyByteCount

    /// Returns the bytes of both copies.
    ///
    /// - Parameter seed: a number that distinguishes logs.
    /// - Returns: `headByteCount` bytes.
    func encoded(seed: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headByteCount)
        let sector = UInt64(sectorByteCount)
        for word in [Self.magic, Self.format, generation, transaction, sequence, chain, sector] {
            withUnsafeBytes(of: word.littleEndian) { bytes += $0 }
        }
        for page in metaPages { bytes += page }
        let hash = bytes.withUnsafeBytes { Checksum.hash($0, seed: seed) }
        withUnsafeBytes(of: hash.littleEndian) { bytes += $0 }
        bytes += [UInt8](repeating: 0, count: Self.copyByteCount - bytes.count)
        return bytes + bytes
    }

    /// Returns the slot at the head of a file, or nil when neither copy is whole.
    static func decoding(_ head: [UInt8], seed: UInt64) -> LogSlot? {
        for start in stride(from: 0, to: head.count, by: copyByteCount) {
            let copy = Array(head[start..<min(start + copyByteCount, head.count)])
            if let slot = LogSlot(decoding: copy, seed: seed) { return slot }
        }
        return nil
    }

    private init?(decoding bytes: [UInt8], seed: UInt64) {
        guard bytes.count >= Self.hashOffset + 8 else { return nil }
        let hash = bytes.withUnsafeBytes {
            Checksum.hash(UnsafeRawBufferPointer(rebasing: $0[..<Self.hashOffset]), seed: seed)
        }
        let words = (0..<Self.fieldCount).compactMap { bytes.integer(at: $0 * 8, as: UInt64.self) }
        guard words.count == Self.fieldCount, words[0] == Self.magic, words[1] == Self.format,
            bytes.integer(at: Self.hashOffset, as: UInt64.self) == hash,
            words[6] > 0, words[6] <= Self.longestSectorByteCount
        else { return nil }
        generation = words[2]
        transaction = words[3]
        sequence = words[4]
        chain = words[5]
        sectorByteCount = Int(words[6])
        metaPages = (0..<Format.metaPageCount).map { page in
            let start = Self.fieldCount * 8 + page * Self.metaPageByteCount
            return Array(bytes[start..<start + Self.metaPageByteCount])
        }
    }
}

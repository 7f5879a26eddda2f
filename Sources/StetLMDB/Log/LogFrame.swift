/// The head of a frame, whose payload is one write transaction.
///
/// A frame begins at a sector. Its hash covers the head and the payload; a frame is part of the log
/// only where it names the hash of the frame before it.
struct LogFrame {
    let generation: UInt64
    /// The number of the transaction, counted from the beginning of the log.
    let sequence: UInt64
    /// The hash of the frame before.
    let chain: UInt64
    /// The newest generation with a durable slot at the time of writing.
    let durableGeneration: UInt64
    let payloadByteCount: Int

    private static let magic: UInt64 = 0x4653_544C
    static let byteCount = 48
    private static let hashOffset = 40
    /// The greatest number of bytes of a payload.
    static let payloadLimit = 1 << 26

    /// Writes the frame into the room that a buffer has for it.
    ///
    /// - Returns: the frame's hash.
    func write(to buffer: FrameBuffer, seed: UInt64) -> UInt64 {
        let head = buffer.bytes
        let words = [
            Self.magic | UInt64(payloadByteCount) << 32, generation, sequence, chain,
            durableGeneration,
        ]
        for (place, word) in words.enumerated() {
            head.storeBytes(of: word.littleEndian, toByteOffset: place * 8, as: UInt64.self)
        }
        let hash = Self.hash(UnsafeRawBufferPointer(head), buffer.payload, seed: seed)
        head.storeBytes(of: hash.littleEndian, toByteOffset: Self.hashOffset, as: UInt64.self)
        return hash
    }

    init(
        generation: UInt64, sequence: UInt64, chain: UInt64, durableGeneration: UInt64,
        payloadByteCount: Int
    ) {
        self.generation = generation
        self.sequence = sequence
        self.chain = chain
        self.durableGeneration = durableGeneration
        self.payloadByteCount = payloadByteCount
    }

    /// Reads the head of a frame, and the hash that it states; nil when there is none.
    init?(decoding bytes: UnsafeRawBufferPointer, hash: inout UInt64) {
        guard bytes.count >= Self.byteCount else { return nil }
        func word(_ place: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place * 8, as: UInt64.self))
        }
        let count = Int(word(0) >> 32)
        guard word(0) & 0xFFFF_FFFF == Self.magic, count <= Self.payloadLimit else { return nil }
        generation = word(1)
        sequence = word(2)
        chain = word(3)
        durableGeneration = word(4)
        payloadByteCount = count
        hash = word(5)
    }

    /// Returns the hash of a frame: of the head without the hash, and of the payload.
    static func hash(
        _ head: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, seed: UInt64
    ) -> UInt64 {
        let head = UnsafeRawBufferPointer(rebasing: head.prefix(hashOffset))
        return Checksum.hash(payload, seed: Checksum.hash(head, seed: seed))
    }

    /// The number of bytes in the file: a whole number of sectors.
    func paddedByteCount(sector: Int) -> Int {
        (Self.byteCount + payloadByteCount + sector - 1) / sector * sector
    }
}

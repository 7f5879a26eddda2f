/// The head of a frame: one commit in a log, or several that LMDB commits in one transaction.
///
/// A frame begins at a sector. Its hash covers the head and the payload; a frame is part of the log
/// only where it names the hash of the frame before it.
struct LogFrame {
    let generation: UInt64
    let revision: Revision
    /// The hash of the frame before.
    let chain: UInt64
    /// The newest generation with a durable slot at the time of writing.
    let durableGeneration: UInt64
    let payloadByteCount: Int

    private static let magic: UInt32 = 0x4653_544C
    static let byteCount = 48
    /// The greatest number of bytes of a payload.
    static let payloadLimit = Int(UInt32.max >> 1)

    /// Appends the frame to a buffer, and zeros up to the next sector.
    ///
    /// - Returns: the frame's hash.
    func append(
        to buffer: inout ByteBuffer, _ payload: UnsafeRawBufferPointer, seed: UInt64, sector: Int
    ) -> UInt64 {
        var head = ByteBuffer(capacity: Self.byteCount)
        head.append(Self.magic)
        head.append(UInt32(payloadByteCount))
        head.append(generation)
        head.append(revision.number)
        head.append(chain)
        head.append(durableGeneration)
        let hash = Self.hash(head.bytes, payload, seed: seed)
        buffer.append(head.bytes)
        buffer.append(hash)
        buffer.append(payload)
        buffer.appendZeros(Self.padding(payload.count, sector: sector))
        return hash
    }

    /// Reads the head of a frame; nil when there is none.
    init?(decoding bytes: UnsafeRawBufferPointer, hash: inout UInt64) {
        var reader = ByteReader(bytes)
        guard let magic = try? reader.read(UInt32.self), magic == Self.magic,
            let count = try? reader.read(UInt32.self), count <= Self.payloadLimit,
            let generation = try? reader.read(UInt64.self),
            let revision = try? reader.read(UInt64.self),
            let chain = try? reader.read(UInt64.self),
            let durableGeneration = try? reader.read(UInt64.self),
            let stored = try? reader.read(UInt64.self)
        else { return nil }
        self.generation = generation
        self.revision = Revision(revision)
        self.chain = chain
        self.durableGeneration = durableGeneration
        payloadByteCount = Int(count)
        hash = stored
    }

    init(
        generation: UInt64, revision: Revision, chain: UInt64, durableGeneration: UInt64,
        payloadByteCount: Int
    ) {
        self.generation = generation
        self.revision = revision
        self.chain = chain
        self.durableGeneration = durableGeneration
        self.payloadByteCount = payloadByteCount
    }

    /// Returns the hash of a frame: of the head without the hash, and of the payload.
    static func hash(
        _ head: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, seed: UInt64
    ) -> UInt64 {
        let head = UnsafeRawBufferPointer(rebasing: head.prefix(byteCount - 8))
        return Checksum.hash(payload, seed: Checksum.hash(head, seed: seed))
    }

    /// Returns the number of zeros between a payload's end and the next sector.
    static func padding(_ payloadByteCount: Int, sector: Int) -> Int {
        let count = (byteCount + payloadByteCount) % sector
        return count == 0 ? 0 : sector - count
    }
}

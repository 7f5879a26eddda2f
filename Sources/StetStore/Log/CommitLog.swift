/// Commits in the order in which they were made, in two files that alternate, with a slot at the
/// head of each: the log of durability `.logged`.
///
/// The log of generation n is in file n mod 2. It continues the slot of its generation, and the log
/// of n + 1 continues it. `Tests/Protocols/Logged.pml` is a model of the steps, by the same names.
///
/// State: the position belongs to the thread that has the right to write.
package struct CommitLog {
    /// A commit in a log.
    package struct Entry {
        package let revision: Revision
        package let payload: UnsafeRawBufferPointer

        package init(revision: Revision, payload: UnsafeRawBufferPointer) {
            self.revision = revision
            self.payload = payload
        }
    }

    /// The place of the next frame.
    package struct Position: Hashable, Sendable {
        /// The generation that frames go to.
        package fileprivate(set) var generation: UInt64
        /// The offset in the file of that generation.
        package fileprivate(set) var offset: Int
        /// The hash of the last frame.
        package fileprivate(set) var chain: UInt64
    }

    private let files: [any LogFile]
    private let seed: UInt64
    private let sector: Int
    /// The place of the next frame.
    package private(set) var position: Position
    /// The newest generation whose slot is durable.
    private var durableGeneration: UInt64

    /// Creates a log that continues a durable slot, with no frame yet.
    ///
    /// - Parameters:
    ///   - files: the two files.
    ///   - slot: the slot; frames of its generation that the file has are overwritten.
    ///   - seed: a number that distinguishes the logs of different stores.
    ///   - sector: the bytes that a disk writes at once: a power cut may damage all of them.
    package init(files: [any LogFile], continuing slot: LogSlot, seed: UInt64, sector: Int) {
        trap(unless: files.count == 2, "a log has two files")
        self.files = files
        self.seed = seed
        self.sector = sector
        durableGeneration = slot.generation
        position = Position(
            generation: slot.generation, offset: LogSlot.headByteCount, chain: slot.chain)
    }

    private static func file(
        _ generation: UInt64, _ files: [any LogFile]
    ) -> any LogFile {
        files[Int(generation % 2)]
    }

    private var file: any LogFile { Self.file(position.generation, files) }

    // MARK: Commits

    /// Writes entries behind the last frame; `sync` makes them durable.
    ///
    /// - Returns: the position before them, for `withdraw`.
    /// - Throws: `LMDBError`: bytes of the entries may be in the file, and have to be withdrawn.
    package mutating func append(_ entries: [Entry]) throws -> Position {
        let before = position
        var buffer = ByteBuffer()
        var chain = position.chain
        for entry in entries {
            let frame = LogFrame(
                generation: position.generation, revision: entry.revision, chain: chain,
                durableGeneration: durableGeneration, payloadByteCount: entry.payload.count)
            chain = frame.append(to: &buffer, entry.payload, seed: seed, sector: sector)
        }
        try file.write(buffer.bytes, at: before.offset)
        position.offset += buffer.bytes.count
        position.chain = chain
        return before
    }

    /// Makes durable all frames of the present generation.
    ///
    /// - Throws: `LMDBError`: whether they are durable is unknown, and remains so.
    package func sync() throws { try file.sync() }

    /// Makes the frames after a position void: no recovery applies them.
    ///
    /// - Throws: `LMDBError`: whether they are void is unknown.
    package mutating func withdraw(to before: Position) throws {
        trap(
            unless: before.generation == position.generation,
            "frames of an earlier generation are not withdrawn")
        let zeros = [UInt8](repeating: 0, count: LogFrame.byteCount)
        try zeros.withUnsafeBytes { try file.write($0, at: before.offset) }
        try file.sync()
        position = before
    }

    // MARK: Checkpoints

    /// Begins the next log; the slot that it continues is written later, by `writeSlot`.
    ///
    /// - Precondition: the slot of the present generation is durable, and so are all frames.
    /// - Returns: the generation of the slot.
    package mutating func beginNextLog() -> UInt64 {
        trap(
            unless: durableGeneration == position.generation,
            "a checkpoint begins after the one before has ended")
        position.generation += 1
        position.offset = LogSlot.headByteCount
        return position.generation
    }

    /// Writes the slot of a generation, and makes it durable.
    ///
    /// Call it from one thread at a time; another thread may append frames at that time.
    ///
    /// - Throws: `LMDBError`: whether the slot is durable is unknown.
    package func writeSlot(_ slot: LogSlot) throws {
        let file = Self.file(slot.generation, files)
        try slot.encoded(seed: seed).withUnsafeBytes { try file.write($0, at: 0) }
        try file.sync()
    }

    /// Notes that the slot of the present generation is durable.
    package mutating func endCheckpoint() { durableGeneration = position.generation }

    // MARK: Recovery

    /// Returns the newest slot that two files have, or nil when neither has one.
    ///
    /// It may be in the page cache only: sync its file before a page of LMDB is written.
    ///
    /// - Throws: `LMDBError` when a file cannot be read.
    package static func newestSlot(of files: [any LogFile], seed: UInt64) throws -> LogSlot? {
        let slots = try files.enumerated().compactMap { place, file in
            let slot = LogSlot.decoding(try file.read(LogSlot.headByteCount, at: 0), seed: seed)
            return slot.flatMap { Int($0.generation % 2) == place ? $0 : nil }
        }
        return slots.max { $0.generation < $1.generation }
    }

    /// Makes the slot of a generation, which a process has read, durable.
    package static func syncSlot(of generation: UInt64, in files: [any LogFile]) throws {
        try file(generation, files).sync()
    }

    /// Returns the generation of the slot after a recovery or a take-over.
    ///
    /// The next one may have frames already; this one goes to the same file, which is not that of
    /// the slot.
    package static func generation(afterRecoveryOf generation: UInt64) -> UInt64 { generation + 3 }

    /// Calls `body` with the commits that continue a slot, in their order.
    ///
    /// - Returns: the hash of the last frame, which the next slot names.
    /// - Throws: `DecodingFailure` when a newer slot was once durable: pages of this one may have
    ///   been overwritten since. `LMDBError`; rethrows.
    package static func replay(
        _ files: [any LogFile], after slot: LogSlot, seed: UInt64, sector: Int,
        _ body: (Entry) throws -> Void
    ) throws -> UInt64 {
        var (chain, revision) = (slot.chain, slot.revision)
        for generation in [slot.generation, slot.generation + 1] {
            let file = file(generation, files)
            var offset = LogSlot.headByteCount
            while true {
                let head = try file.read(LogFrame.byteCount, at: offset)
                var hash: UInt64 = 0
                guard let frame = head.withUnsafeBytes({ LogFrame(decoding: $0, hash: &hash) }),
                    frame.generation == generation, frame.chain == chain,
                    frame.revision == revision.next
                else { break }
                let payload = try file.read(
                    frame.payloadByteCount, at: offset + LogFrame.byteCount)
                let isWhole = head.withUnsafeBytes { head in
                    payload.withUnsafeBytes {
                        $0.count == frame.payloadByteCount
                            && LogFrame.hash(head, $0, seed: seed) == hash
                    }
                }
                guard isWhole else { break }
                guard frame.durableGeneration <= slot.generation else {
                    throw DecodingFailure(
                        "the slot of generation \(frame.durableGeneration) is gone")
                }
                try payload.withUnsafeBytes {
                    try body(Entry(revision: frame.revision, payload: $0))
                }
                (chain, revision) = (hash, frame.revision)
                offset += LogFrame.byteCount + payload.count
                offset += LogFrame.padding(payload.count, sector: sector)
            }
        }
        return chain
    }
}

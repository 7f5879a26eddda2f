/// Write transactions in the order in which they were made, in two files that alternate, with a
/// slot at the head of each.
///
/// The log of generation n is in file n mod 2. It continues the slot of its generation, and the log
/// of n + 1 continues it. `Tests/Protocols/Logged.pml` is a model of the steps, by the same names.
///
/// State: the position belongs to the thread that has the right to write.
package struct CommitLog: Sendable {
    /// A transaction in a log.
    package struct Entry {
        package let sequence: UInt64
        package let payload: UnsafeRawBufferPointer
    }

    /// The place of the next frame.
    package struct Position: Hashable, Sendable {
        /// The generation that frames go to.
        package fileprivate(set) var generation: UInt64
        /// The offset in the file of that generation.
        package fileprivate(set) var offset: Int
        /// The number of the last frame.
        package fileprivate(set) var sequence: UInt64
        /// The hash of the last frame.
        package fileprivate(set) var chain: UInt64
    }

    private let files: [any LogFile]
    private let seed: UInt64
    /// The number of bytes that the disk writes at once.
    package let sector: Int
    /// The place of the next frame.
    package private(set) var position: Position
    /// The newest generation whose slot is durable.
    private(set) var durableGeneration: UInt64

    /// Creates a log that continues a durable slot, with no frame yet.
    ///
    /// - Parameters:
    ///   - files: the two files.
    ///   - slot: the slot; frames of its generation that the file has are overwritten.
    ///   - seed: a number that distinguishes logs.
    package init(files: [any LogFile], continuing slot: LogSlot, seed: UInt64) {
        self.files = files
        self.seed = seed
        sector = slot.sectorByteCount
        durableGeneration = slot.generation
        position = Position(
            generation: slot.generation, offset: LogSlot.headByteCount, sequence: slot.sequence,
            chain: slot.chain)
    }

    private static func file(
        _ generation: UInt64, _ files: [any LogFile]
    ) -> any LogFile {
        files[Int(generation % UInt64(files.count))]
    }

    /// The file that frames go to.
    package var file: any LogFile { Self.file(position.generation, files) }

    /// The files, the one with the earlier frames first: synced in this order, frames never become
    /// durable before those that they continue.
    package var filesByAge: [any LogFile] {
        [Self.file(position.generation + 1, files), file]
    }

    // MARK: Commits

    /// Writes a frame after the last one; a sync of `file` makes it durable.
    ///
    /// - Returns: the position before it, for `withdraw`.
    /// - Throws: `LMDBError`: bytes of the frame may be in the file, and have to be withdrawn.
    package mutating func append(_ buffer: FrameBuffer) throws(LMDBError) -> Position {
        let before = position
        let frame = LogFrame(
            generation: position.generation, sequence: position.sequence + 1,
            chain: position.chain, durableGeneration: durableGeneration,
            payloadByteCount: buffer.payload.count)
        let chain = frame.write(to: buffer, seed: seed)
        buffer.pad(to: sector)
        try file.write(UnsafeRawBufferPointer(buffer.bytes), at: before.offset)
        position.offset += buffer.count
        position.sequence = frame.sequence
        position.chain = chain
        return before
    }

    /// Makes the frames after a position of the same generation void: no recovery applies them.
    ///
    /// - Throws: `LMDBError`: whether they are void is unknown.
    package mutating func withdraw(to before: Position) throws(LMDBError) {
        // Also where the write of the frame has failed, and the position has not moved.
        try file.write([UInt8](repeating: 0, count: LogFrame.byteCount), at: before.offset)
        try file.sync()
        position = before
    }

    // MARK: Checkpoints

    /// Begins the next log; the slot that it continues is written later, by `writeSlot`.
    ///
    /// The slot of the present generation is durable, and so are all frames.
    package mutating func beginNextLog() {
        position.generation += 1
        position.offset = LogSlot.headByteCount
    }

    /// Writes the slot of a generation, and makes it durable.
    ///
    /// Call it from one thread at a time; another thread may append frames at that time.
    ///
    /// - Throws: `LMDBError`: whether the slot is durable is unknown.
    package func writeSlot(_ slot: LogSlot) throws(LMDBError) {
        let file = Self.file(slot.generation, files)
        try file.write(slot.encoded(seed: seed), at: 0)
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
    package static func newestSlot(
        of files: [any LogFile], seed: UInt64
    ) throws(LMDBError) -> LogSlot? {
        var newest: LogSlot?
        for (place, file) in files.enumerated() {
            let head = try file.read(LogSlot.headByteCount, at: 0)
            guard let slot = LogSlot.decoding(head, seed: seed),
                Int(slot.generation % UInt64(files.count)) == place,
                slot.generation > newest?.generation ?? 0
            else { continue }
            newest = slot
        }
        return newest
    }

    /// Makes the slot of a generation, which a process has read, durable.
    package static func syncSlot(
        of generation: UInt64, in files: [any LogFile]
    ) throws(LMDBError) {
        try file(generation, files).sync()
    }

    /// Calls `body` with the transactions that continue a slot, in their order.
    ///
    /// - Throws: `LMDBError` (`damagedLog`) when a newer slot was once durable: pages of this one
    ///   may have been overwritten since; when a file cannot be read; rethrows.
    package static func replay(
        _ files: [any LogFile], after slot: LogSlot, seed: UInt64,
        _ body: (Entry) throws(LMDBError) -> Void
    ) throws(LMDBError) {
        var (chain, sequence) = (slot.chain, slot.sequence)
        for generation in [slot.generation, slot.generation &+ 1] {
            let file = file(generation, files)
            var offset = LogSlot.headByteCount
            while let (frame, hash, payload) = try frame(at: offset, of: file, seed: seed),
                frame.generation == generation, frame.chain == chain,
                frame.sequence == sequence &+ 1
            {
                guard frame.durableGeneration <= slot.generation else {
                    throw LMDBError(
                        .readLog, code: LMDBError.damagedLog, path: "",
                        detail: "its checkpoint \(frame.durableGeneration) is gone")
                }
                let result: Result<Void, LMDBError> = payload.withUnsafeBytes { bytes in
                    Result { () throws(LMDBError) in
                        try body(Entry(sequence: frame.sequence, payload: bytes))
                    }
                }
                try result.get()
                (chain, sequence) = (hash, frame.sequence)
                offset += frame.paddedByteCount(sector: slot.sectorByteCount)
            }
        }
    }

    /// Returns the whole frame at an offset, with its hash and payload; nil where there is none.
    private static func frame(
        at offset: Int, of file: any LogFile, seed: UInt64
    ) throws(LMDBError) -> (LogFrame, UInt64, [UInt8])? {
        let head = try file.read(LogFrame.byteCount, at: offset)
        var hash: UInt64 = 0
        guard let frame = head.withUnsafeBytes({ LogFrame(decoding: $0, hash: &hash) }) else {
            return nil
        }
        let payload = try file.read(frame.payloadByteCount, at: offset + LogFrame.byteCount)
        let isWhole = head.withUnsafeBytes { head in
            payload.withUnsafeBytes {
                $0.count == frame.payloadByteCount && LogFrame.hash(head, $0, seed: seed) == hash
            }
        }
        return isWhole ? (frame, hash, payload) : nil
    }
}

import Glibc
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// The log of commits beside a list of commits, through power cuts between any two steps.
struct CommitLogTests {
    private static let seed: UInt64 = 7

    /// A log, and the list of what was written to it.
    private struct Trial {
        var files = [SimulatedFile(), SimulatedFile()]
        var log: CommitLog
        var random: SeededGenerator
        /// The payloads by revision.
        var payloads: [[UInt8]] = []
        /// The revisions that were acknowledged.
        var durable = 0
        /// The hash of the last frame that was acknowledged.
        var durableChain: UInt64 = 0
        var checkpoint: LogSlot?

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            let slot = LogSlot(
                generation: 1, transaction: 0, revision: .zero, chain: 0, metaPages: [])
            log = CommitLog(files: files, continuing: slot, seed: CommitLogTests.seed, sector: 512)
            try log.writeSlot(slot)
        }

        mutating func payload() -> [UInt8] {
            let count = [0, 1, 463, 464, 465, 900, 3_000].randomElement(using: &random)!
            return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }

        /// Appends some commits; the list has them before the log does.
        mutating func append() throws -> CommitLog.Position {
            let first = payloads.count
            for _ in 0..<Int.random(in: 1...3, using: &random) { payloads.append(payload()) }
            let new = payloads[first...].map { payload in
                let copy = UnsafeMutableRawBufferPointer.allocate(
                    byteCount: payload.count, alignment: 1)
                copy.copyBytes(from: payload)
                return UnsafeRawBufferPointer(copy)
            }
            defer { for bytes in new { bytes.deallocate() } }
            return try log.append(
                new.enumerated().map { place, bytes in
                    CommitLog.Entry(
                        revision: Revision(UInt64(first + place + 1)), payload: bytes)
                })
        }

        /// Begins a checkpoint, or ends the one that has begun.
        mutating func moveCheckpoint() throws {
            if let slot = checkpoint {
                try log.writeSlot(slot)
                log.endCheckpoint()
                checkpoint = nil
            } else {
                let chain = log.position.chain
                checkpoint = LogSlot(
                    generation: log.beginNextLog(), transaction: UInt64(payloads.count),
                    revision: Revision(UInt64(payloads.count)), chain: chain,
                    metaPages: [[UInt8](repeating: 1, count: 152), [2, 3]])
            }
        }

        /// Goes on after a recovery from files as a power cut has left them.
        mutating func recover(_ left: [SimulatedFile]) throws {
            files = left
            let slot = try #require(try CommitLog.newestSlot(of: left, seed: CommitLogTests.seed))
            var found = payloads.prefix(Int(slot.revision.number)).map { $0 }
            let chain = try CommitLog.replay(
                left, after: slot, seed: CommitLogTests.seed, sector: 512
            ) { found.append(Array($0.payload)) }
            #expect(found.count >= durable && found.count <= payloads.count)
            #expect(found[...] == payloads.prefix(found.count))
            payloads = found
            try goOn(left, after: slot, chain)
        }

        /// Goes on after the writer was killed, with the commits that it had acknowledged.
        mutating func takeOver() throws {
            let slot = try #require(try CommitLog.newestSlot(of: files, seed: CommitLogTests.seed))
            try CommitLog.syncSlot(of: slot.generation, in: files)
            payloads.removeLast(payloads.count - durable)
            try goOn(files, after: slot, durableChain)
        }

        private mutating func goOn(
            _ left: [SimulatedFile], after slot: LogSlot, _ chain: UInt64
        ) throws {
            durable = payloads.count
            durableChain = chain
            checkpoint = nil
            let next = LogSlot(
                generation: CommitLog.generation(afterRecoveryOf: slot.generation),
                transaction: UInt64(durable), revision: Revision(UInt64(durable)),
                chain: chain, metaPages: [])
            log = CommitLog(files: left, continuing: next, seed: CommitLogTests.seed, sector: 512)
            try log.writeSlot(next)
        }
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func everySyncedCommitIsThereAfterPowerCutsAndNothingElse(seed: UInt64) throws {
        var trial = try Trial(seed: seed)
        var images = 0
        for _ in 0..<40 {
            switch Int.random(in: 0..<6, using: &trial.random) {
            case 0: try trial.moveCheckpoint()
            case 1:
                let before = try trial.append()
                let first = trial.durable
                try trial.log.withdraw(to: before)
                trial.payloads.removeLast(trial.payloads.count - first)
            default:
                _ = try trial.append()
                if Int.random(in: 0..<4, using: &trial.random) == 0 {
                    images += 1
                    let left = trial.files.map { $0.afterPowerCut(&trial.random) }
                    try trial.recover(left)
                } else {
                    try trial.log.sync()
                    if Int.random(in: 0..<4, using: &trial.random) == 0 {
                        try trial.takeOver()
                    } else {
                        trial.durable = trial.payloads.count
                        trial.durableChain = trial.log.position.chain
                    }
                }
            }
        }
        let left = trial.files.map { $0.afterPowerCut(&trial.random) }
        try trial.recover(left)
        #expect(images > 0 && trial.durable > 0)
    }

    @Test func aFlippedByteEndsTheLogOrLeavesItAsItIs() throws {
        var trial = try Trial(seed: 1)
        for _ in 0..<3 {
            _ = try trial.append()
            try trial.log.sync()
        }
        let whole = trial.files[1].bytes
        var lengths: Set<Int> = []
        for place in whole.indices {
            var bytes = whole
            bytes[place] ^= 0xFF
            let files = [SimulatedFile(), SimulatedFile(bytes)]
            // One copy of the slot is enough.
            let slot = try #require(try CommitLog.newestSlot(of: files, seed: Self.seed))
            var found: [[UInt8]] = []
            _ = try CommitLog.replay(files, after: slot, seed: Self.seed, sector: 512) {
                found.append(Array($0.payload))
            }
            #expect(found[...] == trial.payloads.prefix(found.count), "byte \(place)")
            lengths.insert(found.count)
        }
        #expect(lengths == Set(0...trial.payloads.count))
    }

    @Test func aLogOnADiskIsReadByTheNextProcess() throws {
        let directory = TemporaryDirectory()
        let paths = [directory.file("log-0"), directory.file("log-1")]
        let slot = LogSlot(
            generation: 1, transaction: 3, revision: .zero, chain: 5,
            metaPages: [[1, 2], [UInt8](repeating: 3, count: 152)])
        let payload = (0..<5_000).map { UInt8(truncatingIfNeeded: $0) }
        do {
            let files = try paths.map { try LogFileOnDisk(at: $0, createsFile: true) }
            var log = CommitLog(files: files, continuing: slot, seed: Self.seed, sector: 4_096)
            try log.writeSlot(slot)
            for revision in 1...3 {
                _ = try payload.withUnsafeBytes { bytes in
                    try log.append([
                        CommitLog.Entry(revision: Revision(UInt64(revision)), payload: bytes)
                    ])
                }
            }
            try log.sync()
        }
        let exists = #expect(throws: LMDBError.self) {
            try LogFileOnDisk(at: paths[0], createsFile: true)
        }
        #expect(exists?.code == EEXIST)
        let files = try paths.map { try LogFileOnDisk(at: $0, createsFile: false) }
        #expect(try CommitLog.newestSlot(of: files, seed: Self.seed) == slot)
        var revisions: [Revision] = []
        _ = try CommitLog.replay(files, after: slot, seed: Self.seed, sector: 4_096) { entry in
            revisions.append(entry.revision)
            #expect(Array(entry.payload) == payload)
        }
        #expect(revisions == [1, 2, 3])
    }

    @Test func anotherStoresLogIsNone() throws {
        let trial = try Trial(seed: 2)
        #expect(try CommitLog.newestSlot(of: trial.files, seed: Self.seed + 1) == nil)
        #expect(try CommitLog.newestSlot(of: trial.files, seed: Self.seed) != nil)
        // Nor is a log whose files have changed places.
        #expect(try CommitLog.newestSlot(of: trial.files.reversed(), seed: Self.seed) == nil)
    }

    @Test func aSlotThatIsGoneIsNoticed() throws {
        var trial = try Trial(seed: 3)
        _ = try trial.append()
        try trial.log.sync()
        try trial.moveCheckpoint()
        try trial.moveCheckpoint()
        _ = try trial.append()
        try trial.log.sync()
        let newest = try #require(try CommitLog.newestSlot(of: trial.files, seed: Self.seed))
        #expect(newest.generation == 2)
        let zeros = [UInt8](repeating: 0, count: 8_192)
        try zeros.withUnsafeBytes { try trial.files[0].write($0, at: 0) }
        let slot = try #require(try CommitLog.newestSlot(of: trial.files, seed: Self.seed))
        #expect(slot.generation == 1)
        #expect(throws: DecodingFailure.self) {
            _ = try CommitLog.replay(
                trial.files, after: slot, seed: Self.seed, sector: 512
            ) { _ in }
        }
    }
}

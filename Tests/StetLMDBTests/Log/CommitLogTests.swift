import Glibc
import StetLMDB
import StetTestSupport
import Testing

/// The log of commits beside a list of commits, through power cuts between any two steps.
struct CommitLogTests {
    private static let seed: UInt64 = 7

    /// A log, and the list of what was written to it.
    private struct Trial {
        var files = [SimulatedFile(), SimulatedFile()]
        var log: CommitLog
        /// The number of the log, another one after each recovery.
        var number = CommitLogTests.seed
        var random: SeededGenerator
        /// The payloads by sequence.
        var payloads: [[UInt8]] = []
        /// The number of payloads before the log.
        var first = 0
        /// The number of payloads that were acknowledged.
        var durable = 0
        var checkpoint: LogSlot?

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            let slot = Self.slot(generation: 1)
            log = CommitLog(files: files, continuing: slot, seed: number)
            try log.writeSlot(slot)
        }

        static func slot(
            generation: UInt64, sequence: UInt64 = 0, chain: UInt64 = 0
        ) -> LogSlot {
            LogSlot(
                generation: generation, transaction: 3 + sequence, sequence: sequence,
                chain: chain, sectorByteCount: 512,
                metaPages: [[UInt8](repeating: 1, count: 152), [UInt8](repeating: 2, count: 152)])
        }

        mutating func payload() -> [UInt8] {
            let count = [0, 1, 463, 464, 465, 900, 3_000].randomElement(using: &random)!
            return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }

        /// Appends some frames; the list has them before the log does.
        mutating func append() throws -> CommitLog.Position {
            let before = log.position
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let payload = payload()
                payloads.append(payload)
                _ = try log.append(CommitLogTests.buffer(payload))
            }
            return before
        }

        /// Begins a checkpoint, or ends the one that has begun.
        mutating func moveCheckpoint() throws {
            if let slot = checkpoint {
                try log.writeSlot(slot)
                log.endCheckpoint()
                checkpoint = nil
            } else {
                let last = log.position
                log.beginNextLog()
                checkpoint = Self.slot(
                    generation: log.position.generation, sequence: last.sequence,
                    chain: last.chain)
            }
        }

        /// Continues with a new log after a recovery from files as a power cut has left them.
        mutating func recover(_ left: [SimulatedFile]) throws {
            let slot = try #require(try CommitLog.newestSlot(of: left, seed: number))
            var found = payloads.prefix(first + Int(slot.sequence)).map { $0 }
            try CommitLog.replay(left, after: slot, seed: number) {
                found.append(Array($0.payload))
            }
            #expect(found.count >= durable)
            #expect(found.count <= payloads.count)
            #expect(found[...] == payloads.prefix(found.count))
            payloads = found
            try begin(left)
        }

        /// Continues with a new log after the writer was killed, with what it had acknowledged.
        mutating func takeOver() throws {
            payloads.removeLast(payloads.count - durable)
            try begin(files)
        }

        /// Begins a log in files that still have the frames of the one before.
        private mutating func begin(_ left: [SimulatedFile]) throws {
            files = left
            number += 1
            first = payloads.count
            durable = payloads.count
            checkpoint = nil
            let slot = Self.slot(generation: 1)
            log = CommitLog(files: left, continuing: slot, seed: number)
            try log.writeSlot(slot)
        }
    }

    private static func buffer(_ payload: [UInt8]) -> FrameBuffer {
        let buffer = FrameBuffer()
        payload.withUnsafeBytes { buffer.append($0) }
        return buffer
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
                    try trial.log.file.sync()
                    if Int.random(in: 0..<4, using: &trial.random) == 0 {
                        try trial.takeOver()
                    } else {
                        trial.durable = trial.payloads.count
                    }
                }
            }
        }
        let left = trial.files.map { $0.afterPowerCut(&trial.random) }
        try trial.recover(left)
        #expect(images > 0)
        #expect(trial.durable > 0)
    }

    @Test func aFlippedByteEndsTheLogOrLeavesItAsItIs() throws {
        var trial = try Trial(seed: 1)
        for _ in 0..<3 {
            _ = try trial.append()
            try trial.log.file.sync()
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
            try CommitLog.replay(files, after: slot, seed: Self.seed) {
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
        let slot = Trial.slot(generation: 1)
        let payload = (0..<5_000).map { UInt8(truncatingIfNeeded: $0) }
        do {
            let files = try paths.map { try LogFileOnDisk(at: $0, createsFile: true) }
            var log = CommitLog(files: files, continuing: slot, seed: Self.seed)
            try log.writeSlot(slot)
            for _ in 1...3 { _ = try log.append(Self.buffer(payload)) }
            try log.file.sync()
        }
        let exists = #expect(throws: LMDBError.self) {
            try LogFileOnDisk(at: paths[0], createsFile: true)
        }
        #expect(exists?.code == EEXIST)
        let files = try paths.map { try LogFileOnDisk(at: $0, createsFile: false) }
        #expect(try CommitLog.newestSlot(of: files, seed: Self.seed) == slot)
        var sequences: [UInt64] = []
        try CommitLog.replay(files, after: slot, seed: Self.seed) { entry in
            sequences.append(entry.sequence)
            #expect(Array(entry.payload) == payload)
        }
        #expect(sequences == [1, 2, 3])
    }

    @Test func theFileWithEarlierFramesIsSyncedFirst() throws {
        var trial = try Trial(seed: 5)
        for _ in 1...4 {
            let earlier = trial.log.file
            try trial.moveCheckpoint()
            #expect(
                trial.log.filesByAge.map(ObjectIdentifier.init)
                    == [earlier, trial.log.file].map(ObjectIdentifier.init))
            try trial.moveCheckpoint()
        }
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
        try trial.log.file.sync()
        try trial.moveCheckpoint()
        try trial.moveCheckpoint()
        _ = try trial.append()
        try trial.log.file.sync()
        let newest = try #require(try CommitLog.newestSlot(of: trial.files, seed: Self.seed))
        #expect(newest.generation == 2)
        let zeros = [UInt8](repeating: 0, count: 8_192)
        try zeros.withUnsafeBytes { try trial.files[0].write($0, at: 0) }
        let slot = try #require(try CommitLog.newestSlot(of: trial.files, seed: Self.seed))
        #expect(slot.generation == 1)
        let error = #expect(throws: LMDBError.self) {
            try CommitLog.replay(trial.files, after: slot, seed: Self.seed) { _ in }
        }
        #expect(error?.code == LMDBError.damagedLog)
    }
}

import BareLMDB
import FoundationEssentials
import Stet

/// Equal work by all programs, each on a separate store.
///
/// In each round a workload is run by all programs before the next workload begins, so that a
/// temporary disturbance of the machine affects all of them.
struct PeerWorkloads {
    private let options: Options
    private let samples: Samples
    private let directory: String
    private let positions: [Int]
    private let expectedReads: Totals

    init(_ options: Options, _ samples: Samples, directory: String) {
        self.options = options
        self.samples = samples
        self.directory = directory
        var random = SplitMix64(state: 2)
        let shuffled = Array(0..<options.storedCount).shuffled(using: &random)
        positions = Array(shuffled.prefix(options.readCount))
        expectedReads = Totals(positions.map { samples.values[$0] })
    }

    /// Returns the number of samples of a round.
    static func sampleCount(_ options: Options) -> Int {
        options.storedCount + options.middleCommitCount * options.middleCommits
            + options.smallCommits + options.commitsBy16 + options.commitsBy64
            + options.changedCount + options.undoneCount
    }

    /// One round; who begins changes from round to round.
    func run(round: Int, _ measurements: inout Measurements) async throws {
        let programs = options.programs.filter { !$0.workloads.isEmpty }
        let first = round % programs.count
        var turns = Turns()
        for program in programs[first...] + programs[..<first] {
            let path = "\(directory)/\(program.rawValue).store"
            try removeStore(path)
            turns.begin(program) { try makePeer(program, path) }
        }
        var next = 0
        var stored: [Sample?] = []
        for workload in Workload.allCases {
            // The first workload creates the objects of the others.
            guard options.workloads.contains(workload) || workload == .insertAll else { continue }
            let range = next..<next + sampleCount(workload)
            next = range.upperBound
            note(workload, range, in: &stored)
            let expected = Expected(workload, stored)
            for (program, peer) in turns.peers {
                await turns.attempt(program) {
                    try await run(workload, program, peer, range, expected, &measurements)
                }
            }
        }
        let expected = expectedTotals(stored.compactMap(\.self))
        for (program, peer) in turns.peers {
            turns.attempt(program) { try check(peer, expected) }
        }
        measurements.drop(turns.failures)
        for program in programs { try removeStore("\(directory)/\(program.rawValue).store") }
    }

    private func makePeer(_ program: Program, _ path: String) throws -> any Peer {
        switch program {
        case .stet: try StetPeer(path, samples)
        case .stetLogged: try StetPeer(path, samples, .logged)
        case .stetRelaxed: try StetPeer(path, samples, .relaxed(within: .milliseconds(50)))
        case .lmdb: try BarePeer(path, samples, journals: false)
        case .lmdbJournal, .lmdbStructs, .file: try BarePeer(path, samples, journals: true)
        case .grdb: try GRDBPeer(path, samples, [])
        case .grdbNormal: try GRDBPeer(path, samples, [.unsynced])
        case .grdbCached: try GRDBPeer(path, samples, [.tuned, .cached])
        case .grdbTuned, .grdbRegion: try GRDBPeer(path, samples, [.tuned])
        case .grdbUndo: try GRDBPeer(path, samples, [.undo])
        case .grdbUndoTuned: try GRDBPeer(path, samples, [.undo, .tuned])
        }
    }

    /// The positions of the updated articles among those inserted first: spread over the whole
    /// store.
    private var updatedPositions: [Int] { (0..<options.changedCount).map { $0 * 2 } }
    /// The positions among these that are updated a second time, which is undone.
    private var undonePositions: [Int] {
        let step = options.storedCount / options.undoneCount / 2 * 2
        return (0..<options.undoneCount).map { $0 * step }
    }
    private var deletedPositions: [Int] { (0..<options.changedCount).map { $0 * 2 + 1 } }

    /// Does to `stored` what the programs do to their stores.
    private func note(_ workload: Workload, _ range: Range<Int>, in stored: inout [Sample?]) {
        switch workload {
        case .update:
            for (position, sample) in zip(updatedPositions, samples.values[range]) {
                stored[position]?.title = sample.title
                stored[position]?.rating = sample.rating
            }
        case .delete:
            for position in deletedPositions { stored[position] = nil }
        case .undo: break
        default: stored += samples.values[range].map(Optional.some)
        }
    }

    private func sampleCount(_ workload: Workload) -> Int {
        switch workload {
        case .insertAll: options.storedCount
        case .insertThousands: options.middleCommitCount * options.middleCommits
        case .insertSingly: options.smallCommits
        case .insertBy16: options.commitsBy16
        case .insertBy64: options.commitsBy64
        case .update: options.changedCount
        case .undo: options.undoneCount
        case .readInOneScope, .readInScopes, .sorted, .search, .walk, .open, .delete: 0
        case .fetchAll, .fetchSnapshots, .fetchValues: 0
        }
    }

    private func run(
        _ workload: Workload, _ program: Program, _ peer: any Peer, _ range: Range<Int>,
        _ expected: Expected, _ measurements: inout Measurements
    ) async throws {
        let isAsked = program.workloads.contains(workload) && options.workloads.contains(workload)
        // The objects must be inserted in any case, because other workloads read them.
        guard isAsked || workload == .insertAll else {
            return try runUnmeasured(workload, range, peer)
        }
        bare_trim_memory()
        let value = try await measure(workload, peer, range, expected) { name, unit, count in
            measurements.add(count, unit, name, program)
        }
        if isAsked { measurements.add(value, workload.unit, workload.rawValue, program) }
        if workload == .insertAll {
            try peer.prepareReads(positions)
            measurements.add(
                try fileByteCount(program) / 1_048_576, .mebibytes, Workload.size, program)
        }
    }

    /// Returns the size of a program's store on the disk, including the files beside it.
    private func fileByteCount(_ program: Program) throws -> Double {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        return try names.filter { $0.hasPrefix("\(program.rawValue).store") }.reduce(0) {
            sum, name in
            let path = "\(directory)/\(name)"
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            return sum + Double(size ?? 0)
        }
    }

    /// Runs a workload that other programs are measured at, so that all stores have equal contents
    /// in the end.
    private func runUnmeasured(
        _ workload: Workload, _ range: Range<Int>, _ peer: any Peer
    ) throws {
        switch workload {
        case .update: try peer.update(updatedPositions, to: range)
        case .delete: try peer.delete(deletedPositions)
        case .undo: break
        default: if !range.isEmpty { try peer.commit(range) }
        }
    }

    private func measure(
        _ workload: Workload, _ peer: any Peer, _ range: Range<Int>, _ expected: Expected,
        _ count: (String, Unit, Double) -> Void
    ) async throws -> Double {
        let clock = ContinuousClock()
        switch workload {
        case .insertAll:
            return try rate(range.count, clock.measure { try peer.commit(range) })
        case .insertThousands:
            let step = options.middleCommitCount
            let time = try clock.measure {
                for start in stride(from: range.lowerBound, to: range.upperBound, by: step) {
                    try peer.commit(start..<start + step)
                }
            }
            return rate(range.count, time)
        case .insertSingly:
            let before = try WriteCounters.now()
            var times: [Duration] = []
            for position in range {
                times.append(try clock.measure { try peer.commit(position..<position + 1) })
            }
            let after = try WriteCounters.now()
            let commits = Double(range.count)
            count(Workload.pages, .pages, after.pages(since: before) / commits)
            count(
                Workload.writeCalls, .calls, Double(after.callCount - before.callCount) / commits)
            let time = times.reduce(.zero, +)
            times.sort()
            let tail = times[times.count * 99 / 100] / times[times.count / 2]
            count(Workload.tail, .timesMedian, tail)
            return rate(range.count, time)
        case .insertBy16, .insertBy64:
            let writers = workload == .insertBy16 ? 16 : 64
            let time = try await clock.measure {
                try await peer.commitSingly(range, writers: writers)
            }
            return rate(range.count, time)
        case .readInOneScope, .readInScopes:
            var totals = Totals()
            let time = try clock.measure {
                totals = try peer.read(inOneScope: workload == .readInOneScope)
            }
            try expectEqual(totals, expectedReads, "what was read")
            return rate(positions.count, time)
        case .walk:
            var totals = Totals()
            let time = try clock.measure { totals = try peer.walk() }
            try expectEqual(totals, expected.totals.ofTitles, "what the walk read")
            return rate(totals.count, time)
        case .fetchAll, .fetchSnapshots, .fetchValues:
            var totals = Totals()
            let time = try clock.measure {
                totals =
                    switch workload {
                    case .fetchSnapshots: try peer.fetchSnapshots()
                    case .fetchValues: try peer.fetchValues()
                    default: try peer.fetchAll()
                    }
            }
            try expectEqual(totals, expected.totals.ofTwoProperties, "what was fetched")
            return rate(totals.count, time)
        case .sorted:
            var found: [TitlesInOrder] = []
            let time = try clock.measure {
                for notebooks in Expected.notebooks { found.append(try peer.sorted(notebooks)) }
            }
            try expectEqual(found, expected.titles, "what was sorted")
            return rate(found.count, time)
        case .search:
            var count = 0
            let time = try clock.measure {
                for _ in 0..<5 { count = try peer.count(containing: Expected.text) }
            }
            try expectEqual(count, expected.count, "what was counted")
            return rate(expected.totals.count * 5, time)
        case .update:
            let positions = updatedPositions
            return try rate(
                positions.count, clock.measure { try peer.update(positions, to: range) })
        case .undo:
            let positions = undonePositions
            try peer.update(positions, to: range)
            return try rate(positions.count, clock.measure { try peer.undo() })
        case .delete:
            let positions = deletedPositions
            return try rate(positions.count, clock.measure { try peer.delete(positions) })
        case .open:
            return try open(peer)
        }
    }

    private func rate(_ count: Int, _ time: Duration) -> Double {
        Double(count) / (time / .seconds(1))
    }

    private func open(_ peer: any Peer) throws -> Double {
        try peer.close()
        var time = Duration.zero
        let expected = Totals([samples.values[positions[0]]])
        for _ in 0..<options.openCount {
            let (duration, totals) = try peer.openAndRead()
            try expectEqual(totals, expected, "what was read after opening")
            time += duration
        }
        try peer.open()
        return time / .milliseconds(1) / Double(options.openCount)
    }

    private func expectedTotals(_ stored: [Sample]) -> Totals {
        var totals = Totals(stored)
        for sample in stored { totals.addHash(of: sample) }
        return totals
    }

    private func check(_ peer: any Peer, _ expected: Totals) throws {
        try peer.close()
        try peer.open()
        try expectEqual(try peer.check(), expected, "what is stored in the end")
        try peer.close()
    }
}

/// The programs of one round; a program that fails is excluded, and the others continue.
private struct Turns {
    private(set) var peers: [(program: Program, peer: any Peer)] = []
    private(set) var failures: [Program: String] = [:]

    mutating func begin(_ program: Program, _ make: () throws -> any Peer) {
        do {
            peers.append((program, try make()))
        } catch {
            fail(program, error)
        }
    }

    mutating func attempt(_ program: Program, _ body: () throws -> Void) {
        do { try body() } catch { fail(program, error) }
    }

    mutating func attempt(_ program: Program, _ body: () async throws -> Void) async {
        do { try await body() } catch { fail(program, error) }
    }

    private mutating func fail(_ program: Program, _ error: any Error) {
        failures[program] = "\(error)"
        peers.removeAll { $0.program == program }
    }
}

/// The results that queries must return.
private struct Expected {
    /// Each query asks for the articles of a range of notebooks.
    static let notebooks = (0..<200).map { $0 * 5 % 1_000..<$0 * 5 % 1_000 + 5 }
    static let text = "qzk"

    private(set) var totals = Totals()
    private(set) var titles: [TitlesInOrder] = []
    private(set) var count = 0

    init(_ workload: Workload, _ stored: [Sample?]) {
        let samples = stored.compactMap(\.self)
        switch workload {
        case .walk, .fetchAll, .fetchSnapshots, .fetchValues: totals = Totals(samples)
        case .search:
            totals = Totals(samples)
            count = samples.count { $0.body.contains(Self.text) }
        case .sorted:
            let byNotebook = Dictionary(grouping: samples, by: \.notebook)
            titles = Self.notebooks.map { notebooks in
                let found = notebooks.flatMap { byNotebook[$0] ?? [] }.map(\.title)
                return found.sorted().reduce(into: TitlesInOrder()) { $0.add($1) }
            }
        default: break
        }
    }
}

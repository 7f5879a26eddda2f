import Foundation
import Stet
import StetMachines
import StetPostgres

/// What a process of a node needs to know.
struct NodeConfiguration: Codable, Sendable {
    var node: Int
    var path: String
    var connection: String
    var store: String
    var history: String
    var seed: UInt64
    var saveCount: Int
    var clockOffset: TimeInterval
    var isRelaxed: Bool
    /// Whether the journal may lose commits, so that the node may end early.
    var mayDiverge: Bool
    var plant: Plant?
    /// The directory of the server's socket, and one that nodes share, for planted bugs.
    var server: String
    var hints: String

    func open() throws -> Store {
        var configuration = Store.Configuration()
        let offset = clockOffset
        configuration.clock = { Date().addingTimeInterval(offset) }
        if isRelaxed { configuration.durability = .relaxed(within: .milliseconds(500)) }
        let journal = PostgresJournal(connection, store: store, timeout: .seconds(1))
        let shared: any SharedJournal =
            if let plant {
                PlantedJournal(journal, plant, server: server, store: store, hints: hints)
            } else {
                journal
            }
        return try Store.open(
            at: path, for: Register.self, Claim.self, journal: shared,
            configuration: configuration)
    }

    static func read(_ path: String) throws -> NodeConfiguration {
        try JSONDecoder().decode(
            NodeConfiguration.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }
}

/// A node: two clients save and read until they have made their saves, whatever fails.
struct NodeProcess: Sendable {
    private static let clientCount = 2
    private static let keyCount = 12

    private let configuration: NodeConfiguration
    private let recorder: Recorder
    private let store: Store
    private var node: Int { configuration.node }

    static func run(_ path: String) async throws {
        let configuration = try NodeConfiguration.read(path)
        let earlier = try Recorder.events(configuration.history)
        let recorder = try Recorder(configuration.history)
        do {
            // It may have to be made.
            let store = try await patiently { try configuration.open() }
            let node = NodeProcess(
                configuration: configuration, recorder: recorder, store: store)
            try await node.run(after: earlier)
            store.close()
        } catch let error as StoreError
            where error.code == .journalDiverged && configuration.mayDiverge
        {
            // What it has stays as it is.
        } catch {
            try recorder.note(.failure(node: configuration.node, "\(error)"))
        }
    }

    /// Runs `body` until the journal can be reached.
    private static func patiently<Result>(
        _ body: () async throws -> Result
    ) async throws -> Result {
        let end = Event.now + 60_000_000_000
        while true {
            do {
                return try await body()
            } catch let error as StoreError
                where error.code == .journalUnavailable && Event.now < end
            {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    private func run(after earlier: [Event]) async throws {
        var attempts: [UInt64: SaveAttempt] = [:]
        for case .attempt(let attempt) in earlier { attempts[attempt.id.token] = attempt }
        let count = attempts.count
        for case .answer(let answer) in earlier where answer.outcome != .unknown {
            attempts[answer.id.token] = nil
        }
        var random = Splitter(configuration.seed &+ UInt64(earlier.count))
        for attempt in attempts.values.sorted(by: { $0.begun < $1.begun }) {
            if Bool.random(using: &random) {
                try await save(attempt.edit, attempt.id)
            } else {
                try await settle(attempt.id)
            }
        }
        let rest = max(0, configuration.saveCount - count)
        let seeds = (0..<Self.clientCount).map { _ in random.next() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (client, seed) in seeds.enumerated() {
                let part = (rest + client) / Self.clientCount
                group.addTask { try await work(count: part, Splitter(seed)) }
            }
            try await group.waitForAll()
        }
    }

    private func work(count: Int, _ generator: Splitter) async throws {
        var random = generator
        for _ in 0..<count {
            try await read(isFresh: Int.random(in: 0..<4, using: &random) == 0)
            try await maintain(&random)
            let register = Int.random(in: 0..<MachineState.registerCount, using: &random)
            let value = Int(random.next() >> 16)
            let edit: Edit =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: .add(register: register)
                case 1: .claim(key: .random(in: 0..<Self.keyCount, using: &random), value: value)
                default: .set(register: register, value: value)
                }
            try await save(edit)
            try await Task.sleep(for: .microseconds(.random(in: 0..<40_000, using: &random)))
        }
    }

    /// Now and then redacts the former values of a register, or renews the copy for new nodes.
    private func maintain(_ random: inout Splitter) async throws {
        do {
            switch Int.random(in: 0..<40, using: &random) {
            case 0: try await store.renewBase()
            case 1, 2:
                let number = Int.random(in: 0..<MachineState.registerCount, using: &random)
                guard
                    let id = try store.fetch(Register.self, where: { $0.number == number })
                        .ids().first
                else { return }
                try store.requestRedaction(of: Register.self, id: id, \.value).confirm()
            default: break
            }
        } catch let error as StoreError
            where [.journalUnavailable, .storeBusy, .valueInUse].contains(error.code)
        {
            // It may have been made; nobody waits for it.
        } catch is UnknownOutcomeError {}
    }

    private func read(isFresh: Bool) async throws {
        let begun = Event.now
        if isFresh {
            do {
                try await store.refresh()
            } catch let error as StoreError where error.code == .journalUnavailable {
                return
            }
        }
        let (revision, state) = try store.read { context in
            (context.revision.number, try context.machineState())
        }
        try recorder.note(
            .read(
                ReadRecord(
                    node: node, begun: begun, ended: Event.now, isFresh: isFresh,
                    revision: revision, state: state)))
    }

    private func save(_ edit: Edit, _ former: CommitID? = nil) async throws {
        let opened = Event.now
        let context = store.context(author: "node \(node)")
        let state = try context.machineState()
        let id = try former ?? context.makeCommitID()
        try context.apply(edit)
        try recorder.note(
            .attempt(
                SaveAttempt(
                    node: node, id: id, edit: edit, opened: opened,
                    base: context.revision.number, state: state, begun: Event.now)))
        do {
            // Nothing is pending if the commit is there, and a value was set to what it is.
            guard let commit = try await context.save(id: id) else { return try await settle(id) }
            try answer(id, .committed(commit.revision.number))
        } catch is ConflictError {
            try answer(id, .refused)
        } catch is ValidationError {
            try answer(id, .refused)
        } catch let error as StoreError
            where [.journalUnavailable, .storeBusy].contains(error.code)
        {
            try answer(id, .unavailable)
        } catch is UnknownOutcomeError {
            try answer(id, .unknown)
            try await settle(id)
        }
    }

    private func answer(_ id: CommitID, _ outcome: SaveAnswer.Outcome) throws {
        try recorder.note(
            .answer(SaveAnswer(node: node, id: id, outcome: outcome, ended: Event.now)))
    }

    /// Asks for the outcome of a save until there is one.
    private func settle(_ id: CommitID) async throws {
        let end = Event.now + 60_000_000_000
        while Event.now < end {
            switch store.outcome(of: id) {
            case .committed(let commit): return try answer(id, .committed(commit.revision.number))
            case .notCommitted: return try answer(id, .notCommitted)
            case .unknown: try await Task.sleep(for: .milliseconds(50))
            }
            try await checkDivergence()
        }
        throw MachineFailure("the outcome of a save stays unknown")
    }

    /// Throws when the outcome stays unknown because the node has diverged.
    private func checkDivergence() async throws {
        do {
            try await store.refresh()
        } catch let error as StoreError where error.code == .journalUnavailable {
            return
        }
    }

    // MARK: Beginning and end

    /// Makes the store.
    static func create(_ configuration: NodeConfiguration) async throws {
        let store = try await patiently { try configuration.open() }
        defer { store.close() }
        try await patiently {
            let context = store.context()
            for number in 0..<MachineState.registerCount {
                context.insert(Register(number: number))
            }
            try await context.save()
        }
    }

    /// Notes what nodes have in the end.
    static func end(_ paths: [String]) async throws {
        for path in paths {
            let configuration = try NodeConfiguration.read(path)
            let recorder = try Recorder(configuration.history)
            do {
                let (store, isDiverged) = try await openInTheEnd(configuration)
                let commits = try store.journal()
                let state = try store.read { try $0.machineState() }
                try recorder.note(
                    .final(
                        FinalRecord(
                            node: configuration.node, commits: commits.map(\.id.token),
                            redactions: commits.filter { $0.cause == .redaction }.map(\.id.token),
                            state: state, hash: commits.last?.hash ?? "",
                            problems: try store.verify().problems, isDiverged: isDiverged)))
                store.close()
            } catch {
                try recorder.note(.failure(node: configuration.node, "in the end: \(error)"))
            }
        }
    }

    /// Opens a node that has everything, or that has diverged, and can only be read.
    private static func openInTheEnd(
        _ configuration: NodeConfiguration
    ) async throws -> (Store, isDiverged: Bool) {
        do {
            // A busy server may refuse a connection.
            let store = try await patiently { try configuration.open() }
            try await patiently { try await store.refresh() }
            return (store, false)
        } catch let error as StoreError where error.code == .journalDiverged {
            return (
                try Store.open(at: configuration.path, for: Register.self, Claim.self), true
            )
        }
    }
}

/// Random numbers by a seed (splitmix64).
struct Splitter: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

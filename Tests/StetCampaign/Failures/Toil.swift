import ArgumentParser
import Foundation
import Logging
import StetLMDB
import StetStore
import StetTestSupport

/// The child that performs all operations of a program on a store, and reports the promises of the
/// store.
struct Toil: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Commits, trims, redacts, copies and compacts, at random.")

    @OptionGroup var options: WriterOptions
    @Option var steps = 40
    @Flag(help: "Lets calls of LMDB fail.")
    var fails = false

    func run() throws {
        try reportingErrors {
            var toil = try Toiler(options, fails: fails)
            do {
                for _ in 0..<steps { try toil.step() }
            } catch is StoreError {
                // The injected failure is permanent.
            }
            toil.close()
        }
    }
}

/// A process that works on a store whose calls may fail: it opens the store again and continues.
private struct Toiler {
    private let path: String
    private let stream: Int
    private let fails: Bool
    private var file: StoreFile
    private var workload: Workload
    private var random: SeededGenerator
    private var copyCount = 0

    private static let copyLimit = 3
    private static let attemptLimit = 5

    init(_ options: WriterOptions, fails: Bool) throws {
        path = options.path
        stream = options.stream
        self.fails = fails
        random = SeededGenerator(seed: options.seed, stream: stream * 8 + 7)
        workload = Workload(seed: options.seed, stream: stream * 8, changeLimit: 6)
        file = try Self.open(path)
        try workload.load(file)
    }

    /// Opens the store in a few attempts.
    private static func open(_ path: String) throws -> StoreFile {
        var configuration = StoreFile.Configuration()
        configuration.logger = Logger(label: "stet") { _ in SwiftLogNoOpLogHandler() }
        for _ in 1..<attemptLimit {
            do {
                return try StoreFile.open(at: path, schema: .campaign, configuration)
            } catch is StoreError {}
        }
        return try StoreFile.open(at: path, schema: .campaign, configuration)
    }

    func close() { file.close() }

    private mutating func reopen() throws {
        file.close()
        file = try Self.open(path)
        try workload.load(file)
    }

    private func chance(_ count: Int) -> Range<Int> { 0..<count }

    mutating func step() throws {
        if fails, Int.random(in: chance(3), using: &random) == 0 { arm() }
        defer { disarm() }
        do {
            switch Int.random(in: chance(20), using: &random) {
            case 0..<12: try commit()
            case 12, 13: try trim()
            case 14, 15: try redact()
            case 16, 17: try copy()
            default: try compact()
            }
        } catch is StoreError {
            // After any failure the store can be opened again and used.
            disarm()
            try reopen()
        }
    }

    // MARK: Failures

    private mutating func arm() {
        #if STET_FAULTS
            let operations: [LMDBError.Operation] = [.commit, .reportOfCommit, .put, .begin]
            let operation = operations[Int.random(in: chance(operations.count), using: &random)]
            // A failure after the operation was carried out is an error of the disk.
            let isFull = operation != .reportOfCommit && Bool.random(using: &random)
            file.environment.faults.failNext(
                operation, after: Int.random(in: 1...4, using: &random),
                code: isFull ? ENOSPC : EIO)
        #endif
    }

    private func disarm() {
        #if STET_FAULTS
            file.environment.faults.disarm()
        #endif
    }

    // MARK: Steps

    private mutating func commit() throws {
        let edits = workload.edits()
        let base = workload.revision
        let token = try file.token(at: base, workload.token())
        do {
            let commit = try file.commit(edits, base: base, token: token)
            acknowledge(commit.revision, token)
            workload.adopt(edits, commit.revision)
        } catch is CommitRefusal {
            // A commit of another process has changed the same objects.
            try workload.load(file)
        } catch is UnknownOutcomeError {
            disarm()
            try reopen()
            let id = CommitID(store: file.storeID, base: base, token: token)
            switch file.outcome(of: id) {
            case .committed(let commit): acknowledge(commit.revision, token)
            case .notCommitted: say(Promise.refused(token: token).line)
            case .unknown: break
            }
        } catch let error as StoreError {
            say(Promise.refused(token: token).line)
            throw error
        }
    }

    private func acknowledge(_ revision: Revision, _ token: UInt64) {
        say("\(Acknowledgement(revision: revision, token: token))")
    }

    private mutating func trim() throws {
        let (head, floor) = try file.read { (try $0.head().revision, try $0.floor()) }
        let end = Revision(UInt64.random(in: floor.number...head.number, using: &random))
        say(Promise.trimming(end).line)
        try file.trim(through: end)
        say(Promise.trimmed(end).line)
    }

    /// Redacts the earlier values of a property, unless one of them is in use.
    private mutating func redact() throws {
        var ids: [ObjectID] = []
        let head = try file.read { reader in
            let head = try reader.head().revision
            try reader.forEachRecord(ofEntity: 1, asOf: head) { id, _ in
                ids.append(id)
                return ids.count < 40
            }
            return head
        }
        guard let id = ids.randomElement(using: &random) else { return }
        let slots: [Slot] = [0, 1, 3, 7]
        let slot = slots[Int.random(in: chance(slots.count), using: &random)]
        let request = RedactionRequest(entity: 1, object: id, slots: [slot])
        do {
            try file.redact(request)
            say(Promise.redacted(request, through: head).line)
        } catch let error as StoreError where [.notFound, .valueInUse].contains(error.code) {}
    }

    private mutating func copy() throws {
        if copyCount == Self.copyLimit { return try commit() }
        copyCount += 1
        let name = ".copy-\(stream)-\(copyCount)"
        say(Promise.copying(name).line)
        _ = try file.copy(to: path + name)
        say(Promise.copied(name).line)
    }

    private mutating func compact() throws {
        _ = try file.compactInPlace()
        if Bool.random(using: &random) { try reopen() }
    }
}

/// The child that migrates a store to later models, is interrupted by chance, and continues.
struct Migrate: ParsableCommand {
    /// The kind of migration that the later models need.
    enum Way: String, CaseIterable, ExpressibleByArgument {
        /// An index, for a few objects or for so many that it is built in steps.
        case index, largeIndex
        /// Code that works on copies, which the store then adopts.
        case code
    }

    static let configuration = CommandConfiguration(
        abstract: "Gives a store later models, and commits with them.")

    @Argument var path: String
    @Option var way: Way
    @Option var seed: UInt64
    @Flag(help: "Makes the store with the earlier models, and nothing else.")
    var prepares = false

    func run() throws {
        try reportingErrors {
            switch (way, prepares) {
            case (.code, true): try People.make(path)
            case (.code, false): try People.migrate(path, seed: seed)
            case (_, true): try Notebooks.make(path, count: way == .index ? 300 : 10_500)
            case (_, false): try Notebooks.migrate(path, seed: seed)
            }
        }
    }
}

/// Stores of notebooks, whose names get an index.
private enum Notebooks {
    private struct Interruption: Error {}

    static func make(_ path: String, count: Int) throws {
        let file = try StoreFile.open(at: path, schema: .campaign)
        defer { file.close() }
        var changes = ChangeSetBuilder(schema: file.schema, expectedCount: count)
        for number in 1...count {
            let after = changes.encode(entity: 2) {
                $0.write([.string("name \(number % 1_000)"), .null])
            }
            let id = ObjectID(high: 0x018f << 48 | 0x7000, low: 1 << 63 | UInt64(number))
            changes.append(
                ChangeSetBuilder.Item(
                    kind: .insert, entity: 2, id: id, base: .zero, before: 0..<0, after: after))
        }
        changes.sort()
        _ = try file.commit(
            try changes.encoded(attributes: CommitAttributes(), base: .zero, token: 1, time: 0))
    }

    static func migrate(_ path: String, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, stream: 1)
        if Bool.random(using: &random) {
            try? interrupt(path)
            // Commits of others restart the build.
            if Bool.random(using: &random) { try commit(path, .campaign, seed, stream: 1) }
        }
        try open(path).close()
        say(Promise.migrated.line)
        try commit(path, .campaignWithIndex, seed, stream: 2)
    }

    private static func interrupt(_ path: String) throws {
        var configuration = StoreFile.Configuration()
        configuration.progress = { _, _, _ in throw Interruption() }
        try StoreFile.open(at: path, schema: .campaignWithIndex, configuration).close()
    }

    private static func open(_ path: String) throws -> StoreFile {
        for _ in 1..<5 {
            do {
                return try StoreFile.open(at: path, schema: .campaignWithIndex)
            } catch is StoreError {}
        }
        return try StoreFile.open(at: path, schema: .campaignWithIndex)
    }

    /// Makes a few commits, whether or not the store has been migrated.
    private static func commit(
        _ path: String, _ schema: Schema, _ seed: UInt64, stream: Int
    ) throws {
        guard let file = try? StoreFile.open(at: path, schema: schema) else { return }
        defer { file.close() }
        var workload = Workload(seed: seed, stream: stream, changeLimit: 6)
        try workload.load(file)
        for _ in 0..<4 {
            let edits = workload.edits()
            let token = try file.token(at: workload.revision, workload.token())
            do {
                let commit = try file.commit(edits, base: workload.revision, token: token)
                say("\(Acknowledgement(revision: commit.revision, token: token))")
                workload.adopt(edits, commit.revision)
            } catch is StoreError {
                say(Promise.refused(token: token).line)
            } catch is UnknownOutcomeError {
                return
            }
        }
    }
}

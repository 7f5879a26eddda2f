import Foundation
import Glibc
import StetLMDB
import StetStore
import StetTestSupport

/// A store and a reference model that are given the same operations.
///
/// State: belongs to the thread that runs it.
final class Simulation {
    /// A difference between the store and the model.
    struct Difference: Error {
        let description: String
    }

    private let directory = TemporaryDirectory()
    private var store: SimulatedStore
    private var model = ReferenceModel()
    private var failingPut: Int?
    /// The number of microseconds after which the child that carries out the next operation is
    /// killed.
    private var killTime: Int?
    /// The number of times that each event happened.
    private(set) var counts: [String: Int] = [:]

    init() throws { store = try SimulatedStore(at: directory.file()) }

    /// Runs operations, and throws a difference from the model.
    static func run(_ operations: [SimulatedOperation]) throws -> [String: Int] {
        let simulation = try Simulation()
        defer { simulation.store.file.close() }
        for (index, operation) in operations.enumerated() {
            do {
                try simulation.run(operation)
            } catch let difference as Difference {
                throw Difference(
                    description: "operation \(index), \(operation): \(difference.description)")
            } catch {
                throw Difference(description: "operation \(index), \(operation): threw \(error)")
            }
        }
        try simulation.compareEverything()
        return simulation.counts
    }

    private func count(_ what: String) { counts[what, default: 0] += 1 }

    private func run(_ operation: SimulatedOperation) throws {
        switch operation {
        case .edit, .undo, .redo, .revert:
            if let time = killTime {
                killTime = nil
                try runKilled(operation, after: .microseconds(time))
            } else {
                try runToEnd(operation)
            }
        case .race(let author): try race(ReferenceModel.Owner(author, false))
        case .fail(let put): failingPut = put
        case .kill(let time): killTime = time
        case .reopen: try reopen()
        }
    }

    private func reopen() throws {
        store.file.close()
        store = try SimulatedStore(at: directory.file())
    }

    private func runToEnd(_ operation: SimulatedOperation) throws {
        let before = model
        let outcome = model.carryOut(operation)
        let after = model
        // The store keeps its state until the commit is written.
        model = before
        let found = try failing {
            try store.carryOut(
                operation, before.now, before.revision, nextID: before.nextID)
        }
        model = after
        guard found.outcome == outcome else {
            throw Difference(
                description: "it came to \(found.outcome), expected was \(outcome)")
        }
        if let commit = found.commit, commit.cause != model.commits.last?.cause {
            throw Difference(description: "the cause is \(commit.cause)")
        }
        count("\(operation.name) \(outcome)")
        try compare()
    }

    // MARK: What disturbs

    /// Lets a child carry out the operation, and kills it while it does: the store must be as
    /// before, or as after.
    private func runKilled(_ operation: SimulatedOperation, after time: Duration) throws {
        let before = model
        _ = model.carryOut(operation)
        let text = String(decoding: try JSONEncoder().encode(operation), as: UTF8.self)
        // Half of the time no other process has the store open, and the next one resets its lock
        // file.
        let isAlone = before.revision % 2 == 0
        if isAlone { store.file.close() }
        let child = try Child([
            "carry-out", directory.file(), text, "--next-id", "\(before.nextID)",
        ])
        guard child.nextLine(within: .seconds(20)) == "ready" else {
            throw Difference(description: "a child was not ready: \(child.lines)")
        }
        let start = ContinuousClock.now
        while ContinuousClock.now < start + time { sched_yield() }
        child.kill()
        guard child.end(within: .seconds(20)) == .killed(SIGKILL) else {
            throw Difference(description: "a child ended by itself: \(child.lines)")
        }
        if isAlone { store = try SimulatedStore(at: directory.file()) }
        let revision = try store.revision()
        if revision == before.revision { model = before }
        let isDone = child.lines.contains("done")
        count(isDone ? "kills when done" : "kills at \(revision - before.revision) commits")
        try compare()
    }

    /// Checks that the second of two undos that were prepared for the same stack is refused.
    private func race(_ owner: ReferenceModel.Owner) throws {
        let file = store.file
        func prepared() throws -> EncodedChangeSet? {
            var net = ChangeSetBuilder(schema: file.schema)
            let found = try file.read { reader in
                try UndoPreparation(reader).prepare(.undo(owner.owner), .skip, into: &net)
            }
            guard let prepared = found, prepared.inverse.conflicts.isEmpty,
                let purpose = prepared.purpose(isEmpty: net.isEmpty)
            else { return nil }
            return try net.encoded(
                attributes: prepared.attributes(author: nil, scope: nil),
                base: prepared.inverse.base, token: UInt64(model.revision),
                time: Double(model.revision + 1), for: purpose)
        }
        guard let first = try prepared(), let second = try prepared() else { return }
        _ = try file.commit(first)
        _ = model.undo(owner, .skip)
        try compare()
        do {
            _ = try file.commit(second)
            throw Difference(description: "the same step was undone twice")
        } catch is CommitRefusal {
            count("races")
        }
    }

    /// Runs a body that writes; if a write is to fail, it must leave nothing, and the body is run
    /// again.
    private func failing<Result>(_ body: () throws -> Result) throws -> Result {
        guard let put = failingPut else { return try body() }
        failingPut = nil
        #if STET_FAULTS
            let faults = store.file.environment.faults
            faults.failNext(.put, after: put, code: LMDBError.noSpace)
            defer { faults.disarm() }
            do {
                return try body()
            } catch let error as StoreError where error.code == .diskFull {
                faults.disarm()
                count("failed writes")
                try compare()
            }
        #endif
        return try body()
    }

    // MARK: Comparing

    private func compare() throws {
        let revision = try store.revision()
        guard revision == model.revision else {
            throw Difference(description: "revision \(revision), expected was \(model.revision)")
        }
        try compare(model.now, asOf: model.revision)
    }

    private func compare(_ state: ReferenceModel.State, asOf revision: Int) throws {
        let found = try store.state(asOf: revision)
        guard found != state else { return }
        let keys = Set(found.objects.keys).union(state.objects.keys).sorted()
        let links = Set(found.links.keys).union(state.links.keys).sorted()
        let lines =
            keys.filter { found[$0] != state[$0] }.prefix(4).map { key in
                let (one, other) = (found[key]?.description, state[key]?.description)
                return "\(key.entity) \(key.id): \(one ?? "none"), expected \(other ?? "none")"
            }
            + links.filter { found.links[$0] != state.links[$0] }.prefix(4).map { link in
                let (one, other) = (found.links[link], state.links[link])
                return "\(link): \(one ?? .absent), expected \(other ?? .absent)"
            }
        throw Difference(
            description: "revision \(revision) differs: " + lines.joined(separator: "; "))
    }

    /// Compares every state and every stack, and verifies the store.
    private func compareEverything() throws {
        for (revision, state) in model.states.enumerated() {
            try compare(state, asOf: revision)
            // Checks every fifth revision, because all would take most of the time.
            guard revision % 5 == model.revision % 5 else { continue }
            if let difference = try store.differentList(from: state, asOf: revision) {
                throw Difference(description: "revision \(revision): \(difference)")
            }
        }
        let file = store.file
        for owner in Set(model.undo.keys).union(model.redo.keys) {
            let heads = try file.read { try $0.heads(of: owner.owner) }
            let tops = [model.undo[owner]?.last, model.redo[owner]?.last]
            guard [heads.undo, heads.redo] == tops.map({ Revision(UInt64($0 ?? 0)) }) else {
                throw Difference(description: "the stacks of \(owner) are \(heads), not \(tops)")
            }
        }
        let problems = try file.verify().problems
        if !problems.isEmpty { throw Difference(description: problems.joined(separator: " ")) }
    }
}

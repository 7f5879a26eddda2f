import Foundation
import StetLMDB
import StetStore
import StetTestSupport

/// A store and a reference model that are given the same operations.
///
/// State: belongs to the thread that runs it.
final class Simulation {
    typealias Key = ReferenceModel.Key
    typealias Owner = ReferenceModel.Owner

    /// What the store did otherwise than the model.
    struct Difference: Error {
        let description: String
    }

    private let directory = TemporaryDirectory()
    private var file: StoreFile
    private var model = ReferenceModel()
    private var groups: [UndoGroup] = [UndoGroup(), UndoGroup()]
    private var nextID: UInt64 = 1
    private var failingPut: Int?
    /// How often each thing happened.
    private(set) var counts: [String: Int] = [:]

    init() throws { file = try Self.open(directory.file()) }

    /// Not synced: what is asked is what is written, not whether it is on the disk.
    private static func open(_ path: String) throws -> StoreFile {
        var sizes = StoreFile.Configuration()
        sizes.mapByteCount = 64 << 20
        let file = try StoreFile.open(at: path, schema: .simulation, sizes)
        file.close()
        var configuration = Environment.Configuration()
        configuration.skipsSync = true
        configuration.mapByteCount = 64 << 20
        let environment = try Environment.open(at: path, configuration)
        return try withExtendedLifetime(environment) {
            try StoreFile.open(at: path, schema: .simulation, sizes)
        }
    }

    /// Runs operations; what differs from the model is thrown.
    static func run(_ operations: [SimulatedOperation]) throws -> [String: Int] {
        let simulation = try Simulation()
        defer { simulation.file.close() }
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

    private func owner(_ author: Int?, _ scope: Bool) -> Owner? {
        author.map { Owner(author: "author \($0)", scope: scope ? "scope" : nil) }
    }

    private func run(_ operation: SimulatedOperation) throws {
        switch operation {
        case .edit(let author, let scope, let group, let isUndoable, let steps):
            let commit = ReferenceModel.Commit(
                owner: owner(author, scope), group: group.map { groups[$0] },
                isUndoable: isUndoable)
            try edit(steps, commit)
        case .undo(let author, let scope, let policy):
            guard let owner = owner(author, scope) else { return }
            try takeBack(.undo(owner.owner), policy) { $0.undo(owner, policy) }
        case .redo(let author, let scope, let policy):
            guard let owner = owner(author, scope) else { return }
            try takeBack(.redo(owner.owner), policy) { $0.redo(owner, policy) }
        case .revert(let number, let author, let policy):
            guard model.revision > 0 else { return }
            let revision = number % model.revision + 1
            let owner = owner(author, false)
            try takeBack(.revert(Revision(UInt64(revision))), policy, owner) {
                $0.revert(revision, owner, policy)
            }
        case .race(let author): try race(author)
        case .fail(let put): failingPut = put
        case .reopen:
            file.close()
            file = try Self.open(directory.file())
        }
    }

    // MARK: Saving

    private func edit(
        _ steps: [SimulatedOperation.Step], _ commit: ReferenceModel.Commit
    ) throws {
        var state = model.now
        for step in steps { apply(step, to: &state) }
        for (key, values) in state
        where key.entity == SimulationEntity.item && model.now[key] != values {
            let time = Date(timeIntervalSinceReferenceDate: Double(model.revision + 1))
            state[key]?[SimulationEntity.stamp] = .date(time)
        }
        if state == model.now { return }
        let isRight = model.accepts(state)
        var isWritten = false
        if let set = try encoded(state, commit) {
            try failing {
                do {
                    _ = try file.commit(set)
                    isWritten = true
                } catch is CommitRefusal {}
            }
        }
        guard isWritten == isRight else {
            throw Difference(
                description: isWritten ? "a wrong save was written" : "a right save was refused")
        }
        if isRight { model.save(state, commit) }
        count(isRight ? "saves" : "refused saves")
        try compare()
    }

    /// The change set; nil when a rule forbids it.
    private func encoded(
        _ state: ReferenceModel.State, _ commit: ReferenceModel.Commit
    ) throws -> EncodedChangeSet? {
        var net = NetChanges(schema: file.schema)
        for key in Set(state.keys).union(model.now.keys).sorted()
        where state[key] != model.now[key] {
            let base = try file.read { reader in
                try reader.lastChange(ofEntity: key.entity, key.id, asOf: Revision(.max))?.revision
            }
            let before = model.now[key].map { values in
                net.encode(entity: key.entity) { $0.write(values) }
            }
            let after = state[key].map { values in
                net.encode(entity: key.entity) { $0.write(values) }
            }
            net.append(
                NetChanges.Item(
                    kind: before == nil ? .insert : after == nil ? .delete : .update,
                    entity: key.entity, id: key.id, base: base ?? .zero, before: before ?? 0..<0,
                    after: after ?? 0..<0))
        }
        net.sort()
        guard try net.violations().isEmpty else { return nil }
        var attributes = CommitAttributes(
            author: commit.owner?.author, scope: commit.owner?.scope)
        attributes.group = commit.group
        return try net.encoded(
            attributes: attributes, base: Revision(UInt64(model.revision)),
            token: UInt64(model.revision), time: Double(model.revision + 1),
            for: CommitPurpose(isUndoable: commit.isUndoable))
    }

    private func apply(_ step: SimulatedOperation.Step, to state: inout ReferenceModel.State) {
        func object(_ entity: Int, _ number: Int) -> Key? {
            let keys = state.keys.filter { $0.entity == entity }.sorted()
            return keys.isEmpty ? nil : keys[number % keys.count]
        }
        func reference(_ entity: Int, _ number: Int) -> Value {
            object(entity, number).map { .reference($0.id) } ?? .null
        }
        switch step {
        case .insert(let entity, let value, let first, let second):
            let key = Key(entity: entity, id: ObjectID(high: 1 << 32, low: nextID))
            nextID += 1
            let item = reference(SimulationEntity.item, first)
            let other = reference(SimulationEntity.item, second)
            let text = Value.string("\(value)")
            switch entity {
            case SimulationEntity.box: state[key] = [text, .null]
            case SimulationEntity.item:
                let box = reference(SimulationEntity.box, first)
                state[key] = [text, .int(0), .null, second % 3 == 0 ? .null : box, other]
            case SimulationEntity.label where item != .null: state[key] = [text, item]
            case SimulationEntity.related where item != .null && other != .null:
                state[key] = [item, other]
            default: break
            }
        case .name(let entity, let number, let value):
            guard let key = object(entity, number) else { return }
            state[key]?[0] = .string(value == 0 ? "" : "\(value)")
        case .rate(let number, let value):
            guard let key = object(SimulationEntity.item, number) else { return }
            state[key]?[1] = .int(value)
        case .refer(let number, let slot, let target):
            guard let key = object(SimulationEntity.item, number) else { return }
            let entity = slot == 3 ? SimulationEntity.box : SimulationEntity.item
            let value = target.map { reference(entity, $0) } ?? .null
            state[key]?[slot] = value
        case .delete(let entity, let number, let cascades):
            guard let key = object(entity, number) else { return }
            delete(key, from: &state, cascades)
        }
    }

    private func delete(
        _ key: Key, from state: inout ReferenceModel.State, _ cascades: Bool
    ) {
        state[key] = nil
        if !cascades { return }
        for (source, values) in state.sorted(by: { $0.key < $1.key }) {
            for (slot, target) in SimulationEntity.references[source.entity] ?? [:]
            where target == key.entity && values[slot] == .reference(key.id) {
                let goes =
                    SimulationEntity.isRequired(source.entity, slot)
                    || target == SimulationEntity.box
                if !goes {
                    state[source]?[slot] = .null
                } else if state[source] != nil {
                    delete(source, from: &state, true)
                }
            }
        }
    }

    // MARK: Undo, redo, revert

    private func takeBack(
        _ request: UndoRequest, _ policy: ReferenceModel.Policy, _ owner: Owner? = nil,
        _ expected: (inout ReferenceModel) -> ReferenceModel.Outcome
    ) throws {
        let before = model
        let outcome = expected(&model)
        let after = model
        // Until it is written the store is what it was.
        model = before
        var found = UndoOutcome.nothing
        try failing {
            found = try file.takeBack(
                request, policy.policy, author: owner?.author, scope: owner?.scope,
                time: Double(model.revision + 1))
        }
        model = after
        let same: ReferenceModel.Outcome
        switch found {
        case .written(let commit):
            same = .written
            guard commit.cause == model.commits.last?.cause else {
                throw Difference(description: "the cause is \(commit.cause)")
            }
        case .nothing: same = .nothing
        case .conflicts: same = .conflicts
        case .violations(let violations):
            throw Difference(description: "violations: \(violations.map(\.message))")
        case .contention: throw Difference(description: "it never fits the store")
        }
        guard same == outcome else {
            throw Difference(description: "it came to \(found), expected was \(outcome)")
        }
        count("\(policy) \(outcome)")
        try compare()
    }

    /// The second of two undos that were prepared for the same stack is refused.
    private func race(_ author: Int) throws {
        guard let owner = owner(author, false) else { return }
        let request = UndoRequest.undo(owner.owner)
        func prepared() throws -> EncodedChangeSet? {
            guard let prepared = try file.read({ try $0.prepare(request, .skip) }),
                prepared.inverse.conflicts.isEmpty
            else { return nil }
            let net = try prepared.inverse.netChanges(file.schema)
            guard let purpose = prepared.purpose(isEmpty: net.items.isEmpty) else { return nil }
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

    /// Runs what writes; when a write is to fail it must leave nothing, and is tried again.
    private func failing(_ body: () throws -> Void) throws {
        guard let put = failingPut else { return try body() }
        failingPut = nil
        #if STET_FAULTS
            file.environment.faults.failNext(.put, after: put, code: LMDBError.noSpace)
            defer { file.environment.faults.disarm() }
            do {
                return try body()
            } catch let error as StoreError where error.code == .diskFull {
                file.environment.faults.disarm()
                count("failed writes")
                try compare()
            }
        #endif
        try body()
    }

    // MARK: Comparing

    private func compare() throws {
        let head = try file.read { try $0.head().revision }
        guard head.number == UInt64(model.revision) else {
            throw Difference(description: "revision \(head), expected was \(model.revision)")
        }
        try compare(model.now, asOf: model.revision)
    }

    private func compare(_ state: ReferenceModel.State, asOf revision: Int) throws {
        var found: ReferenceModel.State = [:]
        try file.read { reader in
            for (offset, entity) in file.schema.entities.enumerated() {
                try reader.forEachRecord(
                    ofEntity: offset + 1, asOf: Revision(UInt64(revision))
                ) { id, record in
                    let body = try RecordBody(record.body, of: entity)
                    found[Key(entity: offset + 1, id: id)] = try entity.properties.indices.map {
                        try body.value($0)
                    }
                    return true
                }
            }
        }
        guard found != state else { return }
        let keys = Set(found.keys).union(state.keys).sorted().filter { found[$0] != state[$0] }
        let lines = keys.prefix(4).map { key in
            "\(key.entity) \(key.id): \(found[key]?.description ?? "none"), expected "
                + "\(state[key]?.description ?? "none")"
        }
        throw Difference(
            description: "revision \(revision) differs: " + lines.joined(separator: "; "))
    }

    /// Every state, every stack, and what verify finds.
    private func compareEverything() throws {
        for (revision, state) in model.states.enumerated() { try compare(state, asOf: revision) }
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

extension ReferenceModel.Owner {
    var owner: UndoOwner { UndoOwner(author: author, scope: scope) }
}

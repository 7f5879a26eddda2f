import ArgumentParser
import Foundation
import Glibc
import StetLMDB
import StetStore

/// A store that carries out the same operations as a reference model.
struct SimulatedStore {
    typealias State = ReferenceModel.State
    typealias Key = ReferenceModel.Key

    let file: StoreFile

    /// Creates the store without syncs: the campaign tests the contents, not their durability.
    init(at path: String) throws {
        var sizes = StoreFile.Configuration()
        sizes.mapByteCount = 64 << 20
        let file = try StoreFile.open(at: path, schema: .simulation, sizes)
        file.close()
        var configuration = Environment.Configuration()
        configuration.skipsSync = true
        configuration.mapByteCount = 64 << 20
        let environment = try Environment.open(at: path, configuration)
        self.file = try withExtendedLifetime(environment) {
            try StoreFile.open(at: path, schema: .simulation, sizes)
        }
        for value in LargeContents.few { try LargeContents.write(value, to: self.file) }
    }

    /// The outcome of an operation, and the commit if one was written.
    typealias Result = (outcome: ReferenceModel.Outcome, commit: Commit?)

    /// Carries out an operation as the model does with `now`, the stored state at the last
    /// revision.
    func carryOut(
        _ operation: SimulatedOperation, _ now: State, _ revision: Int, nextID: UInt64
    ) throws -> Result {
        typealias Owner = ReferenceModel.Owner
        switch operation {
        case .edit(let author, let scope, let group, let isUndoable, let steps):
            var edit = SimulatedEdit(of: now, nextID: nextID)
            edit.apply(steps, at: revision + 1)
            var attributes = CommitAttributes(
                author: Owner(author, scope)?.author, scope: Owner(author, scope)?.scope)
            attributes.group = group.map(UndoGroup.simulated)
            return try save(edit.state, now, revision, attributes, isUndoable: isUndoable)
        case .undo(let author, let scope, let policy):
            return try takeBack(.undo(Owner(author, scope).owner), policy, nil, revision)
        case .redo(let author, let scope, let policy):
            return try takeBack(.redo(Owner(author, scope).owner), policy, nil, revision)
        case .revert(let number, let author, let policy):
            guard revision > 0 else { return (.nothing, nil) }
            let subject = Revision(UInt64(number % revision + 1))
            return try takeBack(.revert(subject), policy, Owner(author, false), revision)
        case .race, .fail, .kill, .reopen: return (.nothing, nil)
        }
    }

    // MARK: Saving

    private func save(
        _ state: State, _ now: State, _ revision: Int, _ attributes: CommitAttributes,
        isUndoable: Bool
    ) throws -> Result {
        if state == now { return (.nothing, nil) }
        let net = try changes(from: now, to: state)
        guard try net.violations().isEmpty else { return (.refused, nil) }
        let set = try net.encoded(
            attributes: attributes, base: Revision(UInt64(revision)), token: UInt64(revision),
            time: Double(revision + 1), for: CommitPurpose(isUndoable: isUndoable))
        do {
            return (.written, try file.commit(set))
        } catch is CommitRefusal {
            return (.refused, nil)
        }
    }

    private func changes(from before: State, to after: State) throws -> ChangeSetBuilder {
        var net = ChangeSetBuilder(schema: file.schema)
        for key in Set(after.links.keys).union(before.links.keys)
        where before.links[key] != after.links[key] {
            net.append(
                LinkChange(
                    key, before: before.links[key] ?? .absent, after: after.links[key] ?? .absent,
                    previous: try file.read { try $0.link(key).revision }))
        }
        for key in Set(after.objects.keys).union(before.objects.keys).sorted() {
            // The store derives values by itself.
            var values = after[key]
            if key.entity == SimulationEntity.item {
                for slot in SimulationEntity.derived {
                    values?[slot] = before[key]?[slot] ?? .null
                }
            }
            if values == before[key] { continue }
            let base = try file.read { reader in
                try reader.lastChange(ofEntity: key.entity, key.id, asOf: Revision(.max))?.revision
            }
            let old = before[key].map { net.encode($0, entity: key.entity) }
            let new = values.map { net.encode($0, entity: key.entity) }
            net.append(
                ChangeSetBuilder.Item(
                    kind: old == nil ? .insert : new == nil ? .delete : .update,
                    entity: key.entity, id: key.id, base: base ?? .zero, before: old ?? 0..<0,
                    after: new ?? 0..<0))
        }
        try file.read { try net.derive($0, at: $0.head().revision) }
        net.sort()
        return net
    }

    // MARK: Undo, redo, revert

    private func takeBack(
        _ request: UndoRequest, _ policy: ReferenceModel.Policy, _ owner: ReferenceModel.Owner?,
        _ revision: Int
    ) throws -> Result {
        var work = UndoWork(
            file, request, policy.policy, time: { Double(revision + 1) },
            violations: { [file] net, _ in try file.violationsOfSchema(&net) })
        work.author = owner?.author
        work.scope = owner?.scope
        do {
            guard let commit = try file.commit(&work), commit.changeCount > 0 else {
                return (.nothing, nil)
            }
            return (.written, commit)
        } catch UndoWork.Refusal.conflicts {
            return (.conflicts, nil)
        } catch UndoWork.Refusal.violations(let violations, _) {
            throw Simulation.Difference(description: "violations: \(violations.map(\.message))")
        } catch UndoWork.Refusal.contention {
            throw Simulation.Difference(description: "it never fits the store")
        }
    }

    // MARK: Looking

    func revision() throws -> Int { Int(try file.read { try $0.head().revision.number }) }

    func state(asOf revision: Int) throws -> State {
        var state = State()
        try file.read { reader in
            state.links = try reader.comparedLinks(asOf: Revision(UInt64(revision)))
            for (number, entity) in file.schema.entities.numbered {
                try reader.forEachRecord(
                    ofEntity: number, asOf: Revision(UInt64(revision))
                ) { id, record in
                    let body = try RecordBody(record.body, of: entity)
                    state[Key(entity: number, id: id)] = try entity.properties.slots.map {
                        try body.value($0)
                    }
                    return true
                }
            }
        }
        return state
    }
}

extension SimulatedStore {
    /// Returns a description of the first list of members that differs from a state.
    func differentList(from state: State, asOf revision: Int) throws -> String? {
        try file.read { reader in
            let members = WorkingState(file.schema, at: Revision(UInt64(revision)))
            for key in state.objects.keys {
                for end in file.schema.ends(ofOwner: key.entity) {
                    let (found, expected) = (
                        try members.members(of: key.id, at: end, reader),
                        state.members(of: key, at: end)
                    )
                    if found != expected {
                        return "\(key) has the members \(found) at \(end.source), not \(expected)"
                    }
                }
            }
            return nil
        }
    }
}

/// The child that carries out one operation, and is killed while it does.
struct CarryOut: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Carries out one operation of a simulation between \"ready\" and \"done\".")

    @Argument var path: String
    @Argument(help: "The operation, in JSON.")
    var operation: String
    @Option(help: "The number of the next object.")
    var nextID: UInt64

    func run() throws {
        try reportingErrors {
            let operation = try JSONDecoder().decode(
                SimulatedOperation.self, from: Data(operation.utf8))
            let store = try SimulatedStore(at: path)
            let revision = try store.revision()
            let now = try store.state(asOf: revision)
            say("ready")
            _ = try store.carryOut(operation, now, revision, nextID: nextID)
            say("done")
            withExtendedLifetime(store) { while true { pause() } }
        }
    }
}

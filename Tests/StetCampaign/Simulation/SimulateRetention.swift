import ArgumentParser
import Foundation
import StetLMDB
import StetStore
import StetTestSupport

/// Applies random commits, undos, trims, redactions, compactions and reopenings to a store, which
/// must agree with a plain array of states at every revision that remains.
struct SimulateRetention: Campaign {
    static let configuration = CommandConfiguration(
        commandName: "simulate-retention",
        abstract: "Trims, redacts and compacts in SIZE random histories, beside an array of states."
    )

    @OptionGroup var options: CampaignOptions
    @Option(help: "The operations of a history.")
    var operations = 60

    func run(_ report: Report) throws {
        try forEachCase(of: options.size, report) { index in
            let simulation = try RetentionSimulation(seed: options.seed, index)
            do {
                try simulation.run(operations)
            } catch let difference as Simulation.Difference {
                report.finding(index, difference.description, files: [simulation.path])
            }
            for (what, count) in simulation.counts { report.count(what, count) }
            report.count("histories")
        }
    }
}

/// One history.
///
/// State: belongs to the thread that runs it.
private final class RetentionSimulation {
    /// The objects, and the links that are present.
    private struct State: Hashable {
        var objects: [Workload.Key: [Value]] = [:]
        var links: [LinkKey: Membership] = [:]
    }

    private let directory = TemporaryDirectory()
    private var file: StoreFile
    private var workload: Workload
    private var random: SeededGenerator
    /// The states that the store must show at each revision; nil or an empty value where a value
    /// was redacted.
    private var states = [State()]
    private var floor = 0
    private var fileCount = 0
    private(set) var counts: [String: Int] = [:]

    var path: String { file.path }
    private var head: Int { states.count - 1 }

    init(seed: UInt64, _ index: Int) throws {
        random = SeededGenerator(seed: seed, stream: index)
        workload = Workload(
            seed: seed &+ UInt64(index), stream: index & 0xffff, changeLimit: 4)
        file = try Self.open(directory.file("0.stet"))
    }

    private static func open(_ path: String) throws -> StoreFile {
        var sizes = StoreFile.Configuration()
        sizes.mapByteCount = 256 << 20
        return try StoreFile.open(at: path, schema: .campaign, sizes)
    }

    func run(_ count: Int) throws {
        for number in 0..<count {
            do {
                try step()
            } catch let difference as Simulation.Difference {
                throw Simulation.Difference(
                    description: "operation \(number): \(difference.description)")
            } catch {
                throw Simulation.Difference(description: "operation \(number): threw \(error)")
            }
        }
        try compare()
        file.close()
    }

    private func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private func count(_ what: String) { counts[what, default: 0] += 1 }

    private func step() throws {
        switch number(20) {
        case 0..<11: try edit()
        case 11, 12: try undo()
        case 13: try trim()
        case 14..<18: try redact()
        case 18: try compact()
        default:
            file.close()
            file = try Self.open(path)
            count("reopenings")
        }
    }

    // MARK: Operations

    private func edit() throws {
        try workload.load(file)
        let edits = workload.edits()
        let commit = try file.commit(
            edits, base: workload.revision, token: .random(in: .min ... .max, using: &random))
        var state = states[head]
        for edit in edits {
            state.objects[edit.key] = edit.new
            for link in edit.links {
                state.links[link.key] = link.after.isPresent ? link.after : nil
            }
        }
        states.append(state)
        guard commit.revision == Revision(UInt64(head)) else {
            throw Simulation.Difference(description: "a commit is \(commit.revision)")
        }
        count("commits")
    }

    private func undo() throws {
        let owner = UndoOwner(author: "campaign", scope: nil)
        do {
            var work = UndoWork(
                file, .undo(owner), .skip, time: { 0 },
                violations: { [file] net, _ in try file.violationsOfSchema(&net) })
            guard let commit = try file.commit(&work) else { return }
            // A step without remaining effects is discarded by a commit without changes.
            var state = states[head]
            for change in commit.changeSet.changes { apply(change, to: &state) }
            states.append(state)
            count("undos")
        } catch is UndoWork.Refusal {
            count("refused undos")
        } catch let error as StoreError where error.code == .erased {
            states.append(states[head])
            count("erased undos")
        } catch let error as StoreError where error.code == .historyTrimmed {
            count("trimmed undos")
        }
    }

    private func apply(_ change: ObjectChange, to state: inout State) {
        guard let entity = file.schema.number(ofEntity: change.entity) else { return }
        let key = Workload.Key(entity: entity, id: change.id)
        let description = file.schema.entities[entity]
        var values = state.objects[key] ?? description.properties.map { _ in .null }
        for property in change.properties {
            if let slot = description.slot(of: property.name) { values[slot] = property.new }
        }
        state.objects[key] = change.kind == .delete ? nil : values
        for relationship in change.relationships {
            guard let link = file.schema.number(ofLink: "\(change.entity).\(relationship.name)")
            else { continue }
            for member in relationship.members {
                let key = LinkKey(link: link, source: change.id, target: member.id)
                state.links[key] = member.new.isPresent ? member.new : nil
            }
        }
    }

    private func trim() throws {
        let last = number(head + 3)
        try file.trim(through: Revision(UInt64(last)))
        floor = max(floor, min(last, head))
        count("trims")
    }

    private func redact() throws {
        // Selects a deleted object half of the time.
        let keys = Set(states[number(head + 1)].objects.keys).filter { $0.entity != 2 }.sorted()
        guard let key = keys.randomElement(using: &random) else { return }
        let entity = file.schema.entities[key.entity]
        let slots = entity.properties.slots.filter {
            entity.properties[$0].type != .reference && number(3) == 0
        }
        let request = RedactionRequest(entity: key.entity, object: key.id, slots: slots)
        do {
            try file.redact(request)
        } catch let error as StoreError where error.code == .valueInUse {
            return count("refused redactions")
        }
        for slot in slots { redact(key, slot) }
        count("redactions")
    }

    /// Removes the values of a property from the states before the one that introduced its present
    /// value.
    private func redact(_ key: Workload.Key, _ slot: Slot) {
        var first = head + 1
        if let present = states[head].objects[key]?[slot] {
            while first > 0, let values = states[first - 1].objects[key], values[slot] == present {
                first -= 1
            }
        }
        let property = file.schema.entities[key.entity].properties[slot]
        let empty: Value =
            switch property.type {
            case _ where property.isOptional: .null
            case .string: .string("")
            case .data: .data(Data())
            case .list: .list([])
            default: .int(0)
            }
        for revision in 0..<first { states[revision].objects[key]?[slot] = empty }
    }

    private func compact() throws {
        fileCount += 1
        let copy = directory.file("\(fileCount).stet")
        _ = try file.copy(to: copy)
        file.close()
        file = try Self.open(copy)
        try compare()
        count("compactions")
    }

    // MARK: Comparison

    private func compare() throws {
        if let problem = try file.verify().problems.first {
            throw Simulation.Difference(description: "verify: \(problem)")
        }
        for revision in floor...head {
            let shown = try shown(asOf: revision)
            guard shown != states[revision] else { continue }
            let expected = states[revision]
            throw Simulation.Difference(
                description: "revision \(revision) of \(floor)...\(head) is another: "
                    + difference(shown, expected))
        }
        for revision in 1..<max(floor, 1) + 1 where revision <= floor {
            do {
                _ = try file.read { try $0.commit(Revision(UInt64(revision))) }
                throw Simulation.Difference(description: "\(revision) was not trimmed")
            } catch let error as StoreError where error.code == .historyTrimmed {}
        }
    }

    private func difference(_ shown: State, _ expected: State) -> String {
        let keys = Set(shown.objects.keys).union(expected.objects.keys).sorted()
        if let key = keys.first(where: { shown.objects[$0] != expected.objects[$0] }) {
            let (values, others) = (shown.objects[key] ?? [], expected.objects[key] ?? [])
            return "\(key) is \(values), not \(others)"
        }
        let links = Set(shown.links.keys).union(expected.links.keys).sorted()
        let link = links.first { shown.links[$0] != expected.links[$0] }
        return link.map { key in
            "\(key) is \(shown.links[key] ?? .absent), not \(expected.links[key] ?? .absent)"
        } ?? ""
    }

    private func shown(asOf revision: Int) throws -> State {
        var state = State()
        try file.read { reader in
            state.links = try reader.comparedLinks(asOf: Revision(UInt64(revision)))
            for (number, entity) in file.schema.entities.numbered {
                let revision = Revision(UInt64(revision))
                try reader.forEachRecord(ofEntity: number, asOf: revision) { id, record in
                    let body = try RecordBody(record.body, of: entity)
                    state.objects[Workload.Key(entity: number, id: id)] =
                        try entity.properties.slots.map { try body.value($0) }
                    return true
                }
            }
        }
        return state
    }
}

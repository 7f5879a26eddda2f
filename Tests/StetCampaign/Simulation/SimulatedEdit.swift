import FoundationEssentials
import StetStore

/// A state that the steps of an edit are applied to.
struct SimulatedEdit {
    typealias Key = ReferenceModel.Key
    typealias Step = SimulatedOperation.Step

    private(set) var state: ReferenceModel.State
    /// The number of the next object.
    private(set) var nextID: UInt64

    init(of state: ReferenceModel.State, nextID: UInt64) {
        self.state = state
        self.nextID = nextID
    }

    /// Applies steps, and stamps the items that they change with the revision of the commit.
    mutating func apply(_ steps: [Step], at revision: Int) {
        let before = state
        for step in steps { apply(step) }
        for (key, values) in state
        where key.entity == SimulationEntity.item && before[key] != values {
            let time = Date(timeIntervalSinceReferenceDate: Double(revision))
            state[key]?[SimulationEntity.stamp] = .date(time)
        }
    }

    private func object(_ entity: Int, _ number: Int) -> Key? {
        let keys = state.keys.filter { $0.entity == entity }.sorted()
        return keys.isEmpty ? nil : keys[number % keys.count]
    }

    private func reference(_ entity: Int, _ number: Int) -> Value {
        object(entity, number).map { .reference($0.id) } ?? .null
    }

    private mutating func apply(_ step: Step) {
        switch step {
        case .insert(let entity, let value, let first, let second):
            insert(entity, value, first, second)
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
        case .move(let number, let place):
            guard let key = object(SimulationEntity.steps, number), let source = state[key]?[0]
            else { return }
            let position = position(of: source, without: key, place)
            state[key]?[SimulationEntity.position] = position
        case .delete(let entity, let number, let cascades):
            guard let key = object(entity, number) else { return }
            delete(key, cascades)
        }
    }

    private mutating func insert(_ entity: Int, _ value: Int, _ first: Int, _ second: Int) {
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
        case SimulationEntity.steps where item != .null && other != .null:
            state[key] = [item, other, position(of: item, without: key, value)]
        default: break
        }
    }

    /// A place among the steps of an item; sometimes one that is taken, as when two have appended
    /// to a list at once.
    private func position(of source: Value, without key: Key, _ number: Int) -> Value {
        let taken = state.filter {
            $0.key.entity == SimulationEntity.steps && $0.key != key && $0.value[0] == source
        }.compactMap { ListPosition($0.value) }.sorted()
        if number % 6 == 5, let last = taken.last { return .data(last.bytes) }
        let index = number % (taken.count + 1)
        let lower = index == 0 ? nil : taken[index - 1]
        let upper = taken[index...].first { lower == nil || $0 > lower! }
        return .data(ListPosition.between(lower, upper).bytes)
    }

    private mutating func delete(_ key: Key, _ cascades: Bool) {
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
                    delete(source, true)
                }
            }
        }
    }
}

import FoundationEssentials
import StetStore

/// A state to which the steps of an edit are applied.
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
        sealAnew(since: before)
        for (key, values) in state.objects
        where key.entity == SimulationEntity.item && before[key] != values {
            let time = Date(timeIntervalSinceReferenceDate: Double(revision))
            state[key]?[SimulationEntity.stamp] = .date(time)
        }
        state.derive()
    }

    private func object(_ entity: EntityNumber, _ number: Int) -> Key? {
        let keys = state.objects.keys.filter { $0.entity == entity }.sorted()
        return keys.isEmpty ? nil : keys[number % keys.count]
    }

    private func reference(_ entity: EntityNumber, _ number: Int) -> Value {
        object(entity, number).map { .reference($0.id) } ?? .null
    }

    private mutating func apply(_ step: Step) {
        switch step {
        case .insert(let entity, let value, let first, let second):
            insert(EntityNumber(entity), value, first, second)
        case .name(let entity, let number, let value):
            guard let key = object(EntityNumber(entity), number) else { return }
            state[key]?[0] = .string(value == 0 ? "" : "\(value)")
        case .rate(let number, let value):
            guard let key = object(SimulationEntity.item, number) else { return }
            state[key]?[1] = .int(value)
        case .file(let number, let content): setFile(number, content)
        case .secret(let number, let value): setSecret(number, value)
        case .count(let number, let increment): increase(number, by: increment)
        case .site(let number, let city, let size): setSite(number, city, size)
        case .member(let number, let index, let value): setMember(number, index, value)
        case .parts(let number, let change, let value): setParts(number, change, value)
        case .refer(let number, let index, let target, let place):
            refer(number, Slot(index), target, place)
        case .link(let link, let first, let second, let place):
            guard let source = object(SimulationEntity.item, first),
                let target = object(SimulationEntity.item, second)
            else { return }
            set(LinkKey(link: link, source: source.id, target: target.id), place)
        case .unlink(let link, let number):
            guard let key = self.link(link, number) else { return }
            state.links[key] = nil
        case .move(true, let number, let place):
            guard let key = link(SimulationLink.steps, number) else { return }
            set(key, place)
        case .move(false, let number, let place):
            let items = state.objects.filter {
                $0.key.entity == SimulationEntity.item
                    && $0.value[SimulationEntity.boxOfItem] != .null
            }.keys.sorted()
            guard !items.isEmpty else { return }
            let key = items[number % items.count]
            guard let owner = state[key]?[SimulationEntity.boxOfItem].target else { return }
            let position = position(
                among: state.items(ofBox: owner), without: key.id, place)
            state[key]?[SimulationEntity.boxOfItem] = .placed(owner, position)
        case .delete(let entity, let number, let cascades):
            guard let key = object(EntityNumber(entity), number) else { return }
            delete(key, cascades)
        }
    }

    private mutating func insert(_ entity: EntityNumber, _ value: Int, _ first: Int, _ second: Int)
    {
        let key = Key(entity: entity, id: ObjectID(high: 1 << 32, low: nextID))
        nextID += 1
        let text = Value.string("\(value)")
        let item = reference(SimulationEntity.item, first)
        switch entity {
        case SimulationEntity.box:
            state[key] = [text, .null, .int(0), .null, .null, .null, .list([])]
        case SimulationEntity.item:
            state[key] = [
                text, .int(0), .null, second % 3 == 0 ? .null : box(first, of: key, value),
                reference(SimulationEntity.item, second), .null, .null, .null, .list([]),
                .int(0),
            ]
        case SimulationEntity.label where item != .null: state[key] = [text, item]
        default: break
        }
    }

    private mutating func refer(_ number: Int, _ slot: Slot, _ target: Int?, _ place: Int) {
        guard let key = object(SimulationEntity.item, number) else { return }
        let value = target.map { target in
            slot == SimulationEntity.boxOfItem
                ? box(target, of: key, place) : reference(SimulationEntity.item, target)
        }
        state[key]?[slot] = value ?? .null
    }

    private mutating func increase(_ number: Int, by increment: Int) {
        guard let key = object(SimulationEntity.box, number),
            case .int(let count) = state[key]?[SimulationEntity.counter]
        else { return }
        state[key]?[SimulationEntity.counter] = .int(count + increment)
    }

    private mutating func setFile(_ number: Int, _ content: Int?) {
        guard let key = object(SimulationEntity.item, number) else { return }
        state[key]?[SimulationEntity.file] = content.map { LargeContents.few[$0] } ?? .null
    }

    // MARK: Sealed values

    private mutating func setSecret(_ number: Int, _ value: UInt8?) {
        guard let key = object(SimulationEntity.item, number),
            let box = state[key]?[SimulationEntity.boxOfItem].target
        else { return }
        state[key]?[SimulationEntity.secret] =
            value.map { SimulatedSeal.value($0, of: key.id, by: box) } ?? .null
    }

    /// Seals the values of changed items that are sealed by the keys of other boxes than their own,
    /// as a save does.
    private mutating func sealAnew(since before: ReferenceModel.State) {
        for (key, values) in state.objects
        where key.entity == SimulationEntity.item && before[key] != values {
            guard let parts = SimulatedSeal.parts(of: values[SimulationEntity.secret]),
                let box = values[SimulationEntity.boxOfItem].target, box != parts.box
            else { continue }
            state[key]?[SimulationEntity.secret] = SimulatedSeal.value(
                parts.number, of: key.id, by: box)
        }
    }

    // MARK: Embedded values

    private mutating func setSite(_ number: Int, _ city: Int?, _ size: Int?) {
        guard let key = object(SimulationEntity.box, number) else { return }
        let city = city.map { Value.string("city \($0)") }
        let values = [
            city.map { _ in .bool(true) }, city, city.flatMap { _ in size.map(Value.int) },
        ]
        for (slot, value) in zip(SimulationEntity.site, values) {
            state[key]?[slot] = value ?? .null
        }
    }

    private mutating func setMember(_ number: Int, _ index: Int, _ value: Int?) {
        guard let key = object(SimulationEntity.box, number),
            state[key]?[SimulationEntity.site[0]] != .null
        else { return }
        let value = value.map { index == 1 ? Value.string("city \($0)") : .int($0) }
        state[key]?[SimulationEntity.site[index]] = value ?? .null
    }

    private mutating func setParts(
        _ number: Int, _ change: SimulatedOperation.PartChange, _ value: Int
    ) {
        let isOfItem = value % 3 == 0
        let slot = isOfItem ? SimulationEntity.marks : SimulationEntity.parts
        guard let key = object(isOfItem ? SimulationEntity.item : SimulationEntity.box, number),
            var parts = state[key]?[slot].parts
        else { return }
        let place = parts.isEmpty ? 0 : value % parts.count
        switch change {
        case .insert where parts.count < 5:
            // An identity may be that of an element which another author has removed or added.
            let id = value % 9
            if !isOfItem, parts.contains(where: { $0.id == .int(id) }) { return }
            parts.insert(SimulatedPart(id: .int(id), text: .string("\(value % 2)")), at: place)
        case .remove where !parts.isEmpty: parts.remove(at: place)
        case .move where !parts.isEmpty: parts.insert(parts.remove(at: place), at: 0)
        case .text where !parts.isEmpty: parts[place].text = .string("\(value / 7 % 3)")
        case .note where !parts.isEmpty:
            parts[place].note = value / 7 % 3 == 0 ? .null : .string("\(value / 7 % 3)")
        default: return
        }
        state[key]?[slot] = .list(parts.map(\.value))
    }

    // MARK: Members

    private func link(_ link: Int, _ number: Int) -> LinkKey? {
        let keys = state.links.keys.filter { $0.link == link }.sorted()
        return keys.isEmpty ? nil : keys[number % keys.count]
    }

    private mutating func set(_ key: LinkKey, _ place: Int) {
        let isOrdered = key.link == SimulationLink.steps
        let steps = isOrdered ? state.steps(of: key.source) : []
        state.links[key] = .present(
            isOrdered ? position(among: steps, without: key.target, place) : nil)
    }

    private func box(_ number: Int, of item: Key, _ place: Int) -> Value {
        guard let box = object(SimulationEntity.box, number) else { return .null }
        let items = state.items(ofBox: box.id)
        return .placed(box.id, position(among: items, without: item.id, place))
    }

    /// Returns a position among members; sometimes one that is taken, as when two authors have
    /// appended to a list at the same time.
    private func position(
        among members: [MemberPlace], without id: ObjectID, _ number: Int
    ) -> ListPosition {
        let taken = members.filter { $0.id != id }.compactMap(\.position)
        if number % 6 == 5, let last = taken.last { return last }
        let index = number % (taken.count + 1)
        let lower = index == 0 ? nil : taken[index - 1]
        let upper = taken[index...].first { lower == nil || $0 > lower! }
        return ListPosition.between(lower, upper) ?? .first
    }

    // MARK: Deleting

    private mutating func delete(_ key: Key, _ cascades: Bool) {
        state[key] = nil
        if !cascades { return }
        if key.entity == SimulationEntity.item {
            for link in state.links.keys where link.source == key.id || link.target == key.id {
                state.links[link] = nil
            }
        }
        for (source, slot) in state.referrers(to: key) {
            let goes =
                SimulationEntity.isRequired(source.entity) || key.entity == SimulationEntity.box
            if !goes {
                state[source]?[slot] = .null
            } else if state[source] != nil {
                delete(source, true)
            }
        }
    }
}

import StetStore

extension ReferenceModel {
    /// All objects and links at one moment.
    struct State: Hashable {
        var objects: [Key: [Value]] = [:]
        /// The links that are present.
        var links: [LinkKey: Membership] = [:]

        subscript(_ key: Key) -> [Value]? {
            get { objects[key] }
            set { objects[key] = newValue }
        }

        /// Gives the derived attributes of all objects their values.
        mutating func derive() {
            for (key, values) in objects where key.entity == SimulationEntity.item {
                let box = values[SimulationEntity.boxOfItem].target.flatMap {
                    objects[Key(entity: SimulationEntity.box, id: $0)]
                }
                objects[key]?[SimulationEntity.boxName] = box?[0] ?? .null
                guard case .int(let rating) = values[1] else { continue }
                objects[key]?[SimulationEntity.double] = .int(2 * rating)
            }
        }

        /// Returns the objects that refer to an object, and the slots that refer to it.
        func referrers(to key: Key) -> [(Key, slot: Slot)] {
            var referrers: [(Key, slot: Slot)] = []
            for (source, values) in objects.sorted(by: { $0.key < $1.key }) {
                let slots = SimulationEntity.references[source.entity] ?? [:]
                for (slot, target) in slots.sorted(by: { $0.key < $1.key })
                where target == key.entity && values[slot].target == key.id {
                    referrers.append((source, slot))
                }
            }
            return referrers
        }

        /// Returns the items of a box, in order.
        func items(ofBox box: ObjectID) -> [MemberPlace] {
            objects.compactMap { key, values in
                guard key.entity == SimulationEntity.item,
                    case .placed(box, let position) = values[SimulationEntity.boxOfItem]
                else { return nil }
                return MemberPlace(position, key.id)
            }.sorted()
        }

        /// Returns the steps of an item, in order.
        func steps(of item: ObjectID) -> [MemberPlace] {
            members(of: item, SimulationLink.steps)
        }

        /// Returns the targets of the links of an item, in order.
        func members(of item: ObjectID, _ link: Int) -> [MemberPlace] {
            links.filter { $0.key.source == item && $0.key.link == link }
                .map { MemberPlace($0.value, $0.key.target) }.sorted()
        }

        /// Returns the sources of the links to an item.
        func sources(of item: ObjectID, _ link: Int) -> [MemberPlace] {
            links.keys.filter { $0.target == item && $0.link == link }
                .map { MemberPlace(nil, $0.source) }.sorted()
        }

        /// Returns the members of an object at an end, in order.
        func members(of key: Key, at end: MemberEnd) -> [MemberPlace] {
            switch end.source {
            case .targets(let link): return members(of: key.id, link)
            case .sources(let link): return sources(of: key.id, link)
            case .reference where end.isOrdered: return items(ofBox: key.id)
            case .reference(let slot):
                return referrers(to: key)
                    .filter { $0.0.entity == end.member && $0.slot == slot }
                    .map { MemberPlace(nil, $0.0.id) }.sorted()
            }
        }
    }
}

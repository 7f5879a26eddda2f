import StetStore

extension ReferenceModel {
    /// All objects and links at a moment.
    struct State: Hashable {
        var objects: [Key: [Value]] = [:]
        /// Those that are present.
        var links: [LinkKey: Membership] = [:]

        subscript(_ key: Key) -> [Value]? {
            get { objects[key] }
            set { objects[key] = newValue }
        }

        /// The objects that refer to an object, and where.
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

        /// The items of a box, in their order.
        func items(ofBox box: ObjectID) -> [MemberPlace] {
            objects.compactMap { key, values in
                guard key.entity == SimulationEntity.item,
                    case .placed(box, let position) = values[SimulationEntity.boxOfItem]
                else { return nil }
                return MemberPlace(position, key.id)
            }.sorted()
        }

        /// The steps of an item, in their order.
        func steps(of item: ObjectID) -> [MemberPlace] {
            members(of: item, SimulationLink.steps)
        }

        /// The targets of the links of an item, in their order.
        func members(of item: ObjectID, _ link: Int) -> [MemberPlace] {
            links.filter { $0.key.source == item && $0.key.link == link }
                .map { MemberPlace($0.value, $0.key.target) }.sorted()
        }

        /// The sources of the links to an item.
        func sources(of item: ObjectID, _ link: Int) -> [MemberPlace] {
            links.keys.filter { $0.target == item && $0.link == link }
                .map { MemberPlace(nil, $0.source) }.sorted()
        }

        /// The members of an object at an end, in their order.
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

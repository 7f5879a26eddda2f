import StetStore

/// The other ends of references that are pending: which objects refer to a target now and did not
/// when they were saved, and the other way round.
///
/// Together with the stored reverse index it answers who refers to an object.
struct InverseEnds: Equatable {
    /// A property of an object that refers to something.
    struct Referrer: Hashable {
        let entity: Int
        let slot: Int
        let source: ObjectID
    }

    private var added: [ObjectID: Set<Referrer>] = [:]
    private var removed: [ObjectID: Set<Referrer>] = [:]

    /// Moves one end from a target to another; `.none` stands for nil.
    mutating func move(_ referrer: Referrer, from old: ObjectID, to new: ObjectID) {
        guard old != new else { return }
        if old != .none, !Self.take(referrer, old, &added) {
            removed[old, default: []].insert(referrer)
        }
        if new != .none, !Self.take(referrer, new, &removed) {
            added[new, default: []].insert(referrer)
        }
    }

    private static func take(
        _ referrer: Referrer, _ target: ObjectID, _ ends: inout [ObjectID: Set<Referrer>]
    ) -> Bool {
        guard let index = ends.index(forKey: target) else { return false }
        guard ends.values[index].remove(referrer) != nil else { return false }
        if ends.values[index].isEmpty { ends.remove(at: index) }
        return true
    }

    func added(to target: ObjectID) -> Set<Referrer> { added[target] ?? [] }

    func removed(from target: ObjectID) -> Set<Referrer> { removed[target] ?? [] }
}

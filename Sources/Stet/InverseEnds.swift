import StetStore

/// The other ends of references that are pending: which objects refer to a target now and did not
/// when they were saved, and the other way round.
///
/// Together with the stored reverse index it answers who refers to an object.
struct InverseEnds {
    /// A property of an object that refers to something.
    struct Referrer: Hashable {
        let entity: Int
        let slot: Int
        let source: ObjectID
    }

    /// One end that went from a target to another; `.none` stands for nil.
    private struct Move {
        let referrer: Referrer
        let old: ObjectID
        let new: ObjectID
    }

    /// What nobody has asked for since it was noted, in order: most ends are never asked for, and
    /// noting one is a tenth of the work of entering it.
    private var moves: [Move] = []
    private var added: [ObjectID: Set<Referrer>] = [:]
    private var removed: [ObjectID: Set<Referrer>] = [:]
    /// So many moves are kept at most: the same end may move again and again.
    private static let moveLimit = 1 << 18

    /// Moves one end from a target to another; `.none` stands for nil.
    mutating func move(_ referrer: Referrer, from old: ObjectID, to new: ObjectID) {
        guard old != new else { return }
        moves.append(Move(referrer: referrer, old: old, new: new))
        if moves.count == Self.moveLimit { enterMoves() }
    }

    private mutating func enterMoves() {
        for move in moves {
            if move.old != .none, !Self.take(move.referrer, move.old, &added) {
                removed[move.old, default: []].insert(move.referrer)
            }
            if move.new != .none, !Self.take(move.referrer, move.new, &removed) {
                added[move.new, default: []].insert(move.referrer)
            }
        }
        moves = []
    }

    private static func take(
        _ referrer: Referrer, _ target: ObjectID, _ ends: inout [ObjectID: Set<Referrer>]
    ) -> Bool {
        guard let index = ends.index(forKey: target) else { return false }
        guard ends.values[index].remove(referrer) != nil else { return false }
        if ends.values[index].isEmpty { ends.remove(at: index) }
        return true
    }

    mutating func addedCount(to target: ObjectID) -> Int {
        enterMoves()
        return added[target]?.count ?? 0
    }

    mutating func added(to target: ObjectID) -> Set<Referrer> {
        enterMoves()
        return added[target] ?? []
    }

    mutating func removed(from target: ObjectID) -> Set<Referrer> {
        enterMoves()
        return removed[target] ?? []
    }
}

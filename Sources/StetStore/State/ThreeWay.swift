/// The rule by which the changes of two sides are merged: a change of one side is taken, and a
/// value that both have changed differently is contested.
///
/// Merges, later edits, applied change sets, undo, redo and revert all use it. For an undo, the
/// base is the value after the commit, and the wanted value is the one before it.
package enum ThreeWay: Hashable, Sendable {
    /// The present value stays: no other is wanted, or it already is the wanted one.
    case theirs
    /// The wanted value is taken.
    case mine
    /// Both sides have changed the value, differently.
    case contested

    /// Decides about a value that both sides may have changed: `base` is the common base, `mine`
    /// the wanted value, `theirs` the present one.
    package static func decide<T>(
        base: T, mine: T, theirs: T, _ areEqual: (T, T) -> Bool
    ) -> ThreeWay {
        if areEqual(mine, base) || areEqual(mine, theirs) { return .theirs }
        return areEqual(theirs, base) ? .mine : .contested
    }

    /// Decides about a cell of a body, as `decide` does.
    ///
    /// The position of a reference is never contested: when both sides have moved the object within
    /// the list of the same owner, `favorsMine` decides whose position it gets.
    package static func decide(
        base: Cell?, mine: Cell?, theirs: Cell?, hasPosition: Bool, favorsMine: Bool
    ) -> ThreeWay {
        guard hasPosition else {
            return decide(base: base, mine: mine, theirs: theirs, Cell.areEqual)
        }
        let targets = decide(
            base: base?.target, mine: mine?.target, theirs: theirs?.target, ==)
        guard targets == .theirs else { return targets }
        // Positions in lists of different owners cannot be compared.
        guard mine?.target == theirs?.target, base?.target == theirs?.target else {
            return .theirs
        }
        switch decide(base: base, mine: mine, theirs: theirs, Cell.areEqual) {
        case .contested: return favorsMine ? .mine : .theirs
        case let decision: return decision
        }
    }

    /// Decides about a membership, as `decide` does; a position is never contested.
    package static func decide(
        base: Membership, mine: Membership, theirs: Membership, favorsMine: Bool
    ) -> ThreeWay {
        let presence = decide(
            base: base.isPresent, mine: mine.isPresent, theirs: theirs.isPresent, ==)
        guard presence == .theirs else { return presence }
        guard base.isPresent, mine.isPresent, theirs.isPresent else { return .theirs }
        switch decide(base: base, mine: mine, theirs: theirs, ==) {
        case .contested: return favorsMine ? .mine : .theirs
        case let decision: return decision
        }
    }
}

extension Cell {
    /// The id that a reference refers to; nil for other cells.
    package var target: ObjectID? {
        guard case .bytes(let bytes) = self, bytes.count >= 16 else { return nil }
        return ObjectID(bytes: bytes)
    }
}

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
    /// Both sides have incremented a counter: it gets the sum, as it is stored.
    case counted(UInt64)
    /// Both sides have incremented a counter, and the sum is not a value of its type.
    case overflowing
    /// Both sides have changed elements of an array: it gets the changes of both.
    case merged(Value)
    /// Both sides have changed elements of an array, some of them differently: these are as the
    /// favored side wants them in the value.
    case mergedInPart(Value)

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
    /// the list of the same owner, `favorsMine` decides whose position it gets. Nor is a counter,
    /// which gets the increments of both sides. A derived attribute follows its expression.
    ///
    /// - Throws: `DecodingFailure` when the cells are no values of the property.
    package static func decide(
        base: Cell?, mine: Cell?, theirs: Cell?, of property: Property, favorsMine: Bool
    ) throws(DecodingFailure) -> ThreeWay {
        if property.isDerived { return .theirs }
        guard property.hasPosition else {
            if property.isCounter,
                let decision = count(
                    base: base?.word, mine: mine?.word, theirs: theirs?.word, as: property.type)
            {
                return decision
            }
            let decision = decide(base: base, mine: mine, theirs: theirs, Cell.areEqual)
            guard decision == .contested, property.embedded?.identity != nil else {
                return decision
            }
            return decide(
                base: try property.value(base), mine: try property.value(mine),
                theirs: try property.value(theirs), of: property, favorsMine: favorsMine)
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

    /// Decides about a value without a position that is no counter, by element if it is an array
    /// whose elements have an identity.
    package static func decide(
        base: Value, mine: Value, theirs: Value, of property: Property, favorsMine: Bool
    ) -> ThreeWay {
        let decision = decide(base: base, mine: mine, theirs: theirs, ==)
        guard decision == .contested,
            let merge = ElementMerge(
                base: base, mine: mine, theirs: theirs, of: property, favorsMine: favorsMine)
        else { return decision }
        return merge.isContested ? .mergedInPart(merge.list) : .merged(merge.list)
    }

    /// Decides about a counter: the difference between `mine` and `base` is added to `theirs`; nil
    /// when one of them has no value.
    package static func count(
        base: UInt64?, mine: UInt64?, theirs: UInt64?, as type: ValueType
    ) -> ThreeWay? {
        guard let base, let mine, let theirs else { return nil }
        if mine == base { return .theirs }
        if theirs == base { return .mine }
        func number(_ word: UInt64) -> Int128 {
            type.widest == .uint ? Int128(word) : Int128(Int64(bitPattern: word))
        }
        let sum = number(theirs) + number(mine) - number(base)
        let word =
            type.widest == .uint
            ? UInt64(exactly: sum) : Int64(exactly: sum).map(UInt64.init(bitPattern:))
        guard let word, (try? Value(inlineWord: word, type: type)) != nil else {
            return .overflowing
        }
        return .counted(word)
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
    /// The bytes of a value that fits a slot; nil for other cells.
    package var word: UInt64? { if case .word(let word) = self { word } else { nil } }

    /// The id that a reference refers to; nil for other cells.
    package var target: ObjectID? {
        guard case .bytes(let bytes) = self, bytes.count >= 16 else { return nil }
        return ObjectID(bytes: bytes)
    }
}

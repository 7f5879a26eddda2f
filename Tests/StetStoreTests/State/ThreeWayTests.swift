import StetStore
import Testing

/// The rule by which two sides are brought together, case by case.
struct ThreeWayTests {
    /// Every combination of a few values is compared with a second statement of the rule.
    @Test func aValueThatOneSideHasChangedIsTaken() {
        for base in 0..<3 {
            for mine in 0..<3 {
                for theirs in 0..<3 {
                    let decision = ThreeWay.decide(base: base, mine: mine, theirs: theirs, ==)
                    let expected: ThreeWay =
                        switch (mine != base, theirs != base) {
                        case (false, _): .theirs
                        case (true, false): .mine
                        case (true, true): mine == theirs ? .theirs : .contested
                        }
                    #expect(decision == expected, "\(base) \(mine) \(theirs)")
                }
            }
        }
    }

    /// Nobody; two owners, in whose lists there are two positions each.
    private static let places: [(owner: Int, position: Int)?] =
        [nil] + [1, 2].flatMap { owner in [7, 8].map { (owner, $0) } }

    private func decide(
        _ base: (owner: Int, position: Int)?, _ mine: (owner: Int, position: Int)?,
        _ theirs: (owner: Int, position: Int)?, favorsMine: Bool
    ) throws -> ThreeWay {
        func bytes(_ place: (owner: Int, position: Int)?) -> [UInt8]? {
            place.map { ObjectID.fixed($0.owner).bytes + ListPosition.at($0.position).bytes }
        }
        func with(_ bytes: [UInt8]?, _ body: (Cell?) throws -> ThreeWay) throws -> ThreeWay {
            guard let bytes else { return try body(nil) }
            return try bytes.withUnsafeBytes { try body(.bytes($0)) }
        }
        return try with(bytes(base)) { base in
            try with(bytes(mine)) { mine in
                try with(bytes(theirs)) { theirs in
                    try ThreeWay.decide(
                        base: base, mine: mine, theirs: theirs,
                        of: Property(
                            name: "box", type: .reference, target: "Box", hasPosition: true),
                        favorsMine: favorsMine)
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func ownersAreContestedAndPositionsNever(favorsMine: Bool) throws {
        for base in Self.places {
            for mine in Self.places {
                for theirs in Self.places {
                    let owners = ThreeWay.decide(
                        base: base?.owner, mine: mine?.owner, theirs: theirs?.owner, ==)
                    var expected = owners
                    // If all three agree on the list, the positions are compared.
                    if base?.owner == mine?.owner, base?.owner == theirs?.owner {
                        expected = ThreeWay.decide(
                            base: base?.position, mine: mine?.position,
                            theirs: theirs?.position, ==)
                        if expected == .contested { expected = favorsMine ? .mine : .theirs }
                    }
                    #expect(
                        try decide(base, mine, theirs, favorsMine: favorsMine) == expected,
                        "\(String(describing: (base, mine, theirs)))")
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func aMembershipIsNeverContested(favorsMine: Bool) {
        let memberships: [Membership] = [
            .absent, .present(.at(1)), .present(.at(2)), .present(nil),
        ]
        for base in memberships {
            for mine in memberships {
                for theirs in memberships {
                    let decision = ThreeWay.decide(
                        base: base, mine: mine, theirs: theirs, favorsMine: favorsMine)
                    let expected: ThreeWay
                    if mine.isPresent != base.isPresent {
                        // Two sides that add or remove the same member agree.
                        expected = mine.isPresent == theirs.isPresent ? .theirs : .mine
                    } else if mine == base || mine == theirs || !theirs.isPresent {
                        expected = .theirs
                    } else {
                        expected = theirs == base || favorsMine ? .mine : .theirs
                    }
                    #expect(decision == expected, "\(base) \(mine) \(theirs)")
                }
            }
        }
    }

    /// Every combination of a few numbers near both ends of a type is compared with a sum in a
    /// wider one.
    @Test(arguments: [ValueType.int8, .int, .uint8, .uint])
    func aCounterGetsTheIncrementsOfBothSides(type: ValueType) throws {
        let isUnsigned = type.widest == .uint
        let most: Int128 =
            switch type {
            case .int8: 127
            case .uint8: 255
            case .int: Int128(Int64.max)
            default: Int128(UInt64.max)
            }
        let least = isUnsigned ? 0 : -most - 1
        let numbers = [least, least + 1, least + 2, 3, most - 1, most]
        func word(_ number: Int128) -> UInt64 { UInt64(truncatingIfNeeded: number) }
        let counter = Property(name: "count", type: type, isCounter: true)
        for base in numbers {
            for mine in numbers {
                for theirs in numbers {
                    let sum = theirs + mine - base
                    let expected: ThreeWay =
                        mine == base
                        ? .theirs
                        : theirs == base
                            ? .mine
                            : (least...most).contains(sum) ? .counted(word(sum)) : .overflowing
                    let decision = try ThreeWay.decide(
                        base: .word(word(base)), mine: .word(word(mine)),
                        theirs: .word(word(theirs)), of: counter, favorsMine: false)
                    #expect(decision == expected, "\(type): \(base) \(mine) \(theirs)")
                }
            }
        }
        // A redacted value has no increment.
        let missing = try ThreeWay.decide(
            base: nil, mine: .word(1), theirs: .word(2), of: counter, favorsMine: false)
        #expect(missing == .contested)
    }

    @Test func theTargetOfACellIsItsObjectWithOrWithoutAPosition() {
        let id = ObjectID.fixed(7)
        for bytes in [id.bytes, id.bytes + ListPosition.first.bytes] {
            bytes.withUnsafeBytes { #expect(Cell.bytes($0).target == id) }
        }
        [UInt8](repeating: 0, count: 15).withUnsafeBytes {
            #expect(Cell.bytes($0).target == nil)
        }
        #expect(Cell.word(7).target == nil)
    }
}

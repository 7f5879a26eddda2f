import Stet
import StetStore
import StetTestSupport
import Testing

/// The models of P6: a rule of each kind.
enum Rulebook {
    @Model final class Club {
        @Attribute(.unique, .matches("[a-z][0-9]*")) var code: String
        @Attribute(.oneOf("red", "green", "blue")) var colour: String = "red"
        @Relationship(.count(1...3), inverse: \Player.club) var players: ToMany<Player>

        init(code: String) { self.code = code }
    }

    @Model final class Player {
        @Attribute(.notEmpty, .length(...3)) var name: String
        @Attribute(.range(0...9)) var low: Int = 3
        @Attribute(.range(0...9)) var high: Int = 6
        @Relationship(.required) var club: Club?

        init(name: String, club: Club) {
            self.name = name
            self.club = club
        }

        static var validators: Validators<Player> {
            Validators { validation in
                guard let new = validation.new, new.low > new.high else { return }
                validation.report("low is above high")
            }
        }
    }
}

/// Random edits of clubs and players by several authors, undone in every way.
private final class RandomClubs {
    typealias Club = Rulebook.Club
    typealias Player = Rulebook.Player

    private let directory = TemporaryDirectory()
    let store: Store
    private var random: SeededGenerator
    private var last = (kind: 0, club: 0, player: 0)

    init(_ seed: UInt64) throws {
        store = try Store.open(at: directory.file("clubs.stet"), for: Club.self, Player.self)
        random = SeededGenerator(seed: 0x57e7_4600, stream: Int(seed))
        let context = store.context()
        for number in 0..<3 {
            let club = Club(code: "c\(number)")
            for name in ["x", "y"] { context.insert(Player(name: name, club: club)) }
        }
        try context.save()
    }

    func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    /// One commit, or none when it was refused.
    func edit(_ author: String) throws {
        let context = store.context(author: author)
        for _ in 0...number(2) { try step(context) }
        do { try context.save() } catch is ValidationError {}
    }

    private func step(_ context: ManagedContext) throws {
        let clubs = try context.fetch(Club.self).all()
        let players = try context.fetch(Player.self).all()
        if clubs.isEmpty || players.isEmpty { return }
        // Often edits the objects of the last step again, so that the authors conflict.
        if number(2) == 0 { last = (number(9), number(99), number(99)) }
        let club = clubs[last.club % clubs.count]
        let player = players[last.player % players.count]
        switch last.kind {
        case 0:
            let club = Club(code: "n\(number(9))")
            context.insert(Player(name: "z", club: club))
        case 1: context.insert(Player(name: "p\(number(9))", club: club))
        case 2: player.club = club
        case 3: player.low = number(10)
        case 4: player.high = number(10)
        case 5: player.name = "q\(number(99))"
        case 6: club.code = "c\(number(9))"
        case 7: club.colour = ["red", "green", "blue"][number(3)]
        default: context.delete(player)
        }
    }

    /// Leaves out, overwrites, or answers with a value that is right or wrong.
    func policy() -> UndoPolicy {
        switch number(4) {
        case 0: return .skip
        case 1: return .overwrite
        default:
            let text = ["c1", "blue", "", "too long", "é"][number(5)]
            let rating = [-1, 5, 10][number(3)]
            return .resolve { conflict in
                guard conflict.kind == .changed, let property = conflict.property else {
                    return .keep
                }
                let isNumber = ["low", "high"].contains(property)
                if property == "club" { return .restore }
                return .set([property: isNumber ? .int(rating) : .string(text)])
            }
        }
    }

    /// Returns the faults of the store, determined in plain Swift.
    func faults() throws -> [String] {
        let context = store.context()
        var faults: [String] = []
        let clubs = try context.fetch(Club.self).all()
        let players = try context.fetch(Player.self).all()
        if Set(clubs.map(\.code)).count != clubs.count { faults.append("codes are not unique") }
        for club in clubs {
            let scalars = Array(club.code.unicodeScalars)
            let isRight =
                scalars.first.map { ("a"..."z").contains($0) } ?? false
                && scalars.dropFirst().allSatisfy { ("0"..."9").contains($0) }
            if !isRight { faults.append("a code is \(club.code)") }
            if !["red", "green", "blue"].contains(club.colour) { faults.append(club.colour) }
            let count = players.count { $0.club === club }
            if !(1...3).contains(count) { faults.append("a club has \(count) players") }
        }
        for player in players {
            if !(1...3).contains(player.name.count) { faults.append("a name: \(player.name)") }
            if !(0...9).contains(player.low) || !(0...9).contains(player.high) {
                faults.append("\(player.low) to \(player.high)")
            }
            if player.low > player.high { faults.append("\(player.low) is above") }
            if !clubs.contains(where: { $0 === player.club }) { faults.append("no club") }
        }
        return faults
    }
}

struct UndoRuleTests {
    @Test("P6 What undo, redo and revert write keeps every rule that a save keeps")
    func undosAreValid() throws {
        var codes: Set<Violation.Code> = []
        var written = 0
        for seed in UInt64(0)..<40 {
            let clubs = try RandomClubs(seed)
            for _ in 0..<12 {
                try clubs.edit("a")
                try clubs.edit("b")
                try clubs.edit("b")
                let revision = try clubs.store.revision()
                do {
                    if try takeBack(clubs) != nil { written += 1 }
                } catch let error as ValidationError {
                    codes.formUnion(error.violations.map(\.code))
                    #expect(try clubs.store.revision() == revision, "seed \(seed)")
                } catch is UndoConflictError {}
                #expect(try clubs.faults() == [], "seed \(seed)")
            }
            #expect(try clubs.store.verify().problems == [], "seed \(seed)")
            clubs.store.close()
        }
        #expect(written > 100)
        // Every code occurred, caused by commits of others or by answers to conflicts.
        let met: Set<Violation.Code> = [
            .custom, .tooFew, .tooMany, .wrongPattern, .notOneOf, .tooShort, .tooLong, .tooSmall,
            .tooLarge,
        ]
        #expect(met.subtracting(codes) == [])
    }

    @Test(
        "U14 What a validator forbids because of a later edit is not written, whatever the policy",
        arguments: [0, 1, 2])
    func aLaterEditMakesItInvalid(policy: Int) throws {
        let policy = [UndoPolicy.fail, .skip, .overwrite][policy]
        let store = try Store.inMemory(for: Rulebook.Club.self, Rulebook.Player.self)
        let player = Rulebook.Player(name: "x", club: Rulebook.Club(code: "c"))
        func edit(_ author: String?, _ body: (Rulebook.Player) -> Void) throws {
            let context = store.context(author: author)
            body(try #require(try context.object(Rulebook.Player.self, id: player.id)))
            try context.save()
        }
        let context = store.context()
        context.insert(player)
        try context.save()
        try edit("a") { $0.low = 1 }
        try edit("b") { $0.high = 2 }
        let (stack, revision) = (try store.undoStack(author: "a"), try store.revision())
        // The former low, 3, is above the new high.
        let error = #expect(throws: ValidationError.self) {
            try store.undo(author: "a", policy: policy)
        }
        #expect(error?.violations.map(\.message) == ["low is above high"])
        #expect(try store.revision() == revision)
        #expect(try store.undoStack(author: "a") == stack)
        try edit("b") { $0.high = 6 }
        #expect(try store.undo(author: "a", policy: policy) != nil)
        #expect(try store.object(Rulebook.Player.self, id: player.id)?.low == 3)
    }

    private func takeBack(_ clubs: RandomClubs) throws -> Commit? {
        let store = clubs.store
        switch clubs.number(4) {
        case 0, 1: return try store.undo(author: "a", policy: clubs.policy())
        case 2: return try store.redo(author: "a", policy: clubs.policy())
        default:
            let last = Int(try store.revision().number)
            if last == 1 { return nil }
            // Never reverts the first commit, without which little is left to edit.
            let revision = Revision(UInt64(clubs.number(last - 1) + 2))
            return try store.revert(revision, author: "a", policy: clubs.policy())
        }
    }
}

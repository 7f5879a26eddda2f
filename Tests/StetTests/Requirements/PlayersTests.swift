import Foundation
import Stet
import StetTestSupport
import Testing

// Document 000: validation of players, as its reader would write it.

extension Violation.Code {
    fileprivate static let nameOfNobody = Violation.Code(domain: "Players", number: 7)
}

@Model private final class Team {
    @Attribute(.trimmed, .notEmpty, .unique) var name: String

    init(name: String) { self.name = name }
}

@Model private final class Player {
    @Attribute(.trimmed, .notEmpty, .length(...20)) var name: String
    @Attribute(.range(16...50)) var age: Int
    var team: Team?
    var isCaptain: Bool = false
    #Unique<Player>(\.name, \.team)

    init(name: String, age: Int, team: Team?) {
        self.name = name
        self.age = age
        self.team = team
    }

    static var validators: Validators<Player> {
        Validators(
            .property(\.name) { name in
                if name.value.contains(where: \.isNumber) {
                    name.report(
                        "{property} can't contain digits", code: .nameOfNobody,
                        reason: "names are called out")
                }
            },
            .object(on: .insert) { player in
                if let new = player.new, new.age > 40 {
                    player.report(\.age, "a new player is at most 40")
                }
            },
            .object(on: .update) { player in
                if let old = player.old, let new = player.new, new.age < old.age {
                    player.report(\.age, "nobody gets younger")
                }
            },
            .object(on: .delete) { player in
                if player.old?.isCaptain ?? false { player.report("a captain stays") }
            })
    }
}

/// The parts of a violation that are compared.
private struct Told: Equatable, CustomStringConvertible {
    var code: Int
    var property: String?
    var message: String

    init(_ code: Int, _ property: String?, _ message: String) {
        self.code = code
        self.property = property
        self.message = message
    }

    init(_ violation: Violation) {
        self.init(violation.code.number, violation.property, violation.message)
    }

    var description: String { "\(code) \(property ?? "-") \(message)" }
}

@Suite struct PlayersTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext

    init() throws {
        store = try Store.open(at: directory.file(), for: Player.self, Team.self)
        context = store.context(author: "coach")
    }

    /// Returns the violations that a call reports; none when it succeeds.
    private func told(_ body: () throws -> Void) throws -> [Told] {
        do {
            try body()
            return []
        } catch let error as ValidationError {
            return error.violations.map(Told.init)
        }
    }

    private func saved(_ name: String, age: Int = 20) throws -> (Player, Team) {
        let team = Team(name: "Reds")
        let player = Player(name: name, age: age, team: team)
        context.insert(player)
        try context.save()
        return (player, team)
    }

    @Test("A1 a name is trimmed, and then neither empty nor what a validator refuses")
    func a1Names() throws {
        let (player, _) = try saved("  Ada ")
        #expect(player.name == "Ada")
        player.name = " \n "
        #expect(try told { try context.save() } == [Told(1670, "name", "name can't be empty")])
        #expect(player.name == "Ada")
        player.name = " R2 "
        let found = try told { try context.save() }
        #expect(found == [Told(7, "name", "name can't contain digits")])
        #expect(player.snapshot.name == "Ada")
        #expect(!context.hasChanges)
        player.name = " Grace "
        #expect(try context.save() != nil)
        #expect(player.name == "Grace")
    }

    @Test("A2 one value is checked before the save, normalised, and nothing is changed")
    func a2Early() throws {
        let (player, _) = try saved("Ada")
        #expect(try Player.validate("  Grace ", for: \.name) == "Grace")
        #expect(
            try told { try Player.validate("  ", for: \.name) }
                == [Told(1670, "name", "name can't be empty")])
        #expect(
            try told { try Player.validate("R2", for: \.name) }
                == [Told(7, "name", "name can't contain digits")])
        #expect(
            try told { try Player.validate(51, for: \.age) }
                == [Told(1610, "age", "age can't be greater than 50")])
        player.name = "  "
        player.age = 15
        #expect(
            try told { try player.validate(\.name) } == [Told(1670, "name", "name can't be empty")])
        #expect(
            try told { try player.validate(\.age) } == [
                Told(1620, "age", "age must be at least 16")
            ])
        #expect(player.name == "  ")
        #expect(player.age == 15)
        #expect(context.hasChanges)
        player.name = "  Grace "
        #expect(try player.validate(\.name) == "Grace")
        #expect(player.name == "  Grace ")
        #expect(try store.revision() == 1)
    }

    @Test("A3 each operation has its validators, which come after the rules of the properties")
    func a3Operations() throws {
        let (player, _) = try saved("Ada", age: 30)
        context.insert(Player(name: "Old", age: 41, team: nil))
        #expect(
            try told { try context.save() } == [Told(1550, "age", "a new player is at most 40")])
        player.age = 41
        #expect(try context.save() != nil)
        player.age = 40
        #expect(try told { try context.save() } == [Told(1550, "age", "nobody gets younger")])
        #expect(player.age == 41)
        player.age = 15
        #expect(try told { try context.save() } == [Told(1620, "age", "age must be at least 16")])
        player.isCaptain = true
        try context.save()
        context.delete(player)
        #expect(try told { try context.save() } == [Told(1550, nil, "a captain stays")])
        #expect(!player.isDeleted)
        for age in [16, 40] {
            context.insert(Player(name: "of age \(age == 16 ? "a" : "b")", age: age, team: nil))
            #expect(try context.save() != nil)
        }
    }

    @Test("A4 one error has all violations, flat, in a total order, with Core Data's codes")
    func a4SeveralViolations() throws {
        let (player, team) = try saved("Ada")
        let captain = Player(name: "Captain", age: 20, team: team)
        captain.isCaptain = true
        context.insert(captain)
        try context.save()
        for _ in 0..<3 {
            player.age = 5
            player.name = ""
            team.name = " "
            context.delete(captain)
            context.insert(Player(name: String(repeating: "x", count: 21), age: 60, team: team))
            let error = try #require(throws: ValidationError.self) { try context.save() }
            #expect(error.code == Violation.Code(domain: "Stet", number: 1560))
            #expect(
                error.violations.map(Told.init) == [
                    Told(1550, nil, "a captain stays"),
                    Told(1660, "name", "name can't be longer than 20 characters"),
                    Told(1610, "age", "age can't be greater than 50"),
                    Told(1670, "name", "name can't be empty"),
                    Told(1620, "age", "age must be at least 16"),
                    Told(1670, "name", "name can't be empty"),
                ])
            #expect(
                error.violations.map(\.operation)
                    == [.delete, .insert, .insert, .update, .update, .update])
            #expect(error.violations.map(\.entity).last == "Team")
        }
        player.age = 5
        let single = try #require(throws: ValidationError.self) { try context.save() }
        #expect(single.code == .tooSmall)
        #expect(single.violations.count == 1)
    }

    @Test("A5 a violation has the code of its rule, or the domain and code of the validator")
    func a5Codes() throws {
        let (player, _) = try saved("Ada")
        player.name = "R2"
        let own = try #require(throws: ValidationError.self) { try context.save() }
        #expect(own.code == Violation.Code(domain: "Players", number: 7))
        #expect(own.violations.map(\.failureReason) == ["names are called out"])
        #expect(own.violations.map(\.value) == [.string("R2")])
        player.age = 51
        let ofRule = try #require(throws: ValidationError.self) { try context.save() }
        #expect(ofRule.code == Violation.Code(domain: "Stet", number: 1610))
        #expect(ofRule.violations.map(\.rule) == [".range(16...50)"])
        #expect(ofRule.violations.map(\.value) == [.int(51)])
        #expect(ofRule.redacted.violations.map(\.value) == [nil])
    }

    @Test("A6 a player, and the name of a team, is taken once; both objects are named")
    func a6Unique() throws {
        let (player, team) = try saved("Ada")
        let other = Team(name: " Reds ")
        context.insert(other)
        let taken = try #require(throws: ValidationError.self) { try context.save() }
        #expect(
            taken.violations.map(Told.init)
                == [Told(1551, "name", "name is already taken by another Team")])
        #expect(taken.violations.map(\.object) == [other.id])
        #expect(taken.violations.map(\.other) == [team.id])
        let double = Player(name: "Ada", age: 20, team: team)
        context.insert(double)
        let twice = try #require(throws: ValidationError.self) { try context.save() }
        #expect(
            twice.violations.map(Told.init) == [
                Told(1551, nil, "name and team together are already taken by another Player")
            ])
        #expect(twice.violations.map(\.other) == [player.id])
        let early = Team(name: "Reds")
        context.insert(early)
        let found = try #require(throws: ValidationError.self) { try early.validate(\.name) }
        #expect(found.violations.map(\.other) == [team.id])
        early.name = "Blues"
        context.insert(Player(name: "Ada", age: 20, team: early))
        #expect(try early.validate(\.name) == "Blues")
        #expect(try context.save() != nil)
    }
}

import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

@Model private final class Team {
    @Attribute(.trimmed, .notEmpty, .unique(.caseInsensitive)) var name: String
    var city: String?
    var league: Int = 0
    @Attribute(.indexed) var founded: Date?
    #Unique<Team>(\.city, \.league)
    #Index<Team>(\.league, \.name, comparing: [.caseInsensitive, .diacriticInsensitive])

    init(_ name: String, city: String? = nil, league: Int = 0) {
        self.name = name
        self.city = city
        self.league = league
    }
}

/// No two objects with the same values, whoever saves, and the loser learns who has them.
@MainActor @Suite struct UniquenessTests {
    private let directory = TemporaryDirectory()
    private let store: Store

    init() throws {
        var configuration = Store.Configuration()
        configuration.mapByteCount = 1 << 30
        store = try Store.open(
            at: directory.file(), for: Team.self, configuration: configuration)
    }

    /// A team that is saved, in a context of its own.
    private func saved(_ name: String, city: String? = nil, league: Int = 0) throws -> ObjectID {
        let context = store.context()
        let team = Team(name, city: city, league: league)
        context.insert(team)
        try context.save()
        return team.id
    }

    private func violations(_ body: () throws -> Void) -> [Violation] {
        do {
            try body()
            return []
        } catch {
            return (error as? ValidationError)?.violations ?? []
        }
    }

    @Test func optionsOfTheModelBecomeIndexesOfTheStore() {
        #expect(
            store.file.schema.entities[0].indexes == [
                EntityIndex([.init(slot: 0, folding: .caseInsensitive)], isUnique: true),
                EntityIndex([.init(slot: 1), .init(slot: 2)], isUnique: true),
                EntityIndex([
                    .init(slot: 2),
                    .init(slot: 0, folding: [.caseInsensitive, .diacriticInsensitive]),
                ]),
                EntityIndex([.init(slot: 3)]),
            ])
    }

    @Test(arguments: [true, false])
    func theViolationNamesPropertyAndOwnerAndTheContextSeesTheOwner(isStale: Bool) throws {
        let early = store.context()
        let owner = try saved("Tigers", city: "Kiel", league: 2)
        let context = isStale ? early : store.context()
        let team = Team(" TIGERS ", city: "Kiel", league: 2)
        context.insert(team)
        let found = violations { try context.save() }
        #expect(
            found.map(\.message) == [
                "name is already taken by another Team",
                "city and league together are already taken by another Team",
            ])
        try #require(found.map(\.code) == [.notUnique, .notUnique])
        #expect(found[0].code.number == 1551)
        #expect(found.map(\.property) == ["name", nil])
        #expect(found.map(\.object) == [team.id, team.id])
        #expect(found.map(\.other) == [owner, owner])
        #expect(try context.object(Team.self, id: owner)?.name == "Tigers")
        #expect(!context.hasChanges)
        #expect(team.context == nil)
        let data = try JSONEncoder().encode(found)
        #expect(try JSONDecoder().decode([Violation].self, from: data) == found)
    }

    @Test func everyViolationIsInOneErrorInTotalOrder() throws {
        let owner = try saved("Tigers")
        let context = store.context()
        let teams = [Team("tigers"), Team("Lions"), Team(""), Team("LIONS")]
        teams.forEach { context.insert($0) }
        let found = violations { try context.validate() }
        #expect(found.map(\.object) == teams.map(\.id))
        #expect(found.map(\.code) == [.notUnique, .notUnique, .tooShort, .notUnique])
        #expect(found.map(\.other) == [owner, teams[3].id, nil, teams[1].id])
        #expect(context.hasChanges)
    }

    @Test func swappedValuesAreSavedAndFreedOnesCanBeUsed() throws {
        let ids = [try saved("one"), try saved("two"), try saved("three")]
        let context = store.context()
        let teams = try ids.map { try #require(try context.object(Team.self, id: $0)) }
        (teams[0].name, teams[1].name) = ("two", "one")
        context.delete(teams[2])
        let heir = Team("three")
        context.insert(heir)
        try context.save()
        #expect(try context.object(Team.self, where: \.name, is: "one") === teams[1])
        #expect(try context.object(Team.self, where: \.name, is: "THREE") === heir)
        #expect(try store.verify().problems == [])
    }

    @Test func pendingChangesThatAreKeptCanBeMended() throws {
        let context = store.context()
        let owner = try saved("Tigers")
        let team = Team("tigers")
        context.insert(team)
        let found = violations { try context.save(onFailure: .keepPending) }
        #expect(found.map(\.other) == [owner])
        #expect(context.hasChanges)
        #expect(team.isInserted)
        team.name = "Lions"
        #expect(try context.save() != nil)
    }

    @Test func anOwnerThatIsGoneMeanwhileIsNoObstacle() throws {
        let context = store.context()
        let owner = try saved("Tigers")
        let other = store.context()
        other.delete(try #require(try other.object(Team.self, id: owner)))
        try other.save()
        context.insert(Team("Tigers"))
        #expect(try context.save() != nil)
    }

    // MARK: Asynchronous saves

    @Test(arguments: [true, false], [true, false])
    func aFlightThatLosesIsToldOfTheWinner(hasLaterEdits: Bool, keeps: Bool) async throws {
        let (winner, loser) = (store.context(), store.context())
        let (first, second) = (Team("Tigers"), Team("tigers"))
        winner.insert(first)
        loser.insert(second)
        let held = HeldWriter(store.file.environment)
        let winning = Task { try await winner.save() }
        await until { winner.core.saves.inFlight != nil }
        let losing = Task { try await loser.save(onFailure: keeps ? .keepPending : .rollback) }
        await until { loser.core.saves.inFlight != nil }
        if hasLaterEdits { second.city = "Kiel" }
        held.release()
        _ = try await winning.value
        let failure = try #require(await failure(of: losing))
        let later = failure as? DiscardedEditsError
        #expect((later != nil) == hasLaterEdits)
        let error = try #require((later?.cause ?? failure) as? ValidationError)
        #expect(error.violations.map(\.other) == [first.id])
        #expect(error.violations.map(\.object) == [second.id])
        #expect(error.rejected.changes.map(\.id) == [second.id])
        #expect(loser.hasChanges == keeps)
        #expect(second.city == nil)
        #expect(try loser.object(Team.self, id: first.id)?.name == "Tigers")
        if keeps {
            second.name = "Lions"
            #expect(try await loser.save() != nil)
        }
    }

    @Test func aFlightThatABlockingCallLandsIsToldOfTheWinner() async throws {
        let (winner, loser) = (store.context(), store.context())
        let (first, second) = (Team("Tigers"), Team("tigers"))
        winner.insert(first)
        loser.insert(second)
        let held = HeldWriter(store.file.environment)
        let winning = Task { try await winner.save() }
        await until { winner.core.saves.inFlight != nil }
        let losing = Task { try await loser.save() }
        await until { loser.core.saves.inFlight != nil }
        held.release()
        func land() throws { try loser.refresh() }
        try land()
        let error = try #require(await failure(of: losing) as? ValidationError)
        #expect(error.violations.map(\.other) == [first.id])
        #expect(error.rejected.changes.map(\.id) == [second.id])
        #expect(!loser.hasChanges)
        #expect(try await winning.value != nil)
    }

    @Test func ofManyTasksThatWantOneNameExactlyOneGetsIt() async throws {
        // 1,000 by hand.
        let rounds = Int(ProcessInfo.processInfo.environment["STET_ROUNDS"] ?? "") ?? 20
        for round in 0..<rounds {
            let name = "name \(round)"
            let store = store
            let outcomes = await withTaskGroup(of: (ObjectID, [ObjectID?]?).self) { group in
                for _ in 0..<64 {
                    group.addTask {
                        let context = store.context()
                        let team = Team(name)
                        context.insert(team)
                        do {
                            try await context.save()
                            return (team.id, nil)
                        } catch {
                            let violations = (error as? ValidationError)?.violations ?? []
                            return (team.id, violations.map(\.other))
                        }
                    }
                }
                var outcomes: [(ObjectID, [ObjectID?]?)] = []
                for await outcome in group { outcomes.append(outcome) }
                return outcomes
            }
            let winners = outcomes.filter { $0.1 == nil }.map(\.0)
            try #require(winners.count == 1)
            #expect(outcomes.compactMap(\.1).allSatisfy { $0 == [winners[0]] })
        }
        #expect(try store.verify().problems == [])
    }

    // MARK: Finding by a unique value

    @Test func anObjectIsFoundByItsUniqueValueWithPendingChanges() throws {
        let id = try saved("Tigers")
        let context = store.context()
        func find(_ name: String) throws -> Team? {
            try context.object(Team.self, where: \.name, is: name)
        }
        #expect(try find("tigers")?.id == id)
        #expect(try find("nobody") == nil)
        let team = try #require(try find("Tigers"))
        team.name = "Lions"
        #expect(try find("Tigers") == nil)
        #expect(try find("LIONS") === team)
        let fresh = Team("Tigers")
        context.insert(fresh)
        #expect(try find("Tigers") === fresh)
        context.delete(fresh)
        context.delete(team)
        #expect(try find("Tigers") == nil)
        #expect(try find("Lions") == nil)
        context.rollback()
        #expect(try find("Tigers") === team)
        #expect(try find("Lions") == nil)
    }

    @Test func aContextFindsWhatItsRevisionHas() async throws {
        let id = try saved("Tigers")
        let (context, other) = (store.context(), store.context())
        let team = try #require(try other.object(Team.self, id: id))
        team.name = "Lions"
        other.insert(Team("Tigers"))
        try await other.save()
        #expect(try context.object(Team.self, where: \.name, is: "Tigers")?.id == id)
        #expect(try context.object(Team.self, where: \.name, is: "Lions") == nil)
        try context.refresh()
        #expect(try context.object(Team.self, where: \.name, is: "Lions")?.id == id)
        // For its context, a save in flight counts as saved.
        let held = HeldWriter(store.file.environment)
        team.name = "Bears"
        let save = Task { try await other.save() }
        await until { other.core.saves.inFlight != nil }
        #expect(try other.object(Team.self, where: \.name, is: "Bears") === team)
        #expect(try other.object(Team.self, where: \.name, is: "Lions") == nil)
        held.release()
        #expect(try await save.value != nil)
    }
}

import Stet
import StetTestSupport
import Testing

@Model private final class Squad {
    @Attribute(.unique) var name: String
    var note: String = ""
    @Relationship(inverse: \SquadPlayer.squad) var members: ToMany<SquadPlayer>
    @Relationship(inverse: \SquadPlayer.bench) var reserve: OrderedToMany<SquadPlayer>

    init(name: String) { self.name = name }
}

@Model private final class SquadPlayer {
    @Attribute(.unique) var name: String
    var squad: Squad?
    var bench: Squad?
    var friend: SquadPlayer?

    init(name: String) { self.name = name }
}

/// Insertion of streams whose objects refer to each other, some of which give way to others.
@Suite struct InsertStreamReferenceTests {
    private let store: Store

    init() throws {
        store = try Store.inMemory(for: Squad.self, SquadPlayer.self)
        try store.edit { context in
            let squad = Squad(name: "a")
            squad.reserve.append(SquadPlayer(name: "old"))
            context.insert(squad)
            context.insert(SquadPlayer(name: "m1"))
        }
    }

    private func stream(_ lines: [String]) -> AsyncStream<String> {
        AsyncStream { continuation in
            for line in lines { continuation.yield(line) }
            continuation.finish()
        }
    }

    private static func squad(_ name: String) -> Squad {
        let squad = Squad(name: name)
        squad.members.append(SquadPlayer(name: name + "1"))
        squad.reserve.append(SquadPlayer(name: name + "2"))
        return squad
    }

    @Test(
        "Service 4 the members of an object that gives way belong to the other one",
        arguments: [1, 2, 10], [false, true])
    func membersOfALoser(batch: Int, updates: Bool) async throws {
        let policy: UniquenessPolicy<Squad> =
            updates ? .update { existing, new in existing.note += new.name } : .skip
        let count = try await store.insert(
            stream: stream(["a", "b", "c"]), batch: batch, onConflict: policy, Self.squad)
        #expect(count == 2)
        let context = store.context()
        let squads = try context.fetch(Squad.self).sorted(by: \.name).all()
        #expect(squads.map(\.name) == ["a", "b", "c"])
        #expect(squads.map { $0.members.map(\.name) } == [["a1"], ["b1"], ["c1"]])
        #expect(squads.map { $0.reserve.map(\.name) } == [["old", "a2"], ["b2"], ["c2"]])
        #expect(squads[0].note == (updates ? "a" : ""))
        #expect(try store.verify().problems.isEmpty)
    }

    @Test("Service 4 what refers to an object that gives way refers to the other one")
    func referrersOfALoser() async throws {
        var last: SquadPlayer?
        let count = try await store.insert(
            stream: stream(["m1", "m2", "m1", "m3"]), onConflict: .skip
        ) { name -> SquadPlayer in
            let player = SquadPlayer(name: name)
            player.friend = last
            last = player
            return player
        }
        #expect(count == 2)
        let players = try store.context().fetch(SquadPlayer.self).sorted(by: \.name).all()
        #expect(players.map(\.name) == ["m1", "m2", "m3", "old"])
        #expect(players.map { $0.friend?.name } == [nil, "m1", "m1", nil])
        #expect(try store.verify().problems.isEmpty)
    }
}

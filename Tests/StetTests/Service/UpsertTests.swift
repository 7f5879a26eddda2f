import Foundation
import Stet
import StetTestSupport
import Testing

@Model private final class Topic {
    @Attribute(.trimmed, .unique(.caseInsensitive)) var slug: String
    var count: Int = 0

    init(_ slug: String) { self.slug = slug }
}

private func quoted(_ text: String) -> String { "<\(text)>" }

/// A name with a normaliser that changes its own results.
@Model private final class Quote {
    @Attribute(.normalized(by: quoted), .unique) var text: String
    var count: Int = 0

    init(_ text: String) { self.text = text }
}

@Model private final class Crew {
    var name: String
    init(_ name: String) { self.name = name }
}

/// A model whose unique attribute is derived, also from another object.
@Model private final class Sailor {
    var name: String
    var crew: Crew?
    var count: Int = 0
    @Attribute(.unique(.caseInsensitive)) @Derived var address: String {
        name + "@" + (crew?.name ?? "shore")
    }

    init(_ name: String, _ crew: Crew? = nil) {
        self.name = name
        self.crew = crew
    }
}

/// A model in which some objects have unique names, and all have unique numbers.
@Model private final class Seat {
    #Unique<Seat>(\.name, where: { !$0.isFree })
    @Attribute(.unique) var number: Int
    var name: String
    var isFree: Bool = false

    init(_ number: Int, _ name: String) {
        self.number = number
        self.name = name
    }
}

/// Insert, or update what has the same unique value.
@Suite struct UpsertTests {
    private let store: Store

    init() throws {
        var configuration = Store.Configuration()
        configuration.mapByteCount = 1 << 30
        store = try Store.inMemory(for: Topic.self, configuration: configuration)
    }

    @Test func anUpsertInsertsOnceAndUpdatesThen() throws {
        for slug in ["Swift", "swift", "SWIFT"] {
            try store.edit { context in
                let topic = try context.upsert(
                    Topic.self, where: \.slug, is: slug, inserting: Topic(slug))
                topic.count += 1
            }
        }
        #expect(try store.fetch(Topic.self).all().map(\.slug) == ["Swift"])
        #expect(try store.fetch(Topic.self).all().map(\.count) == [3])
    }

    @Test func aValueIsNormalisedBeforeItIsLookedFor() throws {
        let context = store.context()
        let first = try context.upsert(
            Topic.self, where: \.slug, is: " a ", inserting: Topic(" a "))
        #expect(try context.object(Topic.self, where: \.slug, is: "A") === first)
        try context.save()
        #expect(first.slug == "a")
        let second = try context.upsert(
            Topic.self, where: \.slug, is: "\ta", inserting: Topic("\ta"))
        #expect(second === first)
        #expect(try context.object(Topic.self, where: \.slug, is: " b") == nil)
        first.slug = " b"
        #expect(try context.object(Topic.self, where: \.slug, is: "b ") === first)
        #expect(try context.save()?.changeCount == 1)
    }

    @Test func aNormaliserRunsOnceOnWhatIsLookedFor() throws {
        let store = try Store.inMemory(for: Quote.self)
        let context = store.context()
        let first = try context.upsert(Quote.self, where: \.text, is: "a", inserting: Quote("a"))
        #expect(try context.object(Quote.self, where: \.text, is: "a") === first)
        try context.save()
        #expect(first.text == "<a>")
        first.count = 1
        #expect(try context.object(Quote.self, where: \.text, is: "a") === first)
        // The stored value is found, too.
        #expect(try context.object(Quote.self, where: \.text, is: "<a>") === first)
        #expect(try context.object(Quote.self, where: \.text, is: "b") == nil)
        first.text = "b"
        #expect(try context.object(Quote.self, where: \.text, is: "b") === first)
        #expect(try context.object(Quote.self, where: \.text, is: "a") == nil)
        let again = try context.upsert(Quote.self, where: \.text, is: "b", inserting: Quote("b"))
        #expect(again === first)
        #expect(try context.save()?.changeCount == 1)
        #expect(first.text == "<b>")
    }

    @Test func anUpsertSeesWhatIsPending() throws {
        let context = store.context()
        let first = try context.upsert(
            Topic.self, where: \.slug, is: "a", inserting: Topic("a"))
        let second = try context.upsert(
            Topic.self, where: \.slug, is: "A", inserting: Topic("A"))
        #expect(first === second)
        context.delete(first)
        let third = try context.upsert(
            Topic.self, where: \.slug, is: "a", inserting: Topic("a"))
        #expect(third !== first)
        #expect(try context.save()?.changeCount == 1)
    }

    @Test func whatTheClosureThrowsInsertsNothing() throws {
        struct Failure: Error {}
        func make() throws -> Topic { throw Failure() }
        let context = store.context()
        #expect(throws: Failure.self) {
            try context.upsert(Topic.self, where: \.slug, is: "a", inserting: make())
        }
        #expect(!context.hasChanges)
    }

    @Test func upsertsAtOnceMakeOneObject() async throws {
        let store = store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await store.edit { context in
                        let topic = try context.upsert(
                            Topic.self, where: \.slug, is: "a", inserting: Topic("a"))
                        topic.count += 1
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.fetch(Topic.self).all().map(\.count) == [8])
    }

    @Test func anObjectWithAnotherValueTraps() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = try UpsertTests().store.context().upsert(
                Topic.self, where: \.slug, is: "a", inserting: Topic("b"))
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("has inserted a Topic with another value"))
    }

    // MARK: Members, derived attributes, conditions

    @Test func aUniqueMemberOfAnEmbeddedValueIsFound() throws {
        let village = try Village()
        @Sendable func resident(_ name: String, _ mail: String) -> Resident {
            let resident = Resident(name)
            resident.contact.mail = mail
            return resident
        }
        for (name, mail) in [("Bob", "b@x.org"), ("Rob", "B@X.org"), ("Cy", "c@x.org")] {
            try village.store.edit { context in
                let found = try context.upsert(
                    Resident.self, where: \.contact.mail, is: mail,
                    inserting: resident(name, mail))
                found.contact.calls += 1
            }
        }
        let found = try village.store.fetch(Resident.self).sorted(by: \.name).all()
        #expect(found.map(\.name) == ["Ann", "Bob", "Cy"])
        #expect(found.map(\.contact.calls) == [0, 2, 1])
        #expect(found.map(\.contact.mail) == [nil, "b@x.org", "c@x.org"])
    }

    @Test func aUniqueMemberOfAnOptionalValueIsFound() throws {
        let works = try Works()
        func plant(_ name: String, _ code: String) -> Plant {
            let plant = Plant(name, in: "Bern")
            plant.site?.code = code
            return plant
        }
        let first = try works.context.upsert(
            Plant.self, where: \.site?.code, is: "m", inserting: plant("Mine", "m"))
        #expect(first.name == "Mine")
        works.yard.site = Site(city: "Chur")
        works.yard.site?.code = "y"
        let yard = try works.context.upsert(
            Plant.self, where: \.site?.code, is: "y", inserting: plant("Yacht", "y"))
        #expect(yard === works.yard)
        try works.context.save()
        first.site = nil
        let second = try works.context.upsert(
            Plant.self, where: \.site?.code, is: "m", inserting: plant("Mill 2", "m"))
        #expect(second !== first)
        try works.context.save()
        let codes = try works.store.fetch(Plant.self).sorted(by: \.name).all().map(\.site?.code)
        #expect(codes == [nil, "m", nil, "y"])
        #expect(try works.store.verify().problems == [])
    }

    @Test func aUniqueDerivedAttributeIsFound() throws {
        let store = try Store.inMemory(for: Crew.self, Sailor.self)
        let context = store.context()
        let crew = Crew("Argo")
        context.insert(crew)
        func upsert(_ address: String, _ sailor: @autoclosure () -> Sailor) throws -> Sailor {
            let found = try context.upsert(
                Sailor.self, where: \.address, is: address, inserting: sailor())
            found.count += 1
            return found
        }
        let first = try upsert("ann@argo", Sailor("Ann", crew))
        #expect(try upsert("Ann@Argo", Sailor("Ann", crew)) === first)
        try context.save()
        #expect(try upsert("ANN@ARGO", Sailor("Ann", crew)) === first)
        // An input has changed, and is not saved.
        first.name = "Eve"
        #expect(try upsert("eve@argo", Sailor("Eve", crew)) === first)
        let second = try upsert("ann@argo", Sailor("Ann", crew))
        #expect(second !== first)
        first.crew = nil
        #expect(try upsert("eve@shore", Sailor("Eve")) === first)
        try context.save()
        crew.name = "Beagle"
        try context.save()
        #expect(try upsert("ann@beagle", Sailor("Ann", crew)) === second)
        try context.save()
        let stored = try store.fetch(Sailor.self).sorted(by: \.address).all()
        #expect(stored.map(\.address) == ["Ann@Beagle", "Eve@shore"])
        #expect(stored.map(\.count) == [2, 5])
        #expect(try store.verify().problems == [])
    }

    @Test func aUniqueIndexWithAConditionIsNotLookedUp() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let context = try Store.inMemory(for: Seat.self).context()
            _ = try context.upsert(Seat.self, where: \.name, is: "a", inserting: Seat(1, "a"))
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("'#Unique' without condition"), "\(text)")
    }

    @Test func anUpsertByAnotherValueIsHeldToTheCondition() throws {
        let store = try Store.inMemory(for: Seat.self)
        func upsert(_ number: Int, _ edit: (Seat) -> Void = { _ in }) throws {
            let context = store.context()
            let seat = try context.upsert(
                Seat.self, where: \.number, is: number, inserting: Seat(number, "a"))
            edit(seat)
            try context.save()
        }
        try upsert(1)
        let error = #expect(throws: ValidationError.self) { try upsert(2) }
        #expect(error?.violations.map(\.code) == [.notUnique])
        try upsert(2) { $0.isFree = true }
        try upsert(1) { $0.isFree = true }
        try upsert(2) { $0.isFree = false }
        let seats = try store.fetch(Seat.self).sorted(by: \.number).all()
        #expect(seats.map(\.isFree) == [true, false])
        #expect(try store.verify().problems.isEmpty)
    }
}

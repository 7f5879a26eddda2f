import Foundation
import StetTestSupport
import Testing

@testable import Stet

@Model private final class Hall {
    @Attribute(.unique) var name: String

    init(name: String) { self.name = name }
}

@Model private final class Seat {
    @Attribute(.trimmed, .lowercased) var row: String
    var number: Int
    var hall: Hall?
    var guest: String?
    @Attribute(.unique) var ticket: Int?
    #Unique<Seat>(\.hall, \.row, \.number)

    static var validators: Validators<Seat> {
        Validators(
            .object(on: .insert) { seat in
                guard let new = seat.new, new.row == "c", new.number == 1 else { return }
                let before = seat.store.object(
                    Seat.self, where: \.hall, \.row, \.number, is: new.hall, "b", new.number)
                if before == nil { seat.report("no seat is in front") }
            })
    }

    init(_ row: String, _ number: Int, in hall: Hall? = nil) {
        self.row = row
        self.number = number
        self.hall = hall
    }
}

/// Objects that are found by several values, which are unique together.
@Suite struct CompoundUniquenessTests {
    private let store: Store
    private let context: ManagedContext
    private let hall = Hall(name: "large")

    init() throws {
        store = try Store.inMemory(for: Hall.self, Seat.self)
        context = store.context(author: "me")
        context.insert(hall)
        try context.save()
    }

    private func find(_ row: String, _ number: Int, _ context: ManagedContext? = nil) throws
        -> Seat?
    {
        try (context ?? self.context)
            .object(Seat.self, where: \.hall, \.row, \.number, is: hall.id, row, number)
    }

    @Test func theValuesAreLookedForTogether() throws {
        for (row, number) in [("a", 1), ("a", 2), ("b", 1)] {
            context.insert(Seat(row, number, in: hall))
        }
        // Not saved yet, and not normalised.
        context.insert(Seat(" C ", 1, in: hall))
        #expect(try find("b", 1)?.row == "b")
        #expect(try find("b", 2) == nil)
        #expect(try find("c", 1)?.row == " C ")
        try context.save()
        let other = store.context()
        #expect(try find("a", 2, other)?.number == 2)
        #expect(try find(" B", 1, other)?.row == "b")
        #expect(try find("b", 2, other) == nil)
        let seat = try #require(try find("a", 2, other))
        seat.number = 7
        #expect(try find("a", 2, other) == nil)
        #expect(try find("a", 7, other) === seat)
        other.delete(seat)
        #expect(try find("a", 7, other) == nil)
    }

    @Test func theOrderOfThePropertiesDoesNotMatter() throws {
        context.insert(Seat("a", 1, in: hall))
        try context.save()
        let found = try context.object(
            Seat.self, where: \.number, \.hall, \.row, is: 1, hall.id, "A")
        #expect(found?.row == "a")
        let swapped = try context.object(
            Seat.self, where: \.number, \.hall, \.row, is: 2, hall.id, "A")
        #expect(swapped == nil)
    }

    @Test func anObjectWithANilIsNotFound() throws {
        context.insert(Seat("a", 1))
        context.insert(Seat("a", 1))
        try context.save()
        let found = try context.object(
            Seat.self, where: \.hall, \.row, \.number, is: nil, "a", 1)
        #expect(found == nil)
    }

    @Test func anUpsertFindsOrInserts() throws {
        func upsert(_ row: String, _ guest: String) throws -> Seat {
            let seat = try context.upsert(
                Seat.self, where: \.hall, \.row, \.number, is: hall.id, row, 1,
                inserting: Seat(row, 1, in: hall))
            seat.guest = guest
            return seat
        }
        let first = try upsert("A", "Ada")
        #expect(try upsert("a", "Byron") === first)
        try context.save()
        #expect(try upsert(" a ", "Lovelace") === first)
        #expect(try upsert("b", "Babbage") !== first)
        try context.save()
        let guests = try store.fetch(Seat.self).sorted(by: \.row).all().map(\.guest)
        #expect(guests == ["Lovelace", "Babbage"])
        #expect(try store.verify().problems == [])
    }

    @Test func aValidatorLooksForTheValuesTogether() throws {
        context.insert(Seat("a", 1, in: hall))
        context.insert(Seat("c", 2, in: hall))
        try context.save()
        // Refused, because the seat in front of it is not there.
        context.insert(Seat("c", 1, in: hall))
        #expect(throws: ValidationError.self) { try context.save() }
        context.insert(Seat("b", 1, in: hall))
        context.insert(Seat("c", 1, in: hall))
        try context.save()
        #expect(try store.fetch(Seat.self).count() == 4)
    }
}

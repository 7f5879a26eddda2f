import Foundation
import Stet
import StetLMDB
import StetTestSupport
import Testing

/// One of two is always on duty: a rule over two objects.
@Model private final class Doctor {
    @Attribute(.unique) var name: String
    var isOnDuty: Bool = true
    var deputy: Doctor?

    init(name: String) { self.name = name }

    static var validators: Validators<Doctor> {
        Validators(
            .object(on: .update, .delete) { doctor in
                let others = doctor.store.all(Doctor.self)
                if !others.contains(where: \.isOnDuty) { doctor.report("nobody is on duty") }
            })
    }
}

/// A model whose validators look objects up by id and by a unique value.
@Model private final class Pair {
    @Attribute(.unique) var name: String
    var isOpen: Bool = true
    var other: Pair?

    init(name: String) { self.name = name }

    static var validators: Validators<Pair> {
        Validators(
            .object(on: .update) { pair in
                guard let new = pair.new, !new.isOpen else { return }
                let byName = pair.store.object(
                    Pair.self, where: \.name, is: new.name == "a" ? "b" : "a")
                let byID = new.other.flatMap { pair.store.object(Pair.self, id: $0) }
                if byName?.isOpen == false || byID?.isOpen == false {
                    pair.report("both are closed")
                }
            })
    }
}

/// A model whose unique values move between objects.
@Model private final class Seat {
    @Attribute(.unique) var number: Int?

    init(number: Int?) { self.number = number }
}

@Suite struct LookupTests {
    private let directory = TemporaryDirectory()

    private func doctors(_ store: Store) throws -> (ManagedContext, Doctor, Doctor) {
        let context = store.context()
        let (ada, grace) = (Doctor(name: "Ada"), Doctor(name: "Grace"))
        context.insert(ada)
        context.insert(grace)
        try context.save()
        return (context, ada, grace)
    }

    @Test func aValidatorSeesTheStoreAsItWillBe() throws {
        let store = try Store.open(at: directory.file(), for: Doctor.self)
        let (context, ada, grace) = try doctors(store)
        ada.isOnDuty = false
        grace.isOnDuty = false
        #expect(throws: ValidationError.self) { try context.validate() }
        let locum = Doctor(name: "Locum")
        context.insert(locum)
        try context.validate()
        context.delete(locum)
        #expect(throws: ValidationError.self) { try context.save() }
        #expect(ada.isOnDuty)
        #expect(grace.isOnDuty)
        context.delete(ada)
        #expect(try context.save() != nil)
        context.delete(grace)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.description == "nobody is on duty")
    }

    @Test func whatOthersChangeAfterTheLookupIsSeenBeforeTheCommit() throws {
        let store = try Store.open(at: directory.file(), for: Doctor.self)
        let (context, ada, grace) = try doctors(store)
        let other = store.context()
        let otherGrace = try #require(try other.object(Doctor.self, id: grace.id))
        ada.isOnDuty = false
        try context.save()
        // The other context has not refreshed, so its Ada is still on duty.
        otherGrace.isOnDuty = false
        let error = try #require(throws: ValidationError.self) { try other.save() }
        #expect(error.description == "nobody is on duty")
        #expect(try store.revision() == 2)
        #expect(otherGrace.isOnDuty)
    }

    /// Two contexts go off duty at once, again and again: what neither sees the writer does.
    @Test func aRuleOverTwoObjectsHoldsWithTwoContexts() async throws {
        let store = try Store.open(at: directory.file(), for: Doctor.self)
        let (context, ada, grace) = try doctors(store)
        let ids = [ada.id, grace.id]
        let rounds = 1_000
        for _ in 0..<rounds {
            let refusals = await withTaskGroup(of: Int.self) { group in
                for id in ids {
                    group.addTask { await Self.goOffDuty(store, id) }
                }
                return await group.reduce(0, +)
            }
            #expect(refusals == 1)
            try context.refresh()
            #expect([ada.isOnDuty, grace.isOnDuty].filter { $0 }.count == 1)
            ada.isOnDuty = true
            grace.isOnDuty = true
            try await context.save()
        }
        #expect(try store.revision().number == 1 + 2 * UInt64(rounds))
    }

    /// 1 when a save was refused because nobody would be on duty.
    private static func goOffDuty(_ store: Store, _ id: ObjectID) async -> Int {
        do {
            try await store.edit { context in
                try context.object(Doctor.self, id: id)?.isOnDuty = false
            }
            return 0
        } catch {
            return error is ValidationError ? 1 : 100
        }
    }

    @Test(arguments: [true, false])
    func lookupsOfSingleObjectsAreChecked(byID: Bool) throws {
        let store = try Store.open(at: directory.file(), for: Pair.self)
        let context = store.context()
        let (a, b) = (Pair(name: byID ? "x" : "a"), Pair(name: byID ? "y" : "b"))
        context.insert(a)
        context.insert(b)
        if byID { (a.other, b.other) = (b, a) }
        try context.save()
        let other = store.context()
        let otherB = try #require(try other.object(Pair.self, id: b.id))
        a.isOpen = false
        try context.save()
        otherB.isOpen = false
        let error = try #require(throws: ValidationError.self) { try other.save() }
        #expect(error.description == "both are closed")
        #expect(otherB.isOpen)
        #expect(other.revision == 2)
    }

    /// Random permutations of the values, which a validator looks up.
    @Test(arguments: 1...20) func lookupsByValueSeeValuesThatMove(seed: UInt64) throws {
        let expected = Monitor<[ObjectID?]>([])
        var configuration = Store.Configuration()
        configuration.changeSetValidators = [
            { validation in
                let found = (0..<8).map {
                    validation.store.object(Seat.self, where: \.number, is: $0)?.id
                }
                let isExpected = expected.withLock { $0 == found }
                if !isExpected { validation.report("other seats than expected") }
            }
        ]
        let store = try Store.inMemory(for: Seat.self, configuration: configuration)
        let context = store.context()
        var random = SeededGenerator(seed: seed)
        var seats: [Seat] = []
        for _ in 0..<40 {
            if seats.count > 3, random.next() % 3 == 0 {
                context.delete(seats.remove(at: Int(random.next() % UInt64(seats.count))))
            }
            if seats.count < 6 {
                seats.append(Seat(number: nil))
                context.insert(seats[seats.count - 1])
            }
            let numbers = (0..<8).shuffled(using: &random)
            for (seat, number) in zip(seats, numbers) where random.next() % 2 == 0 {
                for other in seats where other.number == number { other.number = nil }
                seat.number = number
            }
            expected.withLock { expected in
                expected = (0..<8).map { number in seats.first { $0.number == number }?.id }
            }
            try context.save()
        }
        #expect(try store.revision().number > 10)
    }
}

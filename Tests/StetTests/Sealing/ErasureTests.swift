import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

/// The rest of an object's sealed values after its key was destroyed.
@Suite struct ErasureTests {
    @Test func theValuesOfOnePersonAreErasedEverywhere() async throws {
        let clinic = try await Clinic()
        let (context, ada, visit) = try clinic.admit("Ada", "flu")
        let (_, grace, other) = try clinic.admit("Grace", "measles")
        visit.diagnosis = Sealed("pneumonia")
        visit.room = "12"
        try await context.save()
        let copy = clinic.directory.file("copy.stet")
        try await clinic.store.backup(to: copy)
        let before = try clinic.store.revision()

        try clinic.destroyKey(of: ada.id)
        #expect(ada.name.isErased)
        #expect(try sealingCode(ada.name) == .erased)
        #expect(try sealingCode(visit.diagnosis) == .erased)
        #expect(visit.room == "12")
        #expect(try other.diagnosis?.value == "measles")
        #expect(!grace.name.isErased)

        let past = try clinic.store.view(asOf: Revision(before.number - 1))
        #expect(try sealingCode(past.object(Treatment.self, id: visit.id)?.diagnosis) == .erased)
        let backup = try Clinic.open(copy, clinic.keys)
        let restored = backup.context()
        let copied = try #require(try restored.object(Treatment.self, id: visit.id))
        #expect(try sealingCode(copied.diagnosis) == .erased)
        #expect(try restored.object(Treatment.self, id: other.id)?.diagnosis?.value == "measles")
        for store in [clinic.store, backup] { #expect(try store.verify().problems == []) }

        try await clinic.reopen()
        let again = clinic.store.context()
        #expect(try sealingCode(again.object(Client.self, id: ada.id)?.name) == .erased)
        #expect(try again.object(Client.self, id: grace.id)?.name.value == "Grace")
    }

    @Test func anErasedObjectIsEditedButGetsNoNewSecrets() async throws {
        let clinic = try await Clinic()
        let (context, ada, visit) = try clinic.admit("Ada", "flu")
        try clinic.destroyKey(of: ada.id)
        visit.room = "13"
        ada.ward = 4
        try await context.save()
        visit.diagnosis = Sealed("measles")
        ada.name = Sealed("Ada again")
        ada.ward = 5
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error?.violations.map(\.code) == [.unsealable, .unsealable])
        #expect(
            error?.violations.map(\.message).sorted() == [
                "diagnosis can't be sealed: the key of its owner was destroyed",
                "name can't be sealed: the key of its owner was destroyed",
            ])
        #expect(ada.ward == 4)
        #expect(ada.name.isErased)
        // Removing what was erased is possible.
        visit.diagnosis = nil
        try await context.save()
        context.delete(visit)
        context.delete(ada)
        try await context.save()
        #expect(try clinic.store.verify().problems == [])
    }

    @Test func anObjectIsErasedBeforeItHasAKey() async throws {
        let clinic = try await Clinic()
        let context = clinic.store.context()
        let ada = Client(name: "Ada")
        context.insert(ada)
        try clinic.destroyKey(of: ada.id)
        try clinic.destroyKey(of: ada.id)
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error?.violations.map(\.code) == [.unsealable])
    }

    @Test func aValueFollowsItsOwner() async throws {
        let clinic = try await Clinic()
        let (context, ada, visit) = try clinic.admit("Ada", "flu")
        let (_, grace, _) = try clinic.admit("Grace", "measles")
        try context.refresh()
        visit.patient = try context.object(Client.self, id: grace.id)
        #expect(visit.patient != nil)
        let commit = try #require(try await context.save())
        #expect(
            commit.changeSet.changes.first?.properties.map(\.name).sorted()
                == ["diagnosis", "drugs", "patient"])
        try clinic.destroyKey(of: ada.id)
        #expect(try visit.diagnosis?.value == "flu")
        try clinic.destroyKey(of: grace.id)
        #expect(try sealingCode(visit.diagnosis) == .erased)
        // Without an owner it stays as it is, and so does what was erased with another.
        visit.patient = nil
        try await context.save()
        let third = Client(name: "Third")
        visit.patient = third
        visit.room = "7"
        try await context.save()
        #expect(try sealingCode(visit.diagnosis) == .erased)
        visit.diagnosis = Sealed("cold")
        try await context.save()
        #expect(try visit.diagnosis?.value == "cold")
        visit.patient = nil
        try await context.save()
        #expect(try visit.diagnosis?.value == "cold")
        try clinic.destroyKey(of: third.id)
        #expect(try sealingCode(visit.diagnosis) == .erased)
    }

    @Test func aValueNeedsAnOwner() async throws {
        let clinic = try await Clinic()
        let context = clinic.store.context()
        let visit = Treatment(patient: nil)
        context.insert(visit)
        visit.room = "1"
        try await context.save()
        visit.diagnosis = Sealed("flu")
        let error = #expect(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(error?.violations.map(\.code) == [.unsealable])
        #expect(
            error?.violations.first?.message == "diagnosis can't be sealed while patient is nil")
        #expect(try visit.diagnosis?.value == "flu")
        visit.patient = Client(name: "Ada")
        try await context.save()
        #expect(try visit.diagnosis?.value == "flu")
        #expect(try clinic.store.verify().problems == [])
    }

    @Test func asynchronousSavesSeal() async throws {
        let clinic = try await Clinic()
        let context = clinic.store.context()
        let ada = Client(name: "Ada")
        context.insert(ada)
        try await context.save()
        let count = try await clinic.store.insert(stream: (0..<30).async, batch: 7) {
            Client(name: "patient \($0)")
        }
        #expect(count == 30)
        let names = try clinic.store.context().fetch(Client.self).snapshots()
            .map { try $0.name.value }
        #expect(Set(names) == Set((0..<30).map { "patient \($0)" } + ["Ada"]))
        #expect(try !clinic.contains("patient 7"))
    }
}

extension Range<Int> {
    fileprivate var async: AsyncStream<Int> {
        AsyncStream { continuation in
            for number in self { continuation.yield(number) }
            continuation.finish()
        }
    }
}

import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

/// What is left of an object's sealed values after its key was destroyed, and what is not.
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
        #expect(try sealingCode(past.object(Visit.self, id: visit.id)?.diagnosis) == .erased)
        let backup = try Clinic.open(copy, clinic.keys)
        let restored = backup.context()
        #expect(try sealingCode(restored.object(Visit.self, id: visit.id)?.diagnosis) == .erased)
        #expect(try restored.object(Visit.self, id: other.id)?.diagnosis?.value == "measles")
        for store in [clinic.store, backup] { #expect(try store.verify().problems == []) }

        try await clinic.reopen()
        let again = clinic.store.context()
        #expect(try sealingCode(again.object(Patient.self, id: ada.id)?.name) == .erased)
        #expect(try again.object(Patient.self, id: grace.id)?.name.value == "Grace")
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
        let ada = Patient(name: "Ada")
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
        visit.patient = try #require(try context.object(Patient.self, id: grace.id))
        let commit = try #require(try await context.save())
        #expect(
            commit.changes.changes.first?.properties.map(\.name).sorted()
                == ["diagnosis", "drugs", "patient"])
        try clinic.destroyKey(of: ada.id)
        #expect(try visit.diagnosis?.value == "flu")
        try clinic.destroyKey(of: grace.id)
        #expect(try sealingCode(visit.diagnosis) == .erased)
        // What was erased stays with the owner by whose key it was sealed.
        visit.patient = nil
        visit.diagnosis = nil
        visit.drugs = nil
        try await context.save()
        #expect(visit.patient == nil)
    }

    @Test func aValueNeedsAnOwner() async throws {
        let clinic = try await Clinic()
        let context = clinic.store.context()
        let visit = Visit(patient: nil)
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
        visit.patient = Patient(name: "Ada")
        try await context.save()
        #expect(try visit.diagnosis?.value == "flu")
        #expect(try clinic.store.verify().problems == [])
    }

    @Test func asynchronousSavesSeal() async throws {
        let clinic = try await Clinic()
        let context = clinic.store.context()
        let ada = Patient(name: "Ada")
        context.insert(ada)
        try await context.save()
        let count = try await clinic.store.insert(stream: (0..<30).async, batch: 7) {
            Patient(name: "patient \($0)")
        }
        #expect(count == 30)
        let names = try clinic.store.context().fetch(Patient.self).snapshots()
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

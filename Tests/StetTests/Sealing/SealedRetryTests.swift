import StetLMDB
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Sealed values whose save fails or is overtaken by another.
@Suite struct SealedRetryTests {
    private struct Refused: Error {}

    /// Makes a save fail after everything is prepared.
    private func failSave(of context: ManagedContext) {
        let observer = context.willCommit { _ in throw Refused() }
        defer { observer.cancel() }
        #expect(throws: Refused.self) { try context.save(onFailure: .keepPending) }
    }

    private func violation(_ context: ManagedContext) throws -> Violation? {
        let error = #expect(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        return error?.violations.first
    }

    @Test func aSaveThatFailsDoesNotTieAValueToAnOwner() async throws {
        let clinic = try await Clinic()
        let (context, patient, _) = try clinic.admit("Ada", "influenza")
        let visit = Treatment(patient: patient)
        visit.diagnosis = Sealed("measles")
        context.insert(visit)
        failSave(of: context)
        #expect(visit.diagnosis?.bytes.isSaved == false)
        visit.patient = nil
        let found = try violation(context)
        #expect(found?.code == .unsealable)
        #expect(found?.property == "diagnosis")
        visit.patient = patient
        try await context.save()
        #expect(visit.diagnosis?.bytes.place?.owner == patient.id)
        #expect(try visit.diagnosis?.value == "measles")
    }

    /// The value would otherwise be committed as one that nobody can read.
    @Test func aKeyThatIsDestroyedBetweenTwoAttemptsRefusesTheSecond() async throws {
        let clinic = try await Clinic()
        let (context, patient, _) = try clinic.admit("Ada", "influenza")
        patient.name = Sealed("Grace")
        failSave(of: context)
        try clinic.destroyKey(of: patient.id)
        #expect(try violation(context)?.code == .unsealable)
        #expect(try patient.name.value == "Grace")
    }

    #if STET_FAULTS
        @Test func aValueWhoseCommitFailsIsUnsealedAgain() async throws {
            let clinic = try await Clinic()
            let (context, patient, _) = try clinic.admit("Ada", "influenza")
            patient.name = Sealed("Grace")
            clinic.store.file.environment.faults.failNext(.put, code: 28)
            await #expect(throws: StoreError.self) {
                try await context.save(onFailure: .keepPending)
            }
            #expect(!patient.name.bytes.isSaved)
            try clinic.destroyKey(of: patient.id)
            #expect(try violation(context)?.code == .unsealable)
            #expect(try patient.name.value == "Grace")
        }
    #endif

    /// The first attempt seals the value by the key of the patient that others take away.
    @Test func aSaveThatIsOvertakenSealsByTheOwnerOfItsSecondAttempt() async throws {
        let clinic = try await Clinic()
        let (context, _, visit) = try clinic.admit("Ada", "influenza")
        let grace = Client(name: "Grace")
        context.insert(grace)
        try await context.save()
        let other = clinic.store.context()
        let treated = try #require(try other.object(Treatment.self, id: visit.id))
        treated.diagnosis = Sealed("measles")
        visit.room = "1"
        visit.patient = nil
        try await context.save()
        other.mergePolicy = .mergeStoreWins
        #expect(try violation(other)?.code == .unsealable)
        visit.patient = grace
        try await context.save()
        // What is sealed anew for another patient has not been changed.
        try await other.save()
        #expect(treated.diagnosis?.bytes.place?.owner == grace.id)
        #expect(try treated.diagnosis?.value == "measles")
    }

    @Test(arguments: [true, false])
    func theSameValueOnBothSidesIsNoConflict(refreshes: Bool) async throws {
        let clinic = try await Clinic()
        let (context, patient, visit) = try clinic.admit("Ada", "influenza")
        let other = clinic.store.context()
        other.mergePolicy = .custom { conflict in
            Issue.record("a conflict in \(conflict.property)")
            return conflict.mine
        }
        let mine = try #require(try other.object(Client.self, id: patient.id))
        let treated = try #require(try other.object(Treatment.self, id: visit.id))
        mine.name = Sealed("Grace")
        mine.ward = 2
        treated.diagnosis = Sealed("influenza")
        patient.name = Sealed("Grace")
        visit.diagnosis = Sealed("measles")
        try await context.save()
        if refreshes {
            try other.refresh()
            #expect(other.changes.changes.map(\.entity) == ["Client"])
        }
        let commit = try #require(try await other.save())
        let properties = commit.changeSet.changes.flatMap { $0.properties.map(\.name) }
        #expect(properties == ["ward"])
        #expect(try treated.diagnosis?.value == "measles")
    }

    /// The undo has moved the treatment to its first patient, and left the value that another has
    /// changed.
    @Test func anEditOfNothingSealsNothingAnew() async throws {
        let clinic = try await Clinic()
        let (context, ada, visit) = try clinic.admit("Ada", "influenza")
        let grace = Client(name: "Grace")
        visit.patient = grace
        try await context.save()
        let nurse = clinic.store.context(author: "nurse")
        try #require(try nurse.object(Treatment.self, id: visit.id)).diagnosis = Sealed("measles")
        try await nurse.save()
        try await clinic.store.undo(author: "doctor", policy: .skip)
        try context.refresh()
        #expect(visit.patient === ada)
        #expect(visit.diagnosis?.bytes.place?.owner == grace.id)
        visit.room = "1"
        visit.room = ""
        #expect(try await context.save() == nil)
        visit.room = "1"
        try await context.save()
        #expect(visit.diagnosis?.bytes.place?.owner == ada.id)
    }
}

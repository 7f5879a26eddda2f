import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Attributes that are encrypted by the key of an object.
@Suite struct SealedAttributeTests {
    @Test func aValueIsReadAsItWasWrittenAndNowhereInTheFiles() async throws {
        let clinic = try await Clinic()
        let (context, patient, visit) = try clinic.admit("Ada Lovelace", "influenza")
        patient.born = Sealed(Date(timeIntervalSinceReferenceDate: 7))
        #expect(try patient.born?.value.timeIntervalSinceReferenceDate == 7)
        try await context.save()
        #expect(try patient.name.value == "Ada Lovelace")
        #expect(try visit.diagnosis?.value == "influenza")
        try await clinic.store.backup(to: clinic.directory.file("copy.stet"))
        for text in ["Ada Lovelace", "influenza"] {
            #expect(try !clinic.contains(text))
        }

        try await clinic.reopen()
        let again = clinic.store.context()
        let found = try #require(try again.fetch(Treatment.self).first())
        #expect(try found.diagnosis?.value == "influenza")
        #expect(try found.drugs?.value == ["influenza drug"])
        #expect(try found.patient?.born?.value.timeIntervalSinceReferenceDate == 7)
        let snapshot = try #require(try again.fetch(Client.self).snapshots().first)
        #expect(try snapshot.name.value == "Ada Lovelace")
        #expect(try clinic.store.verify().problems == [])
    }

    @Test func textsAndEncodingsShowNoValue() async throws {
        let clinic = try await Clinic()
        let (context, patient, visit) = try clinic.admit("Ada Lovelace", "influenza")
        visit.diagnosis = Sealed("measles")
        let snapshot = visit.snapshot
        let json = try JSONEncoder().encode(snapshot)
        let changes = try JSONEncoder().encode(context.changes)
        try clinic.store.drafts.save(context, as: "draft")
        for text in ["measles", Data("measles".utf8).base64EncodedString()] {
            for shown in ["\(snapshot)", "\(String(reflecting: visit.diagnosis))"] {
                #expect(!shown.contains(text))
            }
            #expect(json.range(of: Data(text.utf8)) == nil)
            #expect(changes.range(of: Data(text.utf8)) == nil)
            #expect(try !clinic.contains(text))
        }
        // A draft was sealed, and so survives the process.
        #expect(visit.diagnosis?.description == "sealed")
        try await clinic.reopen()
        let later = clinic.store.context()
        try later.apply(try clinic.store.drafts.changes("draft"))
        try await later.save()
        #expect(try later.object(Treatment.self, id: visit.id)?.diagnosis?.value == "measles")
        let encoded = try JSONEncoder().encode(patient.snapshot)
        let decoded = try JSONDecoder().decode(Client.Snapshot.self, from: encoded)
        #expect(try decoded.name.value == "Ada Lovelace")
    }

    @Test func aDraftIsRefusedThatNobodyCouldRead() async throws {
        let clinic = try await Clinic()
        let context = clinic.store.context()
        let visit = Treatment(patient: nil)
        visit.diagnosis = Sealed("flu")
        context.insert(visit)
        let error = #expect(throws: ValidationError.self) {
            try clinic.store.drafts.save(context, as: "draft")
        }
        #expect(error?.violations.map(\.code) == [.unsealable])
        #expect(try clinic.store.drafts.list() == [])
        let client = Client(name: "Ada")
        context.insert(client)
        visit.patient = client
        try clinic.store.drafts.save(context, as: "draft")
        #expect(try clinic.store.drafts.list().map(\.changeCount) == [2])
    }

    @Test func theSameValueIsNoChangeAndAnotherIs() async throws {
        let clinic = try await Clinic()
        let (context, patient, visit) = try clinic.admit("Ada", "flu")
        patient.name = Sealed("Ada")
        visit.drugs = Sealed(["flu drug"])
        #expect(try await context.save() == nil)
        patient.name = Sealed("Grace")
        #expect(try await context.save()?.changeSet.changes.count == 1)
        #expect(try patient.name.value == "Grace")
    }

    @Test func aCopiedValueIsSealedForItsNewPlace() async throws {
        let clinic = try await Clinic()
        let (context, patient, visit) = try clinic.admit("Ada", "flu")
        let other = Client(name: "")
        other.name = patient.name
        context.insert(other)
        let second = Treatment(patient: other)
        second.diagnosis = visit.diagnosis
        context.insert(second)
        #expect(try other.name.value == "Ada")
        try await context.save()
        try clinic.destroyKey(of: patient.id)
        #expect(try other.name.value == "Ada")
        #expect(try second.diagnosis?.value == "flu")
        #expect(try sealingCode(visit.diagnosis) == .erased)
    }

    @Test func queriesCompareWithNilOnly() async throws {
        let clinic = try await Clinic()
        let (context, _, visit) = try clinic.admit("Ada", "flu")
        context.insert(Treatment(patient: nil))
        try await context.save()
        #expect(try context.fetch(Treatment.self) { $0.diagnosis == nil }.count() == 1)
        #expect(try context.fetch(Treatment.self) { $0.diagnosis != nil }.first() === visit)
    }

    @Test func undoAndHistoryNeedNoKey() async throws {
        let clinic = try await Clinic()
        let id = try clinic.admitted().treatment
        try clinic.reopenWithoutKeys()
        try await clinic.store.undo(author: "doctor")
        let locked = try #require(
            try clinic.store.context().object(Treatment.self, id: id))
        #expect(try sealingCode(locked.diagnosis) == .keyFileNotOpen)
        try await clinic.store.redo(author: "doctor")
        try await clinic.store.undo(author: "doctor")
        try await clinic.reopen()
        let found = try #require(try clinic.store.context().object(Treatment.self, id: id))
        #expect(try found.diagnosis?.value == "flu")
        let past = try clinic.store.view(asOf: Revision(try clinic.store.revision().number - 1))
        let before = try #require(try past.object(Treatment.self, id: id))
        #expect(try before.diagnosis?.value == "measles")
        #expect(try clinic.store.verify().problems == [])
    }

    @Test func otherPropertiesAreSavedWithoutKeysAndSealedOnesAreNot() async throws {
        let clinic = try await Clinic()
        let id = try clinic.admitted().client
        try clinic.reopenWithoutKeys()
        let context = clinic.store.context()
        let found = try #require(try context.object(Client.self, id: id))
        found.ward = 7
        try await context.save()
        found.name = Sealed("Grace")
        found.ward = 8
        let error = #expect(throws: SealingError.self) { try context.save() }
        #expect(error?.code == .keyFileNotOpen)
        // Everything is as it was before the edits.
        #expect(found.ward == 7)
        #expect(try sealingCode(found.name) == .keyFileNotOpen)
        #expect(try clinic.store.context().object(Client.self, id: id)?.ward == 7)
    }

    @Test func aValueThatCannotBeEncodedIsAViolation() async throws {
        let clinic = try await Clinic()
        let keys = try #require(clinic.keys)
        var configuration = Store.Configuration()
        configuration.keys = keys
        let store = try Store.open(
            at: clinic.directory.file("other.stet"), for: Fragile.Holder.self,
            configuration: configuration)
        let context = store.context()
        let holder = Fragile.Holder()
        holder.value = Sealed(Fragile.Unencodable())
        context.insert(holder)
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error?.violations.map(\.code) == [.unsealable])
        #expect(error?.violations.first?.message == "value has a value that can't be encoded")
    }

    @Test func aRenamedAttributeKeepsItsValues() async throws {
        let clinic = try await Clinic()
        let (_, patient, _) = try clinic.admit("Ada", "flu")
        clinic.store.close()
        var configuration = Store.Configuration()
        configuration.keys = clinic.keys
        let store = try Store.open(
            at: clinic.path, for: Renamed.Client.self, Renamed.Treatment.self,
            configuration: configuration)
        let context = store.context()
        let found = try #require(try context.object(Renamed.Client.self, id: patient.id))
        #expect(try found.fullName.value == "Ada")
        found.ward = 3
        try await context.save()
        #expect(try found.fullName.value == "Ada")
        #expect(try store.verify().problems == [])
    }

    @Test func codeOfAMigrationSealsValues() async throws {
        let clinic = try await Clinic()
        let path = clinic.directory.file("plain.stet")
        let plain = try Store.open(at: path, for: Plain.Client.self)
        let context = plain.context()
        for number in 0..<3 { context.insert(Plain.Client(name: Data("\(number)".utf8))) }
        try await context.save()
        plain.close()
        var configuration = Store.Configuration()
        configuration.keys = clinic.keys
        let forgetful = MigrationPlan(
            .version(Plain.Client.self),
            .version(Client.self) { step in
                try step.forEach(Plain.Client.self, Client.self) { old, new in
                    if old.name != Data("1".utf8) {
                        new.name = Sealed(String(decoding: old.name, as: UTF8.self))
                    }
                }
            })
        let error = #expect(throws: ValidationError.self) {
            try Store.open(at: path, migrating: forgetful, configuration: configuration)
        }
        #expect(error?.violations.map(\.code) == [.unsealable])
        let plan = MigrationPlan(
            .version(Plain.Client.self),
            .version(Client.self) { step in
                try step.forEach(Plain.Client.self, Client.self) { old, new in
                    new.name = Sealed(String(decoding: old.name, as: UTF8.self))
                }
            })
        let store = try Store.open(at: path, migrating: plan, configuration: configuration)
        let names = try store.context().fetch(Client.self).snapshots().map { try $0.name.value }
        #expect(names.sorted() == ["0", "1", "2"])
        #expect(try store.verify().problems == [])
    }

    @Test func anAttributeCannotBecomeASealedOneWithoutCode() async throws {
        let clinic = try await Clinic()
        let path = clinic.directory.file("plain.stet")
        let plain = try Store.open(at: path, for: Plain.Client.self)
        let context = plain.context()
        context.insert(Plain.Client(name: Data([1, 2, 3])))
        try await context.save()
        plain.close()
        let error = #expect(throws: StoreError.self) {
            try Store.open(at: path, for: Client.self, Treatment.self)
        }
        #expect(error?.code == .modelMismatch)
        #expect(
            error?.message.contains(
                "Client.name is data in the store and sealed value in the model") == true,
            "\(String(describing: error))")
    }
}

private enum Fragile {
    struct Unencodable: CodableAttribute {
        func encode(to encoder: any Encoder) throws {
            throw EncodingError.invalidValue(
                0, EncodingError.Context(codingPath: [], debugDescription: "never"))
        }
        init(from decoder: any Decoder) throws {}
        init() {}
    }

    @Model final class Holder {
        var value: Sealed<Unencodable>?
        init() {}
    }
}

private enum Renamed {
    @Model final class Client {
        @Attribute(originalName: "name") var fullName: Sealed<String>
        var born: Sealed<Date>?
        var ward: Int = 0
        init(fullName: String) { self.fullName = Sealed(fullName) }
    }

    @Model final class Treatment {
        var patient: Client?
        @Attribute(.sealed(by: \.patient)) var diagnosis: Sealed<String>?
        @Attribute(.sealed(by: \.patient)) var drugs: Sealed<[String]>?
        var room: String = ""
        init(patient: Client?) { self.patient = patient }
    }
}

private enum Plain {
    @Model final class Client {
        var name: Data
        init(name: Data) { self.name = name }
    }
}
